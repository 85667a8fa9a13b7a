"""Another camera, or another source behind a camera, while a viewer watches: on a real driver.

What vivid cannot show is tested on scripted drivers (Tests/Media): a region of interest, since it has no such control
(`CameraControlsTests`), and libv4l's conversion: vivid has all four formats that libv4l converts to (RGB3, BGR3, YU12,
YV12), so that libv4l hands them on from the driver and never converts.
"""
import pytest

from viewing import SERVER, view

TWO = {"n_devs": 2, "node_types": "1,1", "num_inputs": "1,1", "input_types": "0,0"}
# What was switched to, and what its pictures are like: width, and whether they are white as the second camera's.
SWITCHES = [("/dev/video1", 320, True), ("/dev/video0 640x360 5", 640, False), ("platform:vivid-001 320x180 10", 320, True),
            ("platform:vivid-000", 320, False)]


@pytest.fixture(scope="module")
def switched(machine):
    steps = "\n".join(f"switch {to}" for to, _, _ in SWITCHES)
    return view(machine, f"camera-probe publish {SERVER} --device /dev/video0 --size 320x180 --fps 10", f"""
        switch() {{
            now >>switches
            echo "switch $*" >&5
            await_more 'switched to' 1
            picture 4
        }}
        {steps}
        now >refused
        echo 'switch /dev/video7' >&5
        await 'not switched' 1
        picture 4""", before="v4l2-ctl -d /dev/video1 --set-ctrl=test_pattern=6", driver=TWO)


def pictures(viewed, begin, end):
    """(width, whether it is white) of the viewer's pictures in that time."""
    return [(picture["width"], picture["level"] > 200) for picture in viewed.pictures if begin < picture["at"] <= end]


def test_within_a_second_the_viewer_sees_the_camera_that_was_switched_to_and_no_other_after(switched):
    times = [float(line) for line in switched.files["switches"].decode().split()]
    ends = times[1:] + [switched.pictures[-1]["at"]]
    for (to, width, is_white), begin, end in zip(SWITCHES, times, ends, strict=True):
        seen = pictures(switched, begin, end)
        assert (width, is_white) in seen, (to, seen)
        first = seen.index((width, is_white))
        assert set(seen[first:]) == {(width, is_white)}, (to, seen)
        at = [picture["at"] for picture in switched.pictures if picture["at"] > begin][first]
        assert switched.stalls.wait(begin, at) <= 1, to


def test_a_switch_is_no_interruption_and_no_new_stream(switched):
    switched.assert_one_stream()
    assert switched.longest_silence() <= 1
    assert "interruptionBegan" not in switched.files["events"].decode()


def test_after_a_switch_that_fails_the_camera_goes_on(switched):
    (refused,) = (float(line) for line in switched.files["refused"].decode().split())
    seen = pictures(switched, refused, switched.pictures[-1]["at"])
    assert len(seen) >= 4 and set(seen) == {(320, False)}
