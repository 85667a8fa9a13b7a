"""Camera, publisher, signaling server and viewer, all in the machine."""
import json

PUBLISH = """
cd /out
emisora serve --host 127.0.0.1 --port 8080 2>serve &
until nc 127.0.0.1 8080 </dev/null 2>/dev/null; do usleep 50000; done
emisora publish ws://127.0.0.1:8080/demo --video camera --size 320x180 --fps 15 --audio none >published 2>publish &
publisher=$!
finish() { kill -TERM $publisher; wait $publisher; }
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


def test_the_viewer_sees_the_stream_go_on_while_the_camera_is_unplugged(machine):
    result = machine.run(f"""{PUBLISH}
        emisora watch ws://127.0.0.1:8080/demo --frames 200 --timeout 100 >watched 2>watch &
        watcher=$!
        until grep -q "viewer joined" publish; do usleep 20000; done
        for count in 1 2 3; do
            until [ "$(grep -c ' fps ' publish)" -ge $((6 * count)) ]; do usleep 50000; done
            echo vivid.0 >/sys/bus/platform/drivers/vivid/unbind
            until [ "$(grep -c 'interrupted' publish)" -ge $count ]; do usleep 20000; done
            echo vivid.0 >/sys/bus/platform/drivers/vivid/bind
            until [ "$(grep -c 'is back' publish)" -ge $count ]; do usleep 20000; done
        done
        wait $watcher
        status=$?
        finish && exit $status""", timeout=180).checked()
    published, watched = figures(result)
    assert watched["framesDecoded"] >= 200
    assert "The stream ended" not in result.files["watch"].decode(), "no new session, no new stream"
    assert published["subscribersTotal"] == 1
    assert_every_frame_has_a_fate(published)
