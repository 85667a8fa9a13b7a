"""What the Python peers send, and how they judge what they receive."""
import math
import time

import numpy

WIDTH, HEIGHT, RATE = 640, 480, 30
SAMPLE_RATE = 48_000
#: Of the tone, in Hz, and its peak: a root mean square of 0.0707.
FREQUENCY, PEAK = 600, 0.1


def pictures():
    """A second of I420 pictures: a bar that wanders over a slope of grey."""
    slope = numpy.tile(numpy.linspace(40, 200, WIDTH, dtype=numpy.uint8), (HEIGHT, 1))
    chroma = numpy.full(WIDTH * HEIGHT // 2, 128, dtype=numpy.uint8).tobytes()
    for index in range(RATE):
        luma = slope.copy()
        left = index * (WIDTH - 64) // RATE
        luma[:, left:left + 64] = 235
        yield luma.tobytes() + chroma


def tone(first, count):
    """Samples `first` and on of the tone, 16 bits, one channel."""
    at = numpy.arange(first, first + count) * (2 * math.pi * FREQUENCY / SAMPLE_RATE)
    return (numpy.sin(at) * PEAK * 32_767).astype(numpy.int16)


class PictureMeter:
    """When the first decoded picture came, and the longest time between two."""

    def __init__(self):
        self.count = 0
        self.first_at = None
        self._last_at = None
        self.longest_gap = 0.0

    def add(self):
        now = time.monotonic()
        self.count += 1
        if self._last_at is None:
            self.first_at = now
        else:
            self.longest_gap = max(self.longest_gap, now - self._last_at)
        self._last_at = now

    def restart_gaps(self):
        self.longest_gap = 0.0

    def figures(self):
        # A stream that stands still has its longest gap now.
        open_gap = 0.0 if self._last_at is None else time.monotonic() - self._last_at
        return {"framesShown": self.count, "firstFrameAt": self.first_at,
                "longestFrameGap": max(self.longest_gap, open_gap)}


class SoundMeter:
    """Level and pitch of the last half second."""

    def __init__(self):
        self._samples = numpy.zeros(0, dtype=numpy.float32)

    def add(self, samples):
        """Samples of one channel, −1…1, at 48 kHz."""
        self._samples = numpy.concatenate([self._samples, samples])[-SAMPLE_RATE // 2:]

    def figures(self):
        if len(self._samples) < SAMPLE_RATE // 2:
            return {"audioRMS": 0.0, "audioFrequency": 0.0}
        # The median of 20 ms: a click now and then is no tone.
        blocks = self._samples.reshape(-1, SAMPLE_RATE // 50)
        level = numpy.median(numpy.sqrt(numpy.mean(blocks ** 2, axis=1)))
        spectrum = numpy.abs(numpy.fft.rfft(self._samples * numpy.hanning(len(self._samples))))
        return {"audioRMS": float(level), "audioFrequency": float(spectrum.argmax() * 2)}
