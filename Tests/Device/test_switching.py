"""Another camera, or another source behind a camera, while a viewer watches: on a real driver.

What vivid cannot show is tested on scripted drivers (Tests/Media): a region of interest, since it has no such control
(`CameraControlsTests`), and libv4l's conversion: vivid has all four formats that libv4l converts to (RGB3, BGR3, YU12,
YV12), so that libv4l hands them on from the driver and never converts.
"""
import pytest

from viewing import SERVER, view

TWO = {"n_devs": 2, "node_types": "1,1", "num_inputs": "1,1", "input_types": "0,0"}
HDMI = {"n_devs": 1, "input_types": 3}
# What was switched to, and what its pictures are like: width, and whether they are white as the second camera's.
SWITCHES = [("/dev/video1", 320, True), ("/dev/video0 640x360 5", 640, False),
            ("platform:vivid-001 320x180 10", 320, True), ("platform:vivid-000", 320, False)]
# The same as a pattern for the viewer's lines, which end with size and brightness.
LINES = {(320, True): " 320x180 2[0-9][0-9]$", (640, False): " 640x360 ", (320, False): " 320x180 1*[0-9]*[0-9]$"}
# In seconds. The thread that captures opens the other camera meanwhile, and asks a driver of eighty formats for all modes.
LIMIT = 2


@pytest.fixture(scope="module")
def switched(machine):
    steps = "\n".join(f"switch '{LINES[width, is_white]}' {to}" for to, width, is_white in SWITCHES)
    return view(machine, f"camera-probe publish {SERVER} --device /dev/video0 --size 320x180 --fps 10", f"""
        switch() {{
            seen=$1
            shift
            now >>switches
            echo "switch $*" >&5
            await_more 'switched to' 1
            # Those of the former camera that are still under way are none of these.
            await_more "$seen" 4 watch
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
        assert switched.stalls.wait(begin, at) <= switched.limit(LIMIT), to


def test_a_switch_is_no_interruption_and_no_new_stream(switched):
    switched.assert_one_stream()
    assert switched.longest_silence() <= switched.limit(LIMIT)
    assert "interruptionBegan" not in switched.files["events"].decode()


def test_after_a_switch_that_fails_the_camera_goes_on(switched):
    (refused,) = (float(line) for line in switched.files["refused"].decode().split())
    seen = pictures(switched, refused, switched.pictures[-1]["at"])
    assert len(seen) >= 4 and set(seen) == {(320, False)}


@pytest.fixture(scope="module")
def changed(machine):
    # An HDMI input whose source goes over from 720p to 1080p.
    return view(machine, f"camera-probe publish {SERVER} --size 320x180", """
        timings() { v4l2-ctl --get-dv-timings | grep 'Active width' | tr -dc 0-9; echo; }
        timings >>timings
        v4l2-ctl --set-ctrl=dv_timings_signal_mode=4,dv_timings=$(cat full_hd) >/dev/null
        now >>changes
        await "input changed" 1
        await interruptionEnded 1
        picture 2
        timings >>timings""", before="""
        mode() {
            v4l2-ctl --list-ctrls-menus | grep -A 200 ' dv_timings 0x' | grep "$1" | head -n 1 | tr -d '\\t' | cut -d: -f1
        }
        mode 1920x1080p24 >full_hd
        v4l2-ctl --set-dv-bt-timings "index=$(mode 1280x720p24)" """, driver=HDMI)


def test_a_source_that_changes_is_taken_up_as_it_is_now(changed):
    assert changed.files["timings"].decode().split() == ["1280", "1920"]
    (wait,) = changed.waits("changes", under_way=1)
    assert wait <= changed.limit(1)


def test_the_viewer_sees_one_stream_when_the_source_changes(changed):
    changed.assert_one_stream()
    assert changed.files["events"].decode().count("input changed") == 1
