"""Straight to Janus: the publisher speaks the API of its video rooms, browsers watch through it."""
import pathlib
import time

import pytest

from beat import Beat
from janus import OTHER_ROOM, PIN, ROOM, SMALL_ROOM, Janus, JanusSession
from processes import Process

PAGE = pathlib.Path(__file__).with_name("janus_viewer.html").as_uri()


@pytest.fixture
def janus():
    janus = Janus()
    yield janus
    janus.close()


def publish(started, url, *arguments):
    process = started(Process, "publish", url, "--video", "pattern", "--audio", "tone", *arguments)
    process.wait_for_text("Publishing")
    return process


def watch(tab, janus, room, options=""):
    tab.open(f"{PAGE}?port={janus.port}&room={room}{options}")
    return tab


def wait_for_pictures(viewer, more=1, seconds=30):
    """Until the page has shown that many more pictures; gives the page's figures."""
    start = viewer.evaluate("viewer.frames")
    viewer.wait_for(f"viewer.frames >= {start + more} || viewer.error", seconds, f"{more} pictures")
    figures = viewer.evaluate("viewer")
    assert figures["error"] is None, figures
    return figures


def test_three_browsers_watch_through_janus_also_after_it_was_killed(started, janus, chromium):
    publisher = publish(started, janus.url(ROOM), "--display", "Studio 1")
    viewers = [watch(tab, janus, ROOM) for tab in (chromium, chromium.new_tab(), chromium.new_tab())]
    for viewer in viewers:
        wait_for_pictures(viewer)
    counts = "[viewer.frames, viewer.turns, performance.now() / 1000]"
    with Beat() as beat:
        before = [viewer.evaluate(counts) for viewer in viewers]
        viewers[0].wait_for(f"performance.now() / 1000 > {before[0][2] + 4}", 60)
        after = [viewer.evaluate(counts) for viewer in viewers]
    rates = []
    for (frames, turns, start), (last_frame, last_turn, end) in zip(before, after):
        rates.append(((last_turn - turns) / (end - start), (last_frame - frames) / (end - start)))
    print(f"a second in three browsers behind Janus, turns to paint and pictures: {rates} (machine {beat.share:.2f})")
    # Tabs that are not in front show fewer; that they play is what counts there. Nor can a page show more than it paints.
    turns, shown = max(rates)
    assert shown >= 20 * beat.share * min(1, turns / 30), rates
    assert all(shown > 0 for _, shown in rates), rates
    for viewer in viewers:
        # The page looks at its statistics now and then, where it is not in front less often.
        viewer.wait_for("viewer.soundBytes > 0", 30, "sound")
        figures = viewer.evaluate("viewer")
        assert (figures["width"], figures["height"]) == (640, 480), figures

    session = JanusSession(janus)
    _, participants = session.room(ROOM)
    session.close()
    assert "Studio 1" in [one.get("display") for one in participants]

    janus.kill()
    publisher.wait_for_text("connection to the signaling server was lost")
    with Beat() as beat:
        janus.restart()
        up = time.monotonic()
        publisher.wait_for_text("The signaling server is back.", 60)
        viewer = watch(viewers[0], janus, ROOM)
        wait_for_pictures(viewer, 10, 60)
        took = time.monotonic() - up
    print(f"publishing again {took:.1f} s after Janus was back (machine {beat.share:.2f})")
    assert took <= beat.limit(10)
    assert publisher.interrupt() == 0
    assert publisher.figures()["subscribersTotal"] == 2


def test_a_viewer_chooses_among_the_sizes_that_are_published_straight_to_janus(started, janus, chromium):
    publisher = publish(started, janus.url(SMALL_ROOM), "--pin", PIN, "--simulcast", 2, "--publisher-id", 77)
    viewer = watch(chromium, janus, SMALL_ROOM, f"&pin={PIN}&substream=0")
    viewer.wait_for("viewer.width === 320 && viewer.height === 240", 30, "the small pictures")
    assert viewer.evaluate("viewer.feed") == 77

    # The room is full.
    late = started(Process, "publish", janus.url(SMALL_ROOM), "--video", "pattern", "--pin", PIN)
    assert late.wait() == 1
    assert "as many publishers as it may" in late.stderr()
    # Who leaves is gone at once, so that its id and its place are free.
    assert publisher.interrupt() == 0
    publisher = publish(started, janus.url(SMALL_ROOM), "--pin", PIN, "--publisher-id", 77)
    watcher = started(Process, "watch", janus.url(SMALL_ROOM), "--pin", PIN, "--frames", 30, "--timeout", 60)
    assert watcher.wait(90) == 0, watcher.stderr()
    assert watcher.figures()["patternFramesOutOfOrder"] == 0
    assert publisher.interrupt() == 0


@pytest.mark.parametrize("room, options, code, advice", [
    (4321, (), "426", "no room 4321"),
    (SMALL_ROOM, (), "429", "--pin"),
    (SMALL_ROOM, ("--pin", "1"), "433", "--pin"),
    (OTHER_ROOM, (), "415", "takes no VP8"),
], ids=["no room", "no PIN", "wrong PIN", "other codecs"])
def test_what_janus_refuses_is_told_with_what_to_do(started, refusing_janus, room, options, code, advice):
    publisher = started(Process, "publish", refusing_janus.url(room), "--video", "pattern", *options)
    assert publisher.wait() == 1
    assert f"refused ({code})" in publisher.stderr() and advice in publisher.stderr(), publisher.stderr()


@pytest.fixture(scope="module")
def refusing_janus():
    janus = Janus()
    yield janus
    janus.close()
