"""Chromium and Firefox as peers: an empty page with `page.js`."""
import json
import pathlib
import time

from browsers import BROWSERS

from .peer import Connection, Peer

SCRIPT = pathlib.Path(__file__).with_name("page.js").read_text()


class BrowserPeer(Peer):
    def __init__(self, name, browser=None):
        """`browser`: one that runs already."""
        self.name = name
        self._next = 0
        self.browser = browser or BROWSERS[name]()
        self.browser.open("about:blank")
        # The comma keeps the functions in the page: only what is plain data can be handed out.
        self.browser.evaluate(f"(window.endpoint = {SCRIPT.strip()}, null)")

    def call(self, method, *arguments):
        return self.browser.evaluate(f"endpoint.{method}({', '.join(json.dumps(a) for a in arguments)})")

    def connection(self, sends, configuration=None, encodings=None):
        """`configuration`: W3C `RTCConfiguration`; `encodings`: the pictures' `RTCRtpEncodingParameters`, for simulcast."""
        self._next += 1
        self.call("open", self._next, sends, configuration or {}, encodings)
        return _BrowserConnection(self, self._next)

    def close(self):
        self.browser.close()


class _BrowserConnection(Connection):
    def __init__(self, peer, id):
        self.peer = peer
        self._id = id

    def offer(self, changes=(), kinds=("audio", "video")):
        """`kinds`: what it wants to receive."""
        return self.peer.call("offer", self._id, [list(change) for change in changes], list(kinds))

    def reoffer(self, direction, added=()):
        """The SDP of a later offer, in which all media have that direction, also further ones of the kinds `added`."""
        return self.peer.call("reoffer", self._id, direction, list(added))

    def answer(self, sdp):
        return self.peer.call("answer", self._id, sdp)

    def accept(self, sdp):
        self.peer.call("accept", self._id, sdp)

    def add_candidate(self, candidate):
        self.peer.call("addCandidate", self._id, candidate)

    def descriptions(self):
        """Its own description and the other side's."""
        return self.peer.call("descriptions", self._id)

    def figures(self):
        before = time.monotonic()
        figures = self.peer.call("figures", self._id)
        now = figures.pop("now")
        if figures.get("firstFrameAt") is not None:
            # The page's clock on ours; the error is at most the length of the call.
            figures["firstFrameAt"] = (before + time.monotonic()) / 2 - (now - figures["firstFrameAt"]) / 1_000
        return figures

    def restart_gaps(self):
        self.peer.call("restartGaps", self._id)

    def close(self):
        self.peer.call("close", self._id)
