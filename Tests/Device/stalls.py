"""When the machine's processors stood still, and how long something took without that.

The machine's processors are threads of a program on the host (QEMU), which may get none of the host's for tenths of a
second. Within the machine that looks like a program that is late. To tell the one from the other, `camera-probe stalls`
runs in the machine on each of its processors, with real-time priority, and wakes every 2 ms: nothing in the machine can
keep it from that, also not a program under test that spins, so that where it wakes 2 ms late or more, the processor itself
stood still. That time, once for all processors, is taken off what was measured. What a program wastes itself is not.

On a host that gives the machine next to nothing, next to nothing is left to judge; on one that runs this alone, all is.
"""


class Stalls:
    def __init__(self, spans):
        """`spans`: (begin, end) of each stall, of whatever processor, in any order."""
        self._spans = []
        for begin, end in sorted(spans):
            if self._spans and begin <= self._spans[-1][1]:
                self._spans[-1][1] = max(self._spans[-1][1], end)
            else:
                self._spans.append([begin, end])

    @classmethod
    def of(cls, result):
        """Those of a run whose script called `watch_stalls`."""
        lines = [line.split() for name in ("stalls1", "stalls2") for line in result.files[name].decode().splitlines()]
        # The machine may have ended within a line.
        return cls([(float(line[0]), float(line[1])) for line in lines if len(line) == 2])

    def within(self, begin, end):
        """For how long the machine stood still in that time."""
        return sum(max(0, min(end, last) - max(begin, first)) for first, last in self._spans)

    def wait(self, begin, end):
        """How long it was from the one to the other for a program in the machine."""
        return end - begin - self.within(begin, end)
