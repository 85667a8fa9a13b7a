"""What drivers do to a stream, each twenty times: it lives on, is back within a second, and leaves nothing behind."""
import pytest

import probe

MODE = "--size 320x180 --fps 30"
TIMES = 20


def assert_back_within(limit, result, report):
    """A new picture came so soon after each return; of twenty, two may be later that the host was busy."""
    changes = report["frames"]["changes"]
    delays = sorted(
        min(change for change in changes if change > back) - back for back in probe.times(result, "returns"))
    assert delays[-1 - len(delays) // 10] <= limit, delays
    assert delays[-1] <= 3 * limit, delays


def assert_alive(report):
    # Until a stall is noticed there may be none for a second; after that there are two a second.
    assert report["frames"]["longestSilence"] < 1.6
    assert all(interruption.get("endedAt") for interruption in report["interruptions"])
    probe.assert_sound(report)


def test_unplugged_and_plugged_in_again(camera_machine):
    report, result = probe.run(camera_machine, MODE, f"""
        for count in $(seq {TIMES}); do
            unplug
            await interruptionBegan $count
            plug_in
            now >>returns
            await interruptionEnded $count
            await_more ' frames$' 1
        done""", timeout=240)
    assert len(report["interruptions"]) == TIMES
    assert_back_within(1, result, report)
    assert_alive(report)


def test_it_is_the_same_camera_by_its_place_whatever_its_number(camera_machine):
    # While it is away, a program holds the old node open, so that the next one has another number.
    report, result = probe.run(camera_machine, MODE, """
        sleep 1000 </dev/video0 &
        unplug
        await interruptionBegan 1
        plug_in
        now >returns
        ls /dev/video*
        await interruptionEnded 1
        await_more ' frames$' 1""")
    assert_back_within(1, result, report)
    assert_alive(report)


def test_while_it_is_away_the_driver_is_left_alone_and_the_stream_goes_on(camera_machine):
    report, result = probe.run(camera_machine, MODE, """
        unplug
        await interruptionBegan 1
        now >gone
        sleep 4
        now >returns
        plug_in
        await interruptionEnded 1
        await_more ' frames$' 1""")
    (gone,), (back,) = probe.times(result, "gone"), probe.times(result, "returns")
    asked = [sample["requests"] for sample in report["requestsOverTime"] if gone <= sample["at"] <= back]
    assert (asked[-1] - asked[0]) / (back - gone) <= 100
    assert_alive(report)


@pytest.mark.parametrize("also", ["", "inject_vidioc_reqbufs_error", "inject_vidioc_streamon_error"])
def test_a_fatal_error_also_when_the_next_start_fails(camera_machine, also):
    report, result = probe.run(camera_machine, MODE, f"""
        for count in $(seq {TIMES}); do
            [ -z "{also}" ] || inject {also}
            inject inject_fatal_streaming_error
            now >>returns
            await interruptionEnded $count
            await_more ' frames$' 1
        done""", timeout=240)
    assert len(report["interruptions"]) == TIMES
    # The error comes to light with the next frame, the attempt that fails is followed by another after half a second.
    assert_back_within(1 + 2 / 30, result, report)
    assert_alive(report)


def test_disconnected_and_there_again_when_all_have_let_go(camera_machine):
    # The driver fails everybody, its node stays, and can be opened when nobody has it open any more.
    report, result = probe.run(camera_machine, MODE, f"""
        for count in $(seq {TIMES}); do
            inject disconnect
            now >>returns
            await interruptionEnded $count
            await_more ' frames$' 1
        done""", timeout=240)
    assert len(report["interruptions"]) == TIMES
    assert_back_within(1, result, report)
    assert_alive(report)


def test_buffers_with_the_error_flag_are_counted_drops(camera_machine):
    report, _ = probe.run(camera_machine, MODE, f"""
        for count in $(seq {TIMES}); do
            inject inject_v4l2_buf_flag_error
            await 'framesDropped.*invalid' $count
        done
        await_more ' frames$' 1""")
    assert report["system"]["erroneousBuffers"] == TIMES
    assert report["dropsReported"]["invalid"] == report["ledger"]["dropped"]["invalid"] == TIMES
    assert report["interruptions"] == []
    assert_alive(report)


def test_buffers_that_the_driver_refuses_are_not_lost(camera_machine):
    # More often than there are buffers: with each one lost the stream would end.
    report, _ = probe.run(camera_machine, MODE, f"""
        for count in $(seq {TIMES}); do
            inject inject_vidioc_qbuf_error
            await_more ' frames$' 1
        done""", timeout=180)
    assert probe.sensor_rate(report) == pytest.approx(30, rel=0.1)
    assert_alive(report)
