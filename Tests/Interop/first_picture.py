"""Time from a viewer's offer to its first decoded picture, by the round trip of the path: signaling costs nothing, media
goes through a relay. Prints each pair's times and the line through their medians; libwebrtc with itself stands beside.

    .build/venv/bin/python Tests/Interop/first_picture.py [repetitions]
"""
import contextlib
import pathlib
import statistics
import sys
import time

import numpy

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Python"))

from bridge import Bridge  # noqa: E402
from peers import PEERS  # noqa: E402
from processes import Process, Server  # noqa: E402
from relay import Relay  # noqa: E402
from room import Room  # noqa: E402

ROUND_TRIPS = (0.0, 0.05, 0.1, 0.2)


class FirstPicture:
    """Measures pairs, one after another, so that none takes time from another."""

    PAIRS = ("emisora→wrtc", "emisora→chromium", "emisora→emisora", "wrtc→wrtc", "wrtc→chromium")
    #: The pair beside which each is judged: libwebrtc in its place, with the same viewer where that has one of its own.
    YARDSTICKS = {"emisora→wrtc": "wrtc→wrtc", "emisora→chromium": "wrtc→chromium", "emisora→emisora": "wrtc→wrtc"}

    def __init__(self):
        self._round_trip = 0.0
        self._relays = []
        # What was started is ended, too, where the rest does not start.
        with contextlib.ExitStack() as started:
            self._server = Server()
            started.callback(self._server.kill)
            self._publisher = Process(
                "publish", self._server.room("publishers"), "--video", "pattern", "--audio", "tone")
            started.callback(self._publisher.kill)
            self._publisher.wait_for_text("Publishing")
            self._room = started.enter_context(contextlib.closing(Room(self._server.room("publishers"))))
            self._viewers = {
                name: started.enter_context(contextlib.closing(PEERS[name]())) for name in ("wrtc", "chromium")}
            self._sender = started.enter_context(contextlib.closing(PEERS["wrtc"]()))
            self._bridge = started.enter_context(contextlib.closing(
                Bridge(self._server.room("publishers"), self._server.room("viewers"), self._relay)))
            self._started = started.pop_all()

    def _relay(self):
        relay = Relay(round_trip=self._round_trip)
        self._relays.append(relay)
        return relay

    def measure(self, pair, round_trip):
        """One call of that pair, in seconds."""
        self._round_trip = round_trip
        try:
            if pair == "emisora→emisora":
                return self._to_emisora()
            sender, viewer = pair.split("→")
            return self._to_peer(viewer) if sender == "emisora" else self._between_peers(viewer)
        finally:
            for relay in self._relays:
                relay.close()
            self._relays.clear()

    def _to_peer(self, name):
        connection = self._viewers[name].connection(sends=False)
        start = self._room.subscribe(connection, "peer", relay=self._relay())
        figures = self._first(connection)
        self._room.unsubscribe(connection)
        connection.close()
        return figures["firstFrameAt"] - start

    def _between_peers(self, name):
        relay = self._relay()
        sending = self._sender.connection(sends=True)
        viewing = self._viewers[name].connection(sends=False)
        offer = relay.rewrite_viewer(viewing.offer())
        start = time.monotonic()
        viewing.accept(relay.rewrite_publisher(sending.answer(offer)))
        figures = self._first(viewing)
        viewing.close()
        sending.close()
        return figures["firstFrameAt"] - start

    @staticmethod
    def _first(connection):
        return connection.wait_for(lambda figures: figures.get("firstFrameAt"), 60, "the first picture")

    def _to_emisora(self):
        watch = Process("watch", self._server.room("viewers"), "--frames", 1, "--timeout", 60)
        try:
            while watch.process.poll() is None:
                self._bridge.pump()
            assert watch.wait() == 0, watch.stderr()
            return watch.figures()["timeToFirstFrameMs"] / 1_000
        finally:
            watch.kill()

    def close(self):
        self._started.close()


def line(times):
    """Intercept in seconds and slope in round trips of the line through `times`, seconds by round trip."""
    slope, intercept = numpy.polyfit(list(times), list(times.values()), 1)
    return float(intercept), float(slope)


def main():
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    run = FirstPicture()
    try:
        for pair in run.PAIRS:
            # Not judged: what is loaded or made once.
            run.measure(pair, 0.0)
        times = {pair: {trip: [] for trip in ROUND_TRIPS} for pair in run.PAIRS}
        for _ in range(repetitions):
            for trip in ROUND_TRIPS:
                for pair in run.PAIRS:
                    times[pair][trip].append(run.measure(pair, trip))
        for pair, of_pair in times.items():
            intercept, slope = line({trip: statistics.median(values) for trip, values in of_pair.items()})
            shown = "  ".join(
                f"{trip * 1000:.0f} ms: {statistics.median(values) * 1000:.0f} ({min(values) * 1000:.0f})"
                for trip, values in of_pair.items())
            print(f"{pair:18} {intercept * 1000:5.0f} ms + {slope:.2f} round trips   median (least) at {shown}")
    finally:
        run.close()


if __name__ == "__main__":
    main()
