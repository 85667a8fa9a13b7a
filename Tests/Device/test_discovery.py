"""`emisora devices` against v4l2-ctl, on the same driver."""
import json

import pytest

import modes

# A webcam in both APIs, inputs with ranges of sizes, two cameras, a camera with the driver's other kinds of node.
CAMERAS = {
    "webcam": {},
    "multiplanar": {"multiplanar": 2},
    "stepwise": {"input_types": 1},
    "hdmi": {"input_types": 3},
    "two": {"n_devs": 2, "node_types": "1,1", "input_types": "0,3", "num_inputs": "1,1", "multiplanar": "1,2"},
    "with other nodes": {"node_types": 0xE1D3D},
}


@pytest.mark.parametrize("driver", CAMERAS.values(), ids=CAMERAS)
def test_modes_are_those_that_v4l2_ctl_lists(machine, driver):
    result = machine.run("""
        emisora devices --json || exit
        for node in /dev/video*; do
            v4l2-ctl -d $node --info >/out/${node##*/}.info
            v4l2-ctl -d $node --list-formats-ext >/out/${node##*/}.modes
        done""", driver=driver).checked()
    devices = {device["device"]: device for device in result.json()["devices"]}
    # What a node does itself is listed after "Device Caps"; before are the device's nodes together.
    cameras = {
        f"/dev/{name.removesuffix('.info')}": modes.of_v4l2_ctl(result.files[name.replace(".info", ".modes")].decode())
        for name, text in result.files.items()
        if name.endswith(".info") and "\t\tVideo Capture" in text.decode().partition("Device Caps")[2]}
    assert len(cameras) == driver.get("n_devs", 1)
    assert devices.keys() == cameras.keys(), "other nodes are left out, no camera is"
    for node, expected in cameras.items():
        assert len(expected) > 40
        assert modes.of_emisora(devices[node]) == expected


def test_a_range_of_sizes_has_the_intervals_that_v4l2_ctl_lists_for_one_of_them(machine):
    result = machine.run(
        "emisora devices --json; v4l2-ctl --list-frameintervals=width=1280,height=720,pixelformat=NV12 >/out/intervals",
        driver=CAMERAS["hdmi"]).checked()
    expected = modes.intervals_of_v4l2_ctl(result.files["intervals"].decode())
    assert len(expected) == 1
    assert modes.intervals_of_ranges(result.json()["devices"][0]) == {expected}


def test_a_camera_that_may_not_be_opened_says_so(machine):
    result = machine.run("emisora devices", user="stranger")
    assert "video" in result.stdout + result.stderr
    assert "/dev/video0" in result.stdout + result.stderr


def test_without_a_camera_the_list_is_empty(machine):
    assert machine.run("emisora devices --json", camera=False).checked().json()["devices"] == []


def test_the_choice_is_what_the_driver_then_sets(machine):
    result = machine.run("""
        emisora devices --json --explain --size 640x360 --fps 25 | tee /out/choice >/dev/null
        camera-probe --size 640x360 --fps 25 --seconds 1""").checked()
    chosen = json.loads(result.files["choice"])["chosen"]
    assert (chosen["fourcc"], chosen["w"], chosen["h"], chosen["num"], chosen["den"]) == ("NV12", 640, 360, 1, 25)
    assert result.json()["modes"] == [{"fourcc": "NV12", "width": 640, "height": 360, "rate": 25}]
