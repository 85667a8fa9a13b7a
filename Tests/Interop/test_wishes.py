"""What viewers ask for by their descriptions is heeded: limits of pictures, who turns them, mono and stereo."""
import array
import math
import time
import wave

import pytest

from beat import Beat


def asking(parameters):
    """The peer's description with parameters of VP8's in it."""
    def edit(sdp):
        edited = sdp.replace("a=rtpmap:96 VP8/90000\r\n",
                             f"a=rtpmap:96 VP8/90000\r\na=fmtp:96 {parameters}\r\n")
        assert edited != sdp, sdp
        return edited
    return edit


def without_orientation(sdp):
    lines = [line for line in sdp.split("\r\n") if "video-orientation" not in line]
    return "\r\n".join(lines)


@pytest.mark.parametrize("offerer", ("peer", "emisora"))
def test_max_fs_and_max_fr_hold_for_all_until_their_viewer_leaves(publish, connections, join, offerer):
    publish("demo", "--video", "pattern")
    room = join("demo")
    other, limited = connections("chromium", sends=False), connections("chromium", sends=False)
    room.subscribe(other, offerer)
    other.wait_for(lambda f: f.get("videoWidth") == 640, 30, "the whole picture", room.pump)
    room.subscribe(limited, offerer, edit=asking("max-fs=300;max-fr=15"))
    limited.wait_for(lambda f: f.get("videoWidth", 0) > 0, 30, "the first small picture", room.pump)
    other.wait_for(lambda f: f["videoWidth"] == 320, 30, "the small picture for all", room.pump)
    with Beat() as beat:
        start, frames = time.monotonic(), limited.figures()["framesDecoded"]
        while time.monotonic() - start < 5:
            figures = limited.figures()
            assert (figures["videoWidth"], figures["videoHeight"]) == (320, 240)
            room.pump(wait=0.1)
        figures = limited.figures()
        count, took = figures["framesDecoded"] - frames, time.monotonic() - start
    rate = count / took
    print(f"{offerer} offers: {rate:.1f} pictures/s of {figures['videoWidth']}x{figures['videoHeight']} "
          f"(machine {beat.share:.2f})")
    # The last picture counted may have come a moment before the clock was read, and those of a pause after it.
    assert 12 * beat.share <= rate and count <= 15.8 * (took + beat.pause)
    room.unsubscribe(limited)
    other.wait_for(lambda f: f["videoWidth"] == 640, 30, "the whole picture again", room.pump)
    with Beat() as beat:
        start, frames = time.monotonic(), other.figures()["framesDecoded"]
        other.wait_for(lambda f: f["framesDecoded"] >= frames + 90, 60, "pictures at their full rate", room.pump)
        rate = 90 / (time.monotonic() - start)
    assert rate >= 25 * beat.share


@pytest.mark.parametrize("name", ("chromium", "wrtc", "aiortc"))
def test_a_sideways_picture_stands_upright_at_the_viewer(publish, connections, join, name):
    """Signalled where all viewers turn pictures; turned before encoding for one that does not, and for all with it."""
    publisher = publish("demo", "--video", "pattern", "--rotate", "90")
    room = join("demo")
    page = connections("chromium", sends=False)
    room.subscribe(page, "peer")

    def is_portrait(figures):
        return figures.get("videoWidth", 0) > 0 and (figures["videoWidth"], figures["videoHeight"]) == (480, 640)

    # Its statistics may be some milliseconds older than what it shows.
    figures = page.wait_for(lambda f: is_portrait(f) and f.get("frameWidth"), 30, "an upright picture", room.pump)
    # What was decoded lies as the camera does.
    assert (figures["frameWidth"], figures["frameHeight"]) == (640, 480)
    frames = figures["framesShown"]
    second = connections(name, sends=False)
    room.subscribe(second, "peer", edit=without_orientation)
    if name != "aiortc":
        seen = second.wait_for(lambda f: f.get("frameWidth", 0) > 0, 30, "a picture of the second viewer", room.pump)
        assert (seen["frameWidth"], seen["frameHeight"]) == (480, 640)
    else:
        second.wait_for(lambda f: f.get("framesDecoded", 0) > 5, 30, "pictures of the second viewer", room.pump)
    page.wait_for(lambda f: f["framesShown"] > frames + 30 and is_portrait(f) and f["frameWidth"] == 480, 30,
                  "a picture that came upright", room.pump)
    room.unsubscribe(second)
    frames = page.figures()["framesShown"]
    page.wait_for(lambda f: f["framesShown"] > frames + 30 and is_portrait(f) and f["frameWidth"] == 640, 30,
                  "one that is turned here again", room.pump)
    assert publisher.interrupt() == 0


@pytest.fixture
def one_sided(tmp_path):
    """A sound file with a tone on the left and nothing on the right."""
    path = tmp_path / "left.wav"
    samples = array.array("h")
    for index in range(48_000):
        samples.extend((int(3_277 * math.sin(2 * math.pi * 440 * index / 48_000)), 0))
    with wave.open(str(path), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(48_000)
        file.writeframes(samples.tobytes())
    return path


def test_stereo_is_sent_where_a_viewer_plays_it(publish, connections, join, one_sided):
    """Firefox asks for stereo, Chromium does not."""
    publish("demo", "--video", "none", "--audio", f"wav:{one_sided}")
    room = join("demo")
    chromium = connections("chromium", sends=False)
    room.subscribe(chromium, "peer")

    def is_mean(figures):
        """The mean of both sides, on each of them."""
        left, right = figures.get("channelRMS", (0, 0))
        return left == pytest.approx(0.0354, rel=0.2) or left > 0 and right == 0

    mono = chromium.wait_for(
        lambda f: f.get("audioRMS", 0) > 0.02 and is_mean(f), 30, "sound in Chromium", room.pump)
    firefox = connections("firefox", sends=False)
    room.subscribe(firefox, "peer")

    def is_one_sided(figures):
        left, right = figures.get("channelRMS", (0, 0))
        return left > 0.05 and right < left / 5

    sides = firefox.wait_for(is_one_sided, 60, "sound on the left alone", room.pump)
    print(f"Firefox: {sides['channelRMS']}, Chromium: {mono['channelRMS']}")
    # Who plays one channel hears it all the same.
    chromium.wait_for(lambda f: f["audioRMS"] > 0.02, 30, "sound that goes on", room.pump)
