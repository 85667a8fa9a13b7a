"""What drivers do to a stream, at the encoder's side: it lives on, is back within a second, and leaves nothing behind.

What a viewer sees of the same is in test_publishing.py, twenty times each; here it is what cannot be seen from there, such
as the driver's own count of requests.
"""
import pytest

import probe
from stalls import Stalls

MODE = "--size 320x180 --fps 30"
FRAME = 1 / 30
TIMES = 5


def assert_back_within(limit, result, report):
    """A new picture came so soon after each return."""
    changes, stalls = report["frames"]["changes"], Stalls.of(result)
    delays = [stalls.wait(back, min(change for change in changes if change > back))
              for back in probe.times(result, "returns")]
    assert max(delays) <= limit, delays


def assert_alive(report, result):
    # While it is away there are two a second; until a stall is noticed there may be none for a second.
    stalls = Stalls.of(result)
    assert max((stalls.wait(*silence) for silence in report["frames"]["silences"]), default=0) <= 1.1
    assert all(interruption.get("endedAt") for interruption in report["interruptions"])
    probe.assert_sound(report, result)


def test_unplugged_and_plugged_in_again(machine):
    report, result = probe.run(machine, MODE, f"""
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
    assert_alive(report, result)


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
        await_more ' frames$' 1""")
    assert_back_within(1, result, report)
    assert_alive(report, result)


def test_while_it_is_away_the_driver_is_left_alone_and_the_stream_goes_on(machine):
    report, result = probe.run(machine, MODE, """
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
    assert_alive(report, result)


@pytest.mark.parametrize("also", ["", "inject_vidioc_reqbufs_error", "inject_vidioc_streamon_error"])
def test_a_fatal_error_also_when_the_next_start_fails(machine, also):
    report, result = probe.run(machine, MODE, f"""
        for count in $(seq {TIMES}); do
            [ -z "{also}" ] || inject {also}
            inject inject_fatal_streaming_error
            now >>returns
            await interruptionEnded $count
            await_more ' frames$' 1
        done""", timeout=240)
    assert len(report["interruptions"]) == TIMES
    # The error comes to light with the next frame, the attempt that fails is followed by another after half a second.
    assert_back_within(1 + 2 * FRAME, result, report)
    assert_alive(report, result)


def test_disconnected_and_there_again_when_all_have_let_go(machine):
    # The driver fails everybody, its node stays, and can be opened when nobody has it open any more.
    report, result = probe.run(machine, MODE, f"""
        for count in $(seq {TIMES}); do
            inject disconnect
            now >>returns
            await interruptionEnded $count
            await_more ' frames$' 1
        done""", timeout=240)
    assert len(report["interruptions"]) == TIMES
    assert_back_within(1, result, report)
    assert_alive(report, result)


def test_buffers_with_the_error_flag_are_counted_drops(machine):
    report, result = probe.run(machine, MODE, f"""
        for count in $(seq {TIMES}); do
            inject inject_v4l2_buf_flag_error
            await 'framesDropped.*invalid' $count
        done
        await_more ' frames$' 1""")
    assert report["system"]["erroneousBuffers"] == TIMES
    assert report["dropsReported"]["invalid"] == report["ledger"]["dropped"]["invalid"] == TIMES
    assert report["interruptions"] == []
    assert_alive(report, result)


def test_buffers_that_the_driver_refuses_are_not_lost(machine):
    # More often than there are buffers: with each one lost the stream would end.
    report, result = probe.run(machine, MODE, """
        for count in $(seq 12); do
            inject inject_vidioc_qbuf_error
            await_more ' frames$' 1
        done""", timeout=180)
    assert probe.sensor_rate(report) == pytest.approx(30, rel=0.1)
    assert_alive(report, result)
