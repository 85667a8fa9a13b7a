"""emisora devices: the explained choice from a file, for people and for machines; nothing here needs a camera."""
import json

import pytest

from processes import Process

CAMERA = {
    "label": "desk camera", "driver": "uvcvideo", "bus": "usb", "multiplanar": False,
    "modes": [
        {"fourcc": "YUYV", "sizes": [
            {"type": "discrete", "w": 640, "h": 480, "intervals": [{"num": 1, "den": 30}, {"num": 1001, "den": 30000}]},
            {"type": "discrete", "w": 1280, "h": 720, "intervals": [{"num": 1, "den": 10}]},
        ]},
        {"fourcc": "MJPG", "sizes": [
            {"type": "discrete", "w": 1280, "h": 720, "intervals": [{"num": 1, "den": 30}]},
        ]},
        {"fourcc": "H264", "sizes": []},
    ],
}


@pytest.fixture
def devices(started, tmp_path):
    def run(*arguments, modes=CAMERA):
        path = tmp_path / "camera.json"
        path.write_text(modes if isinstance(modes, str) else json.dumps(modes))
        process = started(Process, "devices", *[path if a == "FILE" else a for a in arguments])
        return process.wait(), process

    return run


def test_the_whole_output_is_json_with_the_choice_its_reason_and_all_others(devices):
    code, process = devices("--explain", "--json", "--modes", "FILE", "--size", "1280x720", "--fps", "30")
    assert code == 0 and process.stderr() == ""
    explained = json.loads(process.stdout())
    assert explained["chosen"] == {"fourcc": "MJPG", "w": 1280, "h": 720, "num": 1, "den": 30}
    assert explained["reason"] == "1280x720 as wished; 30 fps as wished; YUYV stops at 10 fps there"
    candidates = explained["candidates"]
    assert [c["fourcc"] for c in candidates] == ["YUYV", "YUYV", "YUYV", "MJPG", "H264"]
    assert max(candidates, key=lambda c: c["score"])["chosen"]
    assert all(c["reason"] for c in candidates)
    assert candidates[-1]["score"] == 0 and candidates[-1]["num"] is None


def test_broadcast_rates_stay_what_they_are(devices):
    code, process = devices("--json", "--modes", "FILE", "--size=640x480", "--fps=29.97")
    assert code == 0
    assert json.loads(process.stdout())["chosen"] == {"fourcc": "YUYV", "w": 640, "h": 480, "num": 1001, "den": 30000}


def test_no_choice_is_null_with_its_reason(devices):
    code, process = devices("--json", "--explain", "--modes", "FILE", modes={"modes": [{"fourcc": "H264", "sizes": []}]})
    assert code == 0
    explained = json.loads(process.stdout())
    assert explained["chosen"] is None and explained["reason"].startswith("no decodable format")


def test_people_get_the_choice_first_and_each_mode_in_a_line(devices):
    code, process = devices("--modes", "FILE", "--size", "1280x720", "--fps", "30")
    assert code == 0
    lines = process.stdout().splitlines()
    assert lines[1] == "chosen  MJPG 1280x720 at 30 fps"
    assert "YUYV stops at 10 fps" in lines[2]
    assert lines[5].startswith("*") and lines[5].endswith("chosen")


def test_a_file_that_is_no_list_is_one_line_with_the_place_and_exit_code_two(devices):
    for text, place in [
        ("{", "byte 1"), ('{"modes": [{"sizes": []}]}', "modes[0].fourcc"), ('{"modes": 1}', "modes"),
        ('{"modes": [{"fourcc": "NV12", "sizes": [{"w": -1, "h": 1}]}]}', "modes[0].sizes[0].w"),
    ]:
        code, process = devices("--json", "--explain", "--modes", "FILE", modes=text)
        assert code == 2 and process.stdout() == ""
        lines = process.stderr().strip().splitlines()
        assert len(lines) == 1 and place in lines[0], lines


def test_wrong_arguments_name_the_argument(devices):
    for arguments, named in [
        (["--fps", "0"], "--fps"), (["--size", "big"], "--size"), (["--json=yes"], "--json"), (["a", "b"], "b"),
        (["--modes", "/nowhere/at/all.json"], "/nowhere/at/all.json"), (["--controls", "--explain"], "--controls"),
        (["--modes", "FILE", "/dev/video0"], "/dev/video0"),
    ]:
        code, process = devices(*arguments)
        lines = process.stderr().strip().splitlines()
        assert code == 2 and len(lines) == 1 and named in lines[0], (arguments, lines)


def test_microphones_are_a_list_of_their_own(started, tmp_path):
    configuration = tmp_path / "asound.conf"
    configuration.write_text('</usr/share/alsa/alsa.conf>\npcm.desk { type null hint { show on description "Desk" } }\n')
    process = started(Process, "devices", "--json", env={"ALSA_CONFIG_PATH": str(configuration)})
    assert process.wait() == 0 and process.stderr() == ""
    listed = json.loads(process.stdout())
    assert {"device": "desk", "label": "Desk"} in listed["microphones"]
    assert "null" not in [microphone["device"] for microphone in listed["microphones"]]


def test_a_device_that_is_none_is_said_in_words(devices):
    code, process = devices("/dev/null")
    assert code == 1 and "does not capture video" in process.stderr()
    code, process = devices("/dev/video999999")
    assert code == 1 and "no camera" in process.stderr()
