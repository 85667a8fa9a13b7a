"""aiortc, a WebRTC stack written in Python, as a peer."""
import asyncio
import fractions
import itertools
import time

import av
import numpy
from aiortc import MediaStreamTrack, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import MediaStreamError
from aiortc.sdp import candidate_from_sdp

import media
from serve import serve


class Paced(MediaStreamTrack):
    """A track whose frames are due at a steady rate."""

    def __init__(self, rate):
        super().__init__()
        self._rate = rate
        self._start = None
        self._index = 0

    async def due(self):
        """Waits for the next frame's time and gives its number."""
        now = time.monotonic()
        if self._start is None:
            self._start = now
        await asyncio.sleep(max(0, self._start + self._index / self._rate - now))
        self._index += 1
        return self._index - 1


class Pictures(Paced):
    kind = "video"

    def __init__(self):
        super().__init__(media.RATE)
        self._frames = itertools.cycle([
            numpy.frombuffer(picture, dtype=numpy.uint8).reshape(media.HEIGHT * 3 // 2, media.WIDTH)
            for picture in media.pictures()])

    async def recv(self):
        index = await self.due()
        frame = av.VideoFrame.from_ndarray(next(self._frames), format="yuv420p")
        frame.pts, frame.time_base = index * 90_000 // media.RATE, fractions.Fraction(1, 90_000)
        return frame


class Tone(Paced):
    kind = "audio"

    def __init__(self):
        super().__init__(50)

    async def recv(self):
        index = await self.due()
        count = media.SAMPLE_RATE // 50
        # In stereo, since aiortc encodes in stereo and its resampler would take 3 dB off what is mono.
        samples = numpy.repeat(media.tone(index * count, count), 2)[numpy.newaxis, :]
        frame = av.AudioFrame.from_ndarray(samples, "s16", "stereo")
        frame.sample_rate = media.SAMPLE_RATE
        frame.pts, frame.time_base = index * count, fractions.Fraction(1, media.SAMPLE_RATE)
        return frame


class Endpoint:
    def __init__(self, sends):
        self._sends = sends
        self._peer = RTCPeerConnection()
        self._pictures = media.PictureMeter()
        self._sound = media.SoundMeter()
        self._tasks = []
        if sends:
            self._peer.addTrack(Tone())
            self._peer.addTrack(Pictures())
        else:
            self._peer.on("track", lambda track: self._tasks.append(asyncio.create_task(self._receive(track))))

    async def _receive(self, track):
        try:
            while True:
                frame = await track.recv()
                if track.kind == "video":
                    self._pictures.add()
                else:
                    assert frame.sample_rate == media.SAMPLE_RATE and frame.format.name == "s16"
                    samples = frame.to_ndarray()[0, ::len(frame.layout.channels)]
                    self._sound.add(samples.astype(numpy.float32) / 32_768)
        except MediaStreamError:
            # The stream is over.
            return

    async def offer(self):
        if not self._sends:
            for kind in ("audio", "video"):
                self._peer.addTransceiver(kind, direction="recvonly")
        await self._peer.setLocalDescription(await self._peer.createOffer())
        return self._peer.localDescription.sdp

    async def answer(self, sdp):
        await self._peer.setRemoteDescription(RTCSessionDescription(sdp, "offer"))
        await self._peer.setLocalDescription(await self._peer.createAnswer())
        return self._peer.localDescription.sdp

    async def accept(self, sdp):
        await self._peer.setRemoteDescription(RTCSessionDescription(sdp, "answer"))

    async def add_candidate(self, init):
        if not init["candidate"]:
            return await self._peer.addIceCandidate(None)
        candidate = candidate_from_sdp(init["candidate"].removeprefix("candidate:"))
        candidate.sdpMid, candidate.sdpMLineIndex = init.get("sdpMid"), init.get("sdpMLineIndex")
        await self._peer.addIceCandidate(candidate)

    async def figures(self):
        figures = {**self._pictures.figures(), **self._sound.figures(), "state": self._peer.connectionState}
        # It counts no frames: what it handed out was decoded.
        figures["framesDecoded"] = figures["framesShown"]
        for report in (await self._peer.getStats()).values():
            if report.type in ("inbound-rtp", "outbound-rtp") and report.kind == "video":
                figures["packets"] = getattr(report, "packetsReceived", None) or getattr(report, "packetsSent", None)
        return figures

    async def restart_gaps(self):
        self._pictures.restart_gaps()

    async def close(self):
        for task in self._tasks:
            task.cancel()
        await self._peer.close()


asyncio.run(serve(Endpoint))
