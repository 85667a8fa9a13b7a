"""What drivers do to a stream, each twenty times: it lives on, is back within a second, and leaves nothing behind."""
import pytest

import probe

MODE = "--size 320x180 --fps 15"
TIMES = 20


def away(result, report, name="returns"):
    """How long after each return the first new picture came."""
    changes = report["frames"]["changes"]
    return [min(change for change in changes if change > back) - back for back in probe.times(result, name)]


def assert_alive(report):
    # Until a stall is noticed there may be none for a second; after that there are two a second.
    assert report["frames"]["longestSilence"] < 1.6
    assert all(interruption.get("endedAt") for interruption in report["interruptions"])
    probe.assert_sound(report)


def test_unplugged_and_plugged_in_again(machine):
    report, result = probe.run(machine, MODE, f"""
        for count in $(seq {TIMES}); do
            unplug
            await interruptionBegan $count
            plug_in
            now >>returns
            await interruptionEnded $count
            more_frames
        done""", timeout=240)
    assert len(report["interruptions"]) == TIMES
    assert max(away(result, report)) <= 1
    assert_alive(report)


def test_it_is_the_same_camera_by_its_place_whatever_its_number(machine):
    # While it is away, a program holds the old node open, so that the next one has another number.
    report, result = probe.run(machine, MODE, """
        sleep 1000 </dev/video0 &
        unplug
        await interruptionBegan 1
        plug_in
        now >returns
        ls /dev/video*
        await interruptionEnded 1
        more_frames""")
    assert max(away(result, report)) <= 1
    assert_alive(report)


def test_while_it_is_away_the_driver_is_left_alone_and_the_stream_goes_on(machine):
    report, result = probe.run(machine, MODE, """
        unplug
        await interruptionBegan 1
        now >gone
        sleep 6
        now >returns
        plug_in
        await interruptionEnded 1
        more_frames""")
    (gone,), (back,) = probe.times(result, "gone"), probe.times(result, "returns")
    asked = [sample["requests"] for sample in report["requestsOverTime"] if gone <= sample["at"] <= back]
    assert (asked[-1] - asked[0]) / (back - gone) <= 100
    assert_alive(report)


@pytest.mark.parametrize("also", ["", "inject_vidioc_reqbufs_error", "inject_vidioc_streamon_error"])
def test_a_fatal_error_also_when_the_next_start_fails(machine, also):
    report, result = probe.run(machine, MODE, f"""
        for count in $(seq {TIMES}); do
            [ -z "{also}" ] || inject {also}
            inject inject_fatal_streaming_error
            now >>returns
            await interruptionEnded $count
            more_frames
        done""", timeout=240)
    assert len(report["interruptions"]) == TIMES
    # The error comes to light with the next frame, the attempt that fails is followed by another after half a second.
    assert max(away(result, report)) <= 1 + 2 / 15
    assert_alive(report)


def test_disconnected_with_its_node_left_behind(machine):
    report, result = probe.run(machine, MODE, f"""
        for count in $(seq {TIMES}); do
            inject disconnect
            await interruptionBegan $count
            unplug
            plug_in
            now >>returns
            await interruptionEnded $count
            more_frames
        done""", timeout=240)
    assert len(report["interruptions"]) == TIMES
    assert max(away(result, report)) <= 1
    assert_alive(report)


def test_buffers_with_the_error_flag_are_counted_drops(machine):
    report, _ = probe.run(machine, MODE, f"""
        for count in $(seq {TIMES}); do
            inject inject_v4l2_buf_flag_error
            await 'framesDropped.*invalid' $count
        done
        more_frames""")
    assert report["system"]["erroneousBuffers"] == TIMES
    assert report["dropsReported"]["invalid"] == report["ledger"]["dropped"]["invalid"] == TIMES
    assert report["interruptions"] == []
    assert_alive(report)


def test_buffers_that_the_driver_refuses_are_not_lost(machine):
    # More often than there are buffers: with each one lost the stream would end.
    report, _ = probe.run(machine, MODE, f"""
        for count in $(seq {TIMES}); do
            inject inject_vidioc_qbuf_error
            more_frames
        done""", timeout=180)
    assert probe.sensor_rate(report) == pytest.approx(15, rel=0.1)
    assert_alive(report)
