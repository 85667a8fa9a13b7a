"""emisora devices against the kernel's test driver: what it lists is what v4l2-ctl lists."""
import json
import re

import pytest

from modes import intervals_of_ranges, intervals_of_v4l2_ctl, of_emisora, of_v4l2_ctl

# Capture, output, radio, metadata and touch nodes, each kind that the driver has.
ALL_NODES = 0xE1D3D


def devices(machine, *arguments, **options):
    result = machine.run(" ".join(["emisora", "devices", "--json", *arguments]), **options).checked()
    assert result.stderr == ""
    return json.loads(result.stdout)


@pytest.mark.parametrize("options", [
    {}, {"multiplanar": 2}, {"input_types": 1}, {"input_types": 3}, {"n_devs": 2, "node_types": f"{ALL_NODES},{ALL_NODES}"},
], ids=["webcam", "multi-planar", "television", "HDMI", "two with all nodes"])
def test_every_mode_is_the_one_that_v4l2_ctl_lists(machine, options):
    script = "emisora devices --json; for node in /dev/video*; do echo; echo $node; v4l2-ctl -d $node --list-formats-ext; done"
    output, *listings = re.split(r"\n(?=/dev/video)", machine.run(script, driver=options).checked().stdout)
    listed = dict(listing.split("\n", 1) for listing in listings)
    cameras = json.loads(output)["devices"]
    assert len(cameras) == options.get("n_devs", 1)
    for camera in cameras:
        assert camera["multiplanar"] == (options.get("multiplanar") == 2)
        ours, theirs = of_emisora(camera), of_v4l2_ctl(listed.pop(camera["device"]))
        assert len(ours) > 50 and ours == theirs
    # What is left are nodes that capture no video.
    assert not any(of_v4l2_ctl(text) for text in listed.values())
    assert (len(listed) > 0) == ("node_types" in options)


def test_a_range_of_sizes_has_the_intervals_that_v4l2_ctl_lists_for_one_of_them(machine):
    result = machine.run(
        "emisora devices --json; v4l2-ctl --list-frameintervals=width=1280,height=720,pixelformat=NV12 >/out/intervals",
        driver={"input_types": 3}).checked()
    expected = intervals_of_v4l2_ctl(result.files["intervals"].decode())
    assert len(expected) == 1
    assert intervals_of_ranges(result.json()["devices"][0]) == {expected}


def test_every_number_among_the_controls_is_the_one_that_v4l2_ctl_lists(machine):
    script = "emisora devices --json --controls /dev/video0; v4l2-ctl --list-ctrls"
    output, listing = machine.run(script).checked().stdout.split("\n", 1)
    listed = {}
    for line in listing.splitlines():
        if found := re.fullmatch(r"\s*(\w+) 0x([0-9a-f]{8}) \((int|bool|menu)\s*\)\s*: (.*)", line):
            listed[found.group(1)] = {"id": int(found.group(2), 16)} | {
                key: int(value) for key, value in re.findall(r"(min|max|step|default)=(-?\d+)", found.group(4))}
    ours = {control["name"]: control for control in json.loads(output)["controls"]}
    assert len(listed) > 20
    for name, numbers in listed.items():
        assert {key: ours[name][key] for key in numbers} == numbers, name


@pytest.mark.parametrize("size, rate, chosen", [
    ("320x180", "60", ("NV12", 320, 180, 1, 60)),
    ("640x480", "25", ("NV12", 640, 480, 1, 25)),
    ("640x480", "30", ("NV12", 640, 480, 1, 25)),
    ("1280x720", "12.5", ("NV12", 1280, 720, 2, 25)),
])
def test_the_choice_is_explained_for_a_device(machine, size, rate, chosen):
    explained = devices(machine, "--explain", "--size", size, "--fps", rate, "/dev/video0")
    assert explained["device"] == "/dev/video0"
    assert tuple(explained["chosen"][key] for key in ("fourcc", "w", "h", "num", "den")) == chosen
    assert len([candidate for candidate in explained["candidates"] if candidate["chosen"]]) == 1


def test_the_choice_is_what_the_driver_then_sets(machine):
    result = machine.run("""
        emisora devices --json --explain --size 640x360 --fps 25 >/out/explained || exit
        camera-probe --size 640x360 --fps 25 --seconds 1""").checked()
    chosen = json.loads(result.files["explained"])["chosen"]
    assert (chosen["fourcc"], chosen["w"], chosen["h"], chosen["num"], chosen["den"]) == ("NV12", 640, 360, 1, 25)
    assert result.json()["modes"] == [{"fourcc": "NV12", "width": 640, "height": 360, "rate": 25}]


def test_a_camera_that_may_not_be_opened_is_named(machine):
    refused = machine.run("emisora devices --json", user="stranger")
    assert "/dev/video0" in refused.stdout
    assert "video" in refused.stdout.replace("/dev/video0", ""), "the group that may"


def test_without_a_camera_the_list_is_empty(machine):
    assert devices(machine, camera=False) == {"devices": [], "microphones": [], "refused": []}
