"""libwebrtc itself (PyPI wrtc) as a peer."""
import asyncio
import itertools
import json
import time

import numpy
import webrtc

import media
from serve import serve


class Endpoint:
    def __init__(self, sends):
        self._sends = sends
        self._peer = webrtc.RTCPeerConnection()
        self._pictures = media.PictureMeter()
        self._sound = media.SoundMeter()
        self._tasks = []
        if sends:
            self._video = webrtc.VideoTrackGenerator()
            self._audio = webrtc.MediaStreamTrackGenerator("audio")
            self._peer.add_track(self._audio)
            self._peer.add_track(self._video.track)
            self._start(self._send_video())
            self._start(self._send_audio())
        else:
            self._peer.on("track", lambda event: self._start(self._receive(event.track)))

    def _start(self, coroutine):
        self._tasks.append(asyncio.create_task(coroutine))

    async def _send_video(self):
        writer = self._video.writable.get_writer()
        start = time.monotonic()
        for index, picture in enumerate(itertools.cycle(media.pictures())):
            await asyncio.sleep(max(0, start + index / media.RATE - time.monotonic()))
            init = webrtc.VideoFrameBufferInit(
                format="I420", coded_width=media.WIDTH, coded_height=media.HEIGHT,
                timestamp=index * 1_000_000 // media.RATE)
            await writer.write(webrtc.VideoFrame(picture, init))

    async def _send_audio(self):
        writer = self._audio.writable.get_writer()
        count = media.SAMPLE_RATE // 50
        start = time.monotonic()
        for index in itertools.count():
            await asyncio.sleep(max(0, start + index / 50 - time.monotonic()))
            await writer.write(webrtc.AudioData(webrtc.AudioDataInit(
                format="s16", sample_rate=media.SAMPLE_RATE, number_of_frames=count, number_of_channels=1,
                timestamp=index * 20_000, data=media.tone(index * count, count).tobytes())))

    async def _receive(self, track):
        processor = webrtc.MediaStreamTrackProcessor(webrtc.MediaStreamTrackProcessorInit(track))
        async for item in processor.readable:
            if track.kind == "video":
                self._pictures.add()
            else:
                self._add_sound(item)
            item.close()

    def _add_sound(self, data):
        channels = data.number_of_channels
        buffer = bytearray(data.number_of_frames * channels * 2)
        data.copy_to(buffer, webrtc.AudioDataCopyToOptions(plane_index=0, format="s16"))
        assert data.sample_rate == media.SAMPLE_RATE
        self._sound.add(numpy.frombuffer(buffer, dtype=numpy.int16)[::channels].astype(numpy.float32) / 32_768)

    async def _gathered(self):
        while self._peer.ice_gathering_state != "complete":
            await asyncio.sleep(0.001)
        return self._peer.local_description.sdp

    async def offer(self):
        if not self._sends:
            for kind in ("audio", "video"):
                self._peer.add_transceiver(kind, webrtc.RTCRtpTransceiverInit(direction="recvonly"))
        await self._peer.set_local_description(await self._peer.create_offer())
        return await self._gathered()

    async def answer(self, sdp):
        await self._peer.set_remote_description(webrtc.RTCSessionDescriptionInit("offer", sdp))
        await self._peer.set_local_description(await self._peer.create_answer())
        return await self._gathered()

    async def accept(self, sdp):
        await self._peer.set_remote_description(webrtc.RTCSessionDescriptionInit("answer", sdp))

    async def add_candidate(self, candidate):
        await self._peer.add_ice_candidate(webrtc.RTCIceCandidateInit(
            candidate=candidate["candidate"], sdp_mid=candidate.get("sdpMid"),
            sdp_m_line_index=candidate.get("sdpMLineIndex")))

    async def figures(self):
        figures = {**self._pictures.figures(), **self._sound.figures(), "state": str(self._peer.connection_state)}
        wanted = ("outbound-rtp" if self._sends else "inbound-rtp")
        for report in (await self._peer.get_stats()).values():
            entry = json.loads(json.dumps(report.to_json() if hasattr(report, "to_json") else dict(report)))
            if entry["type"] != wanted:
                continue
            if entry["kind"] == "video":
                figures.update(entry)
            else:
                figures["audio"] = entry
        return figures

    async def restart_gaps(self):
        self._pictures.restart_gaps()

    async def close(self):
        for task in self._tasks:
            task.cancel()
        self._peer.close()


asyncio.run(serve(Endpoint))
