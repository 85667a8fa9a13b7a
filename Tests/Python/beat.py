"""What the machine has to spare while something else is measured: on one that is overloaded nothing keeps its pace."""
import subprocess
import sys
import time

RATE = 30
#: Of processor time in each beat: about what a sender of 640×480 pictures needs.
WORK = 0.008

CHILD = f"""
import time
start = last = time.monotonic()
beats = 0
longest = 0
while True:
    late = start + beats / {RATE} - time.monotonic()
    if late > 0:
        time.sleep(late)
    elif late < -0.2:
        # As a source that skips what it cannot make up for.
        start = time.monotonic() - beats / {RATE}
    end = time.thread_time() + {WORK}
    while time.thread_time() < end:
        pass
    beats += 1
    now = time.monotonic()
    longest, last = max(longest, now - last), now
    print(now, longest, flush=True)
"""


class Beat:
    """A process that works 30 times a second for as long as it is open: the floor of the same run.

    `share` is the part of its pace that it kept, 1 on a machine with room; `pause` is the longest time, in seconds, that it
    was kept from its work, 0 there: what comes once makes no difference to the share, but to whatever is a longest or a
    single time."""

    def __enter__(self):
        self._process = subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE, text=True)
        self._process.stdout.readline()
        self._start = time.monotonic()
        return self

    def __exit__(self, *_):
        end = time.monotonic()
        elapsed = end - self._start
        self._process.kill()
        beats = [tuple(map(float, line.split())) for line in self._process.stdout.read().splitlines()]
        self._process.stdout.close()
        self._process.wait()
        # A twentieth is the measurement's own.
        self.share = min(1.0, len(beats) / elapsed / RATE * 1.05)
        # It may be kept from it now, and have been since it began.
        last, longest = beats[-1] if beats else (self._start, 0)
        self.pause = max(0, longest - 1 / RATE, end - last - 1 / RATE)

    def limit(self, seconds):
        """So long may something take that takes that time where there is room."""
        return seconds / max(self.share, 0.01) + self.pause
