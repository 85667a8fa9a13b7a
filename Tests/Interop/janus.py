"""Janus, an SFU, as a process of its own, and its websocket API as far as its video rooms need it."""
import json
import pathlib
import secrets
import shutil
import socket
import subprocess
import tempfile

from websockets.sync.client import connect

from processes import LOGS, wait_for_port
from relay import own_address

ROOM = 1234
# One publisher at a time, and not without the PIN.
SMALL_ROOM, PIN = 5678, "2468"
# H.264 alone.
OTHER_ROOM = 9012
CONFIGURATION = {
    "janus.jcfg": """
general: {{ debug_level = 4, debug_timestamps = false, session_timeout = 600 }}
nat: {{ ice_enforce_list = "{address}", ice_lite = {lite} }}
transports: {{ disable = "libjanus_http.so,libjanus_mqtt.so,libjanus_nanomsg.so,libjanus_pfunix.so,libjanus_rabbitmq.so" }}
plugins: {{ disable = "libjanus_audiobridge.so,libjanus_duktape.so,libjanus_echotest.so,libjanus_lua.so,\
libjanus_nosip.so,libjanus_recordplay.so,libjanus_sip.so,libjanus_streaming.so,libjanus_textroom.so,\
libjanus_videocall.so,libjanus_voicemail.so" }}
""",
    "janus.transport.websockets.jcfg": """
general: {{ ws = true, ws_ip = "127.0.0.1", ws_port = {port}, wss = false }}
""",
    "janus.plugin.videoroom.jcfg": """
room-{room}: {{ description = "interop", publishers = 2, bitrate = 0, audiocodec = "opus", videocodec = "vp8" }}
room-{small}: {{ description = "small", publishers = 1, pin = "{pin}", audiocodec = "opus", videocodec = "vp8" }}
room-{other}: {{ description = "other codecs", publishers = 1, audiocodec = "opus", videocodec = "h264" }}
""",
}


class Janus:
    def __init__(self, is_lite=False):
        with socket.socket() as probe:
            # Janus cannot say which port it took, so it is given one that is free now.
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._folder = tempfile.mkdtemp(prefix="emisora-janus-")
        for name, text in CONFIGURATION.items():
            filled = text.format(
                address=own_address(), port=self.port, room=ROOM, small=SMALL_ROOM, pin=PIN, other=OTHER_ROOM,
                lite=str(is_lite).lower())
            pathlib.Path(self._folder, name).write_text(filled)
        LOGS.mkdir(parents=True, exist_ok=True)
        self._log_path = LOGS / "janus.out"
        self._start()

    def _start(self):
        with open(self._log_path, "wb") as log:
            self._process = subprocess.Popen(
                ["janus", f"--configs-folder={self._folder}", "--disable-colors"], stdin=subprocess.DEVNULL, stdout=log,
                stderr=log)
        try:
            wait_for_port(self.port, self._process, "janus", self.log)
        except AssertionError:
            self.close()
            raise

    def kill(self):
        """Without a goodbye."""
        self._process.kill()
        self._process.wait()

    def restart(self):
        """Where it was, without any memory."""
        self._start()

    def url(self, room):
        return f"janus://127.0.0.1:{self.port}/{room}"

    def log(self):
        return self._log_path.read_text(errors="replace")

    def close(self):
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


class JanusSession:
    """One connection to Janus. A call waits for the answer with its own transaction, since events may overtake it.

    Sessions end after ten minutes without a word; nothing here takes as long."""

    def __init__(self, janus):
        # Without pings of its own: see `room.Room`, Janus's libwebsockets is the same.
        self._connection = connect(f"ws://127.0.0.1:{janus.port}", subprotocols=["janus-protocol"], ping_interval=None)
        self._socket = self._connection.__enter__()
        self._id = None
        self._up = set()
        self._id = self._call("create")["data"]["id"]

    def attach(self):
        """A new handle of the video room's."""
        return self._call("attach", plugin="janus.plugin.videoroom")["data"]["id"]

    def request(self, handle, body, jsep=None):
        """Sends a message to the plugin and gives its event: the plugin's data and the description, if any."""
        fields = {"handle_id": handle, "body": body}
        if jsep:
            fields["jsep"] = jsep
        event = self._call("message", **fields)
        data = event["plugindata"]["data"]
        assert "error" not in data, f"{body['request']}: {data}"
        return data, event.get("jsep")

    def _call(self, verb, **fields):
        transaction = secrets.token_hex(8)
        message = {"janus": verb, "transaction": transaction, **fields}
        if self._id is not None:
            message["session_id"] = self._id
        self._socket.send(json.dumps(message))
        while True:
            answer = self._read()
            if answer.get("transaction") != transaction or answer["janus"] == "ack":
                continue
            assert answer["janus"] != "error", f"{verb}: {answer}"
            return answer

    def _read(self):
        message = json.loads(self._socket.recv(timeout=60))
        if message["janus"] == "webrtcup":
            self._up.add(message["sender"])
        return message

    def wait_until_up(self, handle):
        """Returns when that handle's media connection stands."""
        while handle not in self._up:
            self._read()

    # MARK: Video rooms

    def publish(self, offer):
        """Publishes with that offer; gives its handle, the feed's number and the answer's SDP.

        The room knows the feed when its connection is up."""
        handle = self.attach()
        joined, _ = self.request(
            handle, {"request": "join", "ptype": "publisher", "room": ROOM, "display": "interop"})
        _, jsep = self.request(
            handle, {"request": "configure", "audio": True, "video": True}, {"type": "offer", "sdp": offer})
        return handle, joined["id"], jsep["sdp"]

    def subscribe(self, feed):
        """Subscribes to a feed; gives the handle and the SDP of Janus's offer."""
        handle = self.attach()
        _, jsep = self.request(
            handle, {"request": "join", "ptype": "subscriber", "room": ROOM, "streams": [{"feed": feed}]})
        return handle, jsep["sdp"]

    def start(self, handle, answer):
        self.request(handle, {"request": "start"}, {"type": "answer", "sdp": answer})

    def configure(self, handle, **fields):
        """Changes what a subscriber gets, such as `substream` of a simulcast."""
        self.request(handle, {"request": "configure", **fields})

    def room(self, number):
        """Asks for the participants of a room."""
        event = self._call(
            "message", handle_id=self.attach(), body={"request": "listparticipants", "room": number})
        data = event["plugindata"]["data"]
        return data["room"], data["participants"]

    def close(self):
        self._connection.__exit__(None, None, None)


def publish_from(inside, session, check=lambda offer, answer: None):
    """The publisher of stream `main` in the room that `inside` has joined offers, as to WHIP, and Janus answers: gives the
    session's handle of it and the feed's number."""
    inside.wait_for(lambda: "main" in inside.streams, 60, "the stream")
    feeds = []

    def offered(message):
        if message["type"] == "offer":
            handle, number, answer = session.publish(message["sdp"])
            check(message["sdp"], answer)
            feeds.append((handle, number))
            inside.send("answer", subscription=id, sdp=answer)

    id = secrets.token_hex(16)
    inside.on(id, offered)
    inside.send("subscribe", subscription=id, stream="main", sdp="")
    inside.wait_for(lambda: feeds, 60, "the publisher's offer")
    session.wait_until_up(feeds[0][0])
    return feeds[0]
