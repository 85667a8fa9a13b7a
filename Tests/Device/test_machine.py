"""The machine itself: what the camera's tests rely on."""
import stat
import time

import pytest

from machine import Image, Machine, MachineError, RunTimeout


def test_vivid_is_a_camera_at_video0(plain_machine):
    result = plain_machine.run("v4l2-ctl --list-devices").checked()
    assert "vivid" in result.stdout
    assert "/dev/video0" in result.stdout


def test_output_error_and_status_come_back_apart(plain_machine):
    result = plain_machine.run("echo out; echo err >&2; exit 42")
    assert (result.status, result.stdout, result.stderr) == (42, "out\n", "err\n")


def test_a_program_ended_by_a_signal_is_told_by_its_status(plain_machine):
    assert plain_machine.run("kill -SEGV $$").status == 128 + 11


def test_a_lot_of_output_arrives_whole(plain_machine):
    result = plain_machine.run("seq 1 200000").checked()
    assert result.stdout == "".join(f"{number}\n" for number in range(1, 200001))


def test_frames_are_captured_from_the_driver(plain_machine):
    result = plain_machine.run(
        "v4l2-ctl --set-fmt-video=width=320,height=180,pixelformat=NV12 --stream-mmap --stream-count=5 "
        "--stream-to=/out/frames").checked()
    frames = result.files["frames"]
    assert len(frames) == 5 * 320 * 180 * 3 // 2
    assert len(set(frames)) > 16, "vivid's test picture has many values"


@pytest.mark.parametrize("options, listing, expected", [
    ({"multiplanar": 1}, "--all", "Video Capture\n"),
    ({"multiplanar": 2}, "--all", "Video Capture Multiplanar\n"),
    ({"n_devs": 2}, "--list-devices", "vivid-001"),
    ({"input_types": 3}, "--list-formats-ext", "Stepwise"),
    ({"node_types": 0x101}, "--list-devices", "/dev/video1"),
])
def test_options_reach_the_driver(plain_machine, options, listing, expected):
    assert expected in plain_machine.run(f"v4l2-ctl {listing}", driver=options).checked().stdout


def test_options_the_driver_does_not_take_are_an_error_of_the_machine(plain_machine):
    with pytest.raises(MachineError, match="driver refused.*num_inputs=many"):
        plain_machine.run("true", driver={"num_inputs": "many"})


def test_without_the_driver_there_is_no_camera(plain_machine):
    assert plain_machine.run("ls /dev | grep video", camera=False).stdout == ""


def test_a_hanging_program_is_ended_and_what_it_did_is_shown(plain_machine):
    with pytest.raises(RunTimeout) as raised:
        plain_machine.run("echo begun; touch /out/kept; echo 'said by the kernel' >/dev/kmsg; exec sleep 1000", timeout=2)
    assert raised.value.result.stdout == "begun\n"
    assert "not ended within 2 s" in str(raised.value)
    assert raised.value.result.files == {"kept": b""}
    assert "sleep 1000" in raised.value.result.console, "its process list"
    assert "said by the kernel" in raised.value.result.console, "the kernel's messages"


@pytest.mark.parametrize("user, works", [("root", True), ("user", True), ("stranger", False)])
def test_the_camera_is_for_root_and_its_group(plain_machine, user, works):
    result = plain_machine.run("id -un; v4l2-ctl --get-fmt-video", user=user)
    assert result.stdout.startswith(f"{user}\n")
    assert ("Width/Height" in result.stdout) == works
    assert ("Permission denied" in result.stderr) != works


def test_a_camera_that_comes_back_has_the_rights_it_had(plain_machine):
    result = plain_machine.run("""
        cd /sys/bus/platform/drivers/vivid
        echo vivid.0 >unbind
        [ ! -e /dev/video0 ] || echo "still there"
        echo vivid.0 >bind
        until [ "$(stat -c %a:%G /dev/video0)" = 660:video ]; do usleep 10000; done
        """, timeout=20).checked()
    assert result.stdout == ""


def test_files_go_in_and_come_out(plain_machine):
    result = plain_machine.run(
        "mkdir /out/deep; tr a-z A-Z <word >/out/deep/word; cp bytes /out",
        files={"word": "slate", "bytes": bytes(range(256))}, user="user").checked()
    assert result.files == {"deep/word": b"SLATE", "bytes": bytes(range(256))}


def test_the_environment_is_handed_on(plain_machine):
    assert plain_machine.run('echo "$SAYING"', environment={"SAYING": "it's $HOME"}).stdout == "it's $HOME\n"


def test_no_run_sees_what_another_left(plain_machine):
    plain_machine.run("echo left >/tmp/left; v4l2-ctl --set-ctrl=brightness=7").checked()
    result = plain_machine.run("ls /tmp/left; v4l2-ctl --get-ctrl=brightness")
    assert "No such file" in result.stderr
    assert result.stdout != "brightness: 7\n"


def test_its_clock_is_the_hosts(plain_machine):
    assert abs(int(plain_machine.run("date +%s").checked().stdout) - time.time()) < 30


def test_equal_images_share_a_name_and_others_do_not(tmp_path):
    class SomeKernel:
        version = "1"

    def key(content, version="1"):
        program = tmp_path / "program"
        program.write_text(content)
        program.chmod(stat.S_IRWXU)
        SomeKernel.version = version
        return Image(programs=[program]).key(SomeKernel)

    assert key("#!/bin/sh") == key("#!/bin/sh")
    assert len({key("#!/bin/sh"), key("#!/bin/sh\n"), key("#!/bin/sh", version="2")}) == 3


def test_a_program_that_is_not_built_is_named(tmp_path):
    with pytest.raises(MachineError, match="missing-program is not there"):
        Machine(Image(programs=[tmp_path / "missing-program"])).run("true")
