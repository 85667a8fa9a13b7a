"""A browser that watches changes the call by later offers: holds it and takes it up again, wants more."""
import time

import pytest

from beat import Beat


@pytest.mark.parametrize("name", ("chromium", "firefox"))
def test_a_call_that_a_browser_holds_costs_nothing_and_goes_on_when_it_is_taken_up(publish, connections, join, name):
    publisher = publish("demo", "--video", "pattern", "--audio", "tone")
    room = join("demo")
    viewer = connections(name, sends=False)
    room.subscribe(viewer, "peer")
    viewer.wait_for(lambda f: f.get("framesShown", 0) > 30, 30, "pictures", room.pump)

    def received(seconds):
        start, before = time.monotonic(), viewer.figures()["pathBytesReceived"]
        figures = viewer.wait_for(lambda _: time.monotonic() - start >= seconds, seconds + 30, "the end", room.pump)
        return (figures["pathBytesReceived"] - before) / (time.monotonic() - start), figures

    def still():
        """Until half a second has brought no picture: what was under way has come."""
        shown, since = None, time.monotonic()

        def is_still(figures):
            nonlocal shown, since
            if figures["framesShown"] != shown:
                shown, since = figures["framesShown"], time.monotonic()
            return time.monotonic() - since >= 0.5

        return viewer.wait_for(is_still, 30, "a picture that stands", room.pump)

    running, _ = received(2)
    for _ in range(2):
        room.reoffer(viewer, "inactive")
        before = still()
        held, after = received(2)
        assert after["framesShown"] == before["framesShown"]
        with Beat() as beat:
            start = time.monotonic()
            room.reoffer(viewer, "recvonly")
            viewer.wait_for(lambda f: f["framesShown"] > after["framesShown"], 30, "a new picture", room.pump)
            waited = time.monotonic() - start
        print(f"{name}: {running / 1000:.1f} kB/s, {held / 1000:.2f} kB/s while it is held, a picture again after "
              f"{waited:.2f} s (machine {beat.share:.2f})")
        # Checks of the path and reports stay.
        assert held < 0.05 * running
        assert waited <= beat.limit(1.5)
    viewer.wait_for(lambda f: f["audioRMS"] > 0.05, 30, "the tone again", room.pump)
    assert publisher.interrupt() == 0
    assert publisher.figures()["subscribersTotal"] == 1


@pytest.mark.parametrize("name", ("chromium", "firefox"))
def test_a_browser_that_listens_looks_on_later(publish, connections, join, name):
    publisher = publish("demo", "--video", "pattern", "--audio", "tone")
    room = join("demo")
    viewer = connections(name, sends=False)
    room.subscribe(viewer, "peer", kinds=("audio",))
    viewer.wait_for(lambda f: f.get("audioRMS", 0) > 0.05, 30, "the tone", room.pump)
    with Beat() as beat:
        start = time.monotonic()
        room.reoffer(viewer, "recvonly", added=("video",))
        viewer.wait_for(lambda f: f.get("framesShown", 0) > 0, 30, "a picture", room.pump)
        waited = time.monotonic() - start
    print(f"{name}: a picture after {waited:.2f} s (machine {beat.share:.2f})")
    assert waited <= beat.limit(2)
    viewer.wait_for(
        lambda f: f["framesShown"] > 30 and f.get("audioRMS", 0) > 0.05, 30, "more pictures, and the tone", room.pump)
    assert publisher.interrupt() == 0
