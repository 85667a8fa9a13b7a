"""A room's participant for peers that speak no signaling of ours: signaling/PROTOCOL.md over a websocket."""
import json
import secrets
import time

from websockets.sync.client import connect


class Room:
    """Nothing happens behind the caller's back: messages are read by `pump` alone, since browsers are driven from one
    thread."""

    def __init__(self, url):
        # Without pings of its own: the server watches the connection, and libwebsockets 4.1.6 leaves one in fifty pings
        # that come right behind a message unanswered, which this client would take for the connection's end.
        self._connection = connect(url, subprotocols=["emisora.v1"], ping_interval=None)
        self._socket = self._connection.__enter__()
        name = url.rsplit("/", 1)[1]
        self.send("join", version=1, room=name)
        self._handlers = {}
        self._subscriptions = {}
        self.streams = set()
        self.events = []
        self.wait_for(lambda: "welcome" in self.events, 60, "the room's welcome")

    def send(self, type, **fields):
        self._socket.send(json.dumps({"type": type, **fields}))

    def on(self, key, handler):
        """Calls `handler` with each message of a subscription (its id) or of a type."""
        self._handlers[key] = handler

    def pump(self, wait=0):
        """Takes what has come, and what comes within `wait` seconds of silence."""
        while True:
            try:
                message = json.loads(self._socket.recv(timeout=wait))
            except TimeoutError:
                return
            self._take(message)

    def wait_for(self, condition, timeout, what):
        deadline = time.monotonic() + timeout
        while not condition():
            remaining = deadline - time.monotonic()
            assert remaining > 0, f"{what} did not come within {timeout} s; heard: {self.events}"
            try:
                message = json.loads(self._socket.recv(timeout=min(remaining, 0.5)))
            except TimeoutError:
                continue
            self._take(message)

    def _take(self, message):
        self.events.append(message["type"])
        # Two byes may cross.
        if message["type"] == "error" and (message["code"], message["inReplyTo"]) != ("subscriptionNotFound", "bye"):
            raise AssertionError(f"the server refused: {message}")
        if message["type"] == "welcome":
            self.streams.update(stream["stream"] for stream in message["streams"])
        elif message["type"] == "streamPublished":
            self.streams.add(message["stream"])
        elif message["type"] == "streamUnpublished":
            self.streams.discard(message["stream"])
        elif message["type"] == "subscriptionEnded":
            self.events.append(message["reason"])
        handler = self._handlers.get(message.get("subscription")) or self._handlers.get(message["type"])
        if handler:
            handler(message)

    # MARK: Receiving

    def subscribe(self, connection, offerer, stream="main", relay=None, edit=lambda sdp: sdp, **options):
        """Connects a receiving connection to the publisher; returns when both descriptions are in place, with the
        instant at which the offer was sent.

        `offerer` is "peer" or "emisora"; `relay` stands between the two where given; `edit` changes the peer's
        description on its way, as though it asked for something else; `options` are those of its offer."""
        self.wait_for(lambda: stream in self.streams, 60, "the stream")
        id = self._subscriptions[connection] = secrets.token_hex(16)
        outward = relay.rewrite_viewer if relay else edit
        inward = relay.rewrite_publisher if relay else lambda sdp: sdp
        done = []
        start = [None]

        def handle(message):
            if message["type"] == "answer":
                connection.accept(inward(message["sdp"]))
                done.append(True)
            elif message["type"] == "offer":
                start[0] = start[0] or time.monotonic()
                self.send("answer", subscription=id, sdp=outward(connection.answer(inward(message["sdp"]))))
                done.append(True)
            elif message["type"] == "candidate" and not relay:
                connection.add_candidate({key: message[key] for key in message if key not in ("type", "subscription")})
            elif message["type"] == "subscriptionEnded":
                raise AssertionError(f"the publisher ended the subscription: {message}")

        self.on(id, handle)
        offer = outward(connection.offer(**options)) if offerer == "peer" else ""
        if offer:
            start[0] = time.monotonic()
        self.send("subscribe", subscription=id, stream=stream, sdp=offer)
        self.wait_for(lambda: done, 60, "the publisher's description")
        return start[0]

    def reoffer(self, connection, direction, added=()):
        """Renegotiates a subscription so that the peer's media have another direction, or that there are more."""
        answers = self.events.count("answer")
        self.send("offer", subscription=self._subscriptions[connection], sdp=connection.reoffer(direction, added))
        self.wait_for(lambda: self.events.count("answer") > answers, 60, "the answer to a later offer")

    def unsubscribe(self, connection):
        """Says goodbye to the publisher."""
        self.send("bye", subscription=self._subscriptions.pop(connection))

    # MARK: Sending

    def publish(self, make_connection, stream="main", relay=None):
        """Announces a stream; whoever subscribes gets a connection of its own. Who offers is the subscriber's choice.

        Gives the list of connections, which grows by `pump` and `wait_for`."""
        connections = []
        outward = relay.rewrite_publisher if relay else lambda sdp: sdp
        inward = relay.rewrite_viewer if relay else lambda sdp: sdp

        def handle_subscribe(message):
            id = message["subscription"]
            connection = make_connection()
            connections.append(connection)

            def handle(message):
                if message["type"] == "answer":
                    connection.accept(inward(message["sdp"]))
                elif message["type"] == "candidate" and not relay:
                    connection.add_candidate(
                        {key: message[key] for key in message if key not in ("type", "subscription")})

            self.on(id, handle)
            if message["sdp"]:
                self.send("answer", subscription=id, sdp=outward(connection.answer(inward(message["sdp"]))))
            else:
                self.send("offer", subscription=id, sdp=outward(connection.offer()))

        self.on("subscribe", handle_subscribe)
        self.announce(stream)
        return connections

    def announce(self, stream):
        self.send("publish", stream=stream)
        self.wait_for(lambda: stream in self.streams, 60, "the server's confirmation")

    def close(self):
        self._connection.__exit__(None, None, None)
