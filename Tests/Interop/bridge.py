"""Two of the project's programs with a relay between them: a room of the viewer's own, where this bridge publishes what
it takes from the publisher's room. Descriptions pass through it, media does not."""
from room import Room


class Bridge:
    """`make_relay` is called for each subscription. Candidates that trickle are not passed on: the relay's are in the
    descriptions."""

    def __init__(self, publishers_url, viewers_url, make_relay, stream="main"):
        self._publishers = Room(publishers_url)
        self._viewers = Room(viewers_url)
        self._make_relay = make_relay
        self._publishers.wait_for(lambda: stream in self._publishers.streams, 60, "the publisher's stream")
        self._viewers.on("subscribe", self._subscribe)
        self._viewers.announce(stream)

    def _subscribe(self, message):
        # The same id in both rooms.
        id = message["subscription"]
        relay = self._make_relay()

        def from_publisher(message):
            if message["type"] in ("offer", "answer"):
                self._viewers.send(
                    message["type"], subscription=id, sdp=relay.rewrite_publisher(message["sdp"]))

        def from_viewer(message):
            if message["type"] in ("offer", "answer"):
                self._publishers.send(message["type"], subscription=id, sdp=relay.rewrite_viewer(message["sdp"]))
            elif message["type"] == "subscriptionEnded":
                self._publishers.send("bye", subscription=id)

        self._publishers.on(id, from_publisher)
        self._viewers.on(id, from_viewer)
        sdp = message["sdp"]
        self._publishers.send(
            "subscribe", subscription=id, stream=message["stream"], sdp=relay.rewrite_viewer(sdp) if sdp else "")

    def pump(self):
        """Passes on what comes within some milliseconds."""
        self._viewers.pump(wait=0.001)
        self._publishers.pump(wait=0.001)

    def close(self):
        self._viewers.close()
        self._publishers.close()
