"""What every peer can do. Descriptions carry all candidates: a peer's own gathering is no part of what is measured."""
import time


class Connection:
    """One RTCPeerConnection: it either sends its test picture and tone, or receives and measures."""

    def offer(self, changes=()):
        """The SDP of its offer. Peers that can let a test change it first: pairs of a regular expression and what takes
        its place."""
        raise NotImplementedError

    def answer(self, sdp):
        """Takes an offer and gives the SDP of its answer."""
        raise NotImplementedError

    def accept(self, sdp):
        """Takes the answer to its offer."""
        raise NotImplementedError

    def add_candidate(self, candidate):
        """Takes one trickled RTCIceCandidateInit."""
        raise NotImplementedError

    def figures(self):
        """W3C webrtc-stats names of the pictures in one flat dictionary, where the peer has them those of the sound under
        `audio`, with what was measured on the decoded media beside them:
        `firstFrameAt` (seconds of CLOCK_MONOTONIC), `longestFrameGap` (seconds), `audioRMS` (0…1) and
        `audioFrequency` (Hz), both of the last half second of sound."""
        raise NotImplementedError

    def restart_gaps(self):
        """Forgets the longest gap so far, as when the start is over."""
        raise NotImplementedError

    def close(self):
        raise NotImplementedError

    def wait_for(self, condition, timeout, what, pump=lambda: None):
        """Waits until `condition(figures)` holds and gives the figures then."""
        deadline = time.monotonic() + timeout
        while True:
            is_over = time.monotonic() > deadline
            pump()
            figures = self.figures()
            if condition(figures):
                return figures
            assert not is_over, f"{what} did not come within {timeout} s; {figures}"
            time.sleep(0.05)


class Peer:
    name = ""

    def connection(self, sends):
        """A new connection that sends (`True`) or receives."""
        raise NotImplementedError

    def close(self):
        raise NotImplementedError
