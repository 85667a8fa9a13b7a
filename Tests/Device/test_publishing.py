"""Camera, publisher, signaling server and viewer, all in the machine."""
import json

import pytest

from viewing import SERVER, VIEWING, view

RATE = 10
# Without TCP: its connections, which go a minute after UDP was found to be better, would count as descriptors that the
# camera let go.
PUBLISH = f"emisora publish {SERVER} --video camera --size 320x180 --fps {RATE} --audio none --no-tcp"
# How often each thing happens to the camera.
TIMES = 20

# What can happen to it. Each writes the time of the camera's return, or of what should go unnoticed, to a file of its name.
FAULTS = """
before=$(held)
count=0
interrupted() { count=$((count + 1)); await 'The stream goes on' $count; }
back() { await 'is back' $count; picture 2; let_go "$1" "$before"; }

unplugged() {
    unplug
    interrupted
    now >>gone
    # When the picture stands still, none is under way any more.
    still
    plug_in
    now >>unplugged
    back unplugged
}
# failing NAME CONTROLS: the driver fails the stream, and with it the next attempts that the controls say.
failing() {
    v4l2-ctl -d "$(ls /dev/video* | head -n 1)" --set-ctrl="$2" >/dev/null
    now >>"$1"
    interrupted
    back "$1"
}
# unnoticed NAME CONTROL
unnoticed() {
    inject "$2"
    now >>"$1"
    picture 2
    let_go "$1" "$before"
}
"""
INTERRUPTIONS = ["unplugged", "fatal", "reqbufs", "streamon", "disconnected"]
UNNOTICED = ["flagged", "refused"]


@pytest.fixture(scope="module")
def faults(machine):
    """One stream and one viewer through all that happens: a session costs more than a fault."""
    return view(machine, f"{PUBLISH} --camera-log log", f"""{FAULTS}
        for round in $(seq {TIMES}); do
            unplugged
            failing fatal inject_fatal_streaming_error=1
            failing reqbufs inject_vidioc_reqbufs_error=1,inject_fatal_streaming_error=1
            failing streamon inject_vidioc_streamon_error=1,inject_fatal_streaming_error=1
            failing disconnected disconnect=1
            unnoticed flagged inject_v4l2_buf_flag_error
            unnoticed refused inject_vidioc_qbuf_error
        done""", timeout=1200)


def test_a_camera_is_published_and_watched(machine):
    result = machine.run(f"""{VIEWING}
        watch_stalls
        begin {PUBLISH}
        emisora watch {SERVER} --frames 75 --timeout 120 --save /out/picture.png >figures
        status=$?
        finish && exit $status""", timeout=240).checked()
    watched = json.loads(result.files["figures"])
    assert (watched["frameWidth"], watched["frameHeight"]) == (320, 180)
    assert watched["framesDecoded"] >= 75
    assert result.files["picture.png"].startswith(b"\x89PNG")


@pytest.mark.parametrize("fault", INTERRUPTIONS)
def test_after_an_interruption_the_viewer_has_a_new_picture_within_a_second(faults, fault):
    # Where the driver fails at once, a picture may be under way, and the failure comes to light with the next one.
    is_plugged = fault == "unplugged"
    waits = faults.waits(fault, under_way=0 if is_plugged else 1)
    assert len(waits) == TIMES
    assert max(waits) <= faults.limit(1 if is_plugged else 1 + 1 / RATE), sorted(waits)


@pytest.mark.parametrize("fault", UNNOTICED)
def test_a_fault_of_one_buffer_does_not_interrupt(faults, fault):
    waits = faults.waits(fault, under_way=1)
    assert len(waits) == TIMES
    # Two pictures, and one that is lost by each of these.
    assert max(waits) <= faults.limit(5 / RATE), sorted(waits)


def test_the_viewer_sees_one_stream_that_goes_on(faults):
    faults.assert_one_stream()
    # While the camera is away there are two pictures a second.
    assert faults.longest_silence() <= faults.limit(1)
    events = faults.files["events"].decode()
    assert events.count("The camera is back") == events.count("The stream goes on") == TIMES * len(INTERRUPTIONS)
    # From the first fault to its leave nothing changes for the viewer.
    after = events.partition("The stream goes on")[2]
    changes = [line for line in after.splitlines() if "viewer " in line]
    assert len(changes) == 1 and changes[0].startswith("A viewer left") and changes[0].endswith("; 0 now."), changes


def test_no_descriptor_and_no_buffer_is_lost(faults):
    faults.assert_nothing_leaked()


def test_each_frame_has_a_fate_and_damaged_ones_are_counted(faults):
    published = faults.published
    assert published["framesCaptured"] == published["framesEncoded"] + sum(published["framesDroppedByReason"].values())
    assert published["framesDroppedByReason"]["invalid"] == TIMES


def test_while_it_is_away_the_driver_is_left_alone(faults):
    # The tool's own log of what it asks: everything but that a driver has nothing to fetch, and then it has no node open.
    asked = [int(line.split()[0]) / 1e9 for line in faults.files["log"].decode().splitlines()[1:]]
    gone, returned = ([float(line) for line in faults.files[name].decode().split()] for name in ("gone", "unplugged"))
    assert len(gone) == TIMES
    count = sum(begin < time < end for begin, end in zip(gone, returned) for time in asked)
    assert count / sum(end - begin for begin, end in zip(gone, returned)) <= 100
