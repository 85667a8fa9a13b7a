"""CameraCapture from a real driver."""
import json
import re

import pytest

import probe
from scripting import FUNCTIONS

# Two sides, rate: each the fastest that the driver has for the size or nearly so.
RATES = [("320x180", 60), ("640x360", 30), ("640x480", 25)]
# Format of the driver, its options, what frames are.
FORMATS = [("NV12", {}, "nv12"), ("YUYV", {}, "yuy2"), ("NV12", {"multiplanar": 2}, "nv12"),
           ("NM12", {"multiplanar": 2}, "nv12"), ("YUYV", {"multiplanar": 2}, "yuy2")]


@pytest.mark.parametrize("size, rate", RATES)
@pytest.mark.parametrize("fourcc, driver, frames", FORMATS, ids=lambda value: str(value))
def test_the_negotiated_rate_is_kept(machine, size, rate, fourcc, driver, frames):
    width, height = map(int, size.split("x"))
    # A host that is busy with other things takes frames away before anyone can have them: then the plainest program
    # there is shows, in the same machine and mode, how many, and one run of three is to lose no more.
    floor = 0
    for _ in range(3):
        report, result = probe.capture(
            machine, f"--size {size} --fps {rate} --format {fourcc} --seconds 2", driver=driver,
            after=f"v4l2-ctl --stream-mmap=6 --stream-count={2 * rate} --stream-to=/dev/null 2>floor")
        assert report["modes"] == [{"fourcc": fourcc, "width": width, "height": height, "rate": rate}]
        assert report["pixelFormat"] == frames
        if report["frames"]["capturedRate"] >= 0.95 * rate:
            break
        lost = sum(map(int, re.findall(r"dropped buffers: (\d+)", result.files["floor"].decode())))
        floor = lost / (lost + 2 * rate)
        if report["frames"]["capturedRate"] >= (0.95 - floor) * rate:
            break
    assert (0.95 - floor) * rate <= report["frames"]["capturedRate"] <= 1.05 * rate, floor
    assert probe.sensor_rate(report) == pytest.approx(rate, rel=0.05)
    assert len(report["frames"]["changes"]) > report["frames"]["count"] * 0.9, "pictures move"
    assert report["interruptions"] == []
    probe.assert_sound(report, result)


def test_without_a_wish_it_captures_too(machine):
    report, result = probe.capture(machine, "--seconds 2")
    assert report["frames"]["count"] > 5
    probe.assert_sound(report, result)


def test_what_the_driver_drops_is_counted_to_the_frame(machine):
    report, result = probe.run(
        machine, "--size 320x180 --fps 30",
        "v4l2-ctl --set-ctrl=percentage_of_dropped_buffers=30; await framesLostByDriver 40")
    lost, captured = report["ledger"]["lostByDriver"], report["ledger"]["captured"]
    assert lost == report["system"]["sequenceGaps"] == report["lossesReported"]
    assert lost / (lost + captured) > 0.15
    assert report["interruptions"] == []
    probe.assert_sound(report, result)


def test_numbers_and_stamps_that_wrap_are_taken_in_stride(machine):
    # When streaming starts, vivid lets numbers begin 128 before their end, and stamps 16 s before that of 63 bits of
    # nanoseconds (1) or of 31 bits of seconds (2). A camera each.
    result = machine.run(f"""{FUNCTIONS}
        watch_stalls
        probes=
        for number in 0 1; do
            v4l2-ctl -d /dev/video$number --set-ctrl=wrap_sequence_number=1,wrap_timestamp=$((number + 1))
            camera-probe --device /dev/video$number --size 320x180 --fps 15 --seconds 19 >$number 2>/dev/null &
            probes="$probes $!"
        done
        wait $probes""", driver={"n_devs": 2, "node_types": "1,1", "num_inputs": "1,1", "input_types": "0,0"}).checked()
    reports = [json.loads(result.files[name]) for name in ("0", "1")]
    assert reports[0]["system"]["backwardStamps"] == 1
    for report in reports:
        assert report["system"]["sequenceWraps"] == 1
        assert probe.sensor_rate(report) == pytest.approx(15, rel=0.05)
        assert report["ledger"]["dropped"].get("invalid", 0) == 0
        assert report["interruptions"] == []
        probe.assert_sound(report, result)


def test_stamps_at_the_start_of_exposure(machine):
    report, result = probe.capture(
        machine, "--size 320x180 --fps 30 --seconds 3", before="v4l2-ctl --set-ctrl=timestamp_source=1")
    assert probe.sensor_rate(report) == pytest.approx(30, rel=0.05)
    probe.assert_sound(report, result)


def test_a_camera_in_use_names_its_user(machine):
    result = machine.run("""
        v4l2-ctl --stream-mmap --stream-count=0 --stream-to=/dev/null >/dev/null 2>&1 &
        user=$!
        until grep -q "$(readlink -f /dev/video0)" /proc/$user/maps 2>/dev/null; do usleep 20000; done
        echo $user
        camera-probe --seconds 1
        """)
    assert result.status == 1
    assert f"in use by process {result.stdout.strip()}" in result.stderr


def test_without_permission_the_group_is_named(machine):
    result = machine.run("camera-probe --seconds 1", user="stranger")
    assert result.status == 1
    assert "group video" in result.stderr


def test_one_of_the_group_may_capture(machine):
    assert machine.run("camera-probe --seconds 1", user="user").checked().json()["frames"]["count"] > 0


@pytest.mark.parametrize("device, said", [("", "no camera found"), ("--device /dev/video7", 'no camera "/dev/video7"')])
def test_no_camera_is_said_so(machine, device, said):
    result = machine.run(f"camera-probe {device} --seconds 1", camera=False)
    assert result.status == 1
    assert said in result.stderr
