"""WebRTC endpoints that are not this project's, behind one interface; see `peer.Peer`."""
from .browser_peer import BrowserPeer
from .child_peer import ChildPeer

#: Makes each peer. Nothing here or in the project's sources tells one from another.
PEERS = {
    "chromium": lambda: BrowserPeer("chromium"),
    "firefox": lambda: BrowserPeer("firefox"),
    "aiortc": lambda: ChildPeer("aiortc"),
    "wrtc": lambda: ChildPeer("wrtc"),
}
