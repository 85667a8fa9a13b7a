"""Camera, publisher, signaling server and viewer, all in the machine."""
import json

from scripting import FUNCTIONS

PUBLISH = FUNCTIONS + """
emisora serve --host 127.0.0.1 --port 8080 2>serve &
until nc 127.0.0.1 8080 </dev/null 2>/dev/null; do usleep 50000; done
emisora publish ws://127.0.0.1:8080/demo --video camera --size 320x180 --fps 15 --audio none >published 2>events &
writer=$!
finish() { kill -TERM $writer; wait $writer; }
"""


def figures(result):
    """The publisher's last figures and the viewer's."""
    return (json.loads(result.files[name].decode().splitlines()[-1]) for name in ("published", "watched"))


def assert_every_frame_has_a_fate(published):
    dropped = sum(published["framesDroppedByReason"].values())
    assert published["framesCaptured"] == published["framesEncoded"] + dropped


def test_a_camera_is_published_and_watched(machine):
    result = machine.run(f"""{PUBLISH}
        emisora watch ws://127.0.0.1:8080/demo --frames 75 --timeout 60 --save /out/picture.png >watched
        status=$?
        finish && exit $status""", timeout=120).checked()
    published, watched = figures(result)
    assert (watched["frameWidth"], watched["frameHeight"]) == (320, 180)
    assert watched["framesDecoded"] >= 75
    assert_every_frame_has_a_fate(published)
    assert result.files["picture.png"].startswith(b"\x89PNG")


def test_the_viewer_sees_the_stream_go_on_whatever_happens_to_the_camera(machine):
    # Three times each fault of the driver: those that interrupt, those that do not, and the camera pulled out.
    result = machine.run(f"""{PUBLISH}
        emisora watch ws://127.0.0.1:8080/demo --frames 1000000 --timeout 1000 >watched 2>watch &
        watcher=$!
        await "viewer joined" 1
        count=0
        interrupted() {{ count=$((count + 1)); await 'The stream goes on' $count; }}
        back() {{ await "is back" $count; await_more " fps " 1; }}
        for round in 1 2 3; do
            unplug; interrupted; plug_in; back
            inject inject_fatal_streaming_error; interrupted; back
            inject inject_vidioc_reqbufs_error; inject inject_fatal_streaming_error; interrupted; back
            inject inject_vidioc_streamon_error; inject inject_fatal_streaming_error; interrupted; back
            inject disconnect; interrupted; back
            inject inject_v4l2_buf_flag_error; await_more " fps " 1
            inject inject_vidioc_qbuf_error; await_more " fps " 1
        done
        kill -TERM $watcher
        wait $watcher
        finish""", timeout=240).checked()
    published, watched = figures(result)
    assert result.files["events"].decode().count("The camera is back") == 15
    # While it is away there are two a second.
    assert watched["framesDecoded"] > 3 * published["duration"]
    assert published["framesDroppedByReason"]["invalid"] == 3
    assert "The stream ended" not in result.files["watch"].decode(), "no new session, no new stream"
    viewers = [line for line in result.files["events"].decode().splitlines() if "viewer " in line]
    assert published["subscribersTotal"] == 1, viewers
    assert_every_frame_has_a_fate(published)
