"""The samples, and the sources that the command line names: each is published, and what it shows arrives."""
import os
import subprocess
import time

import pytest

from processes import LOGS, ROOT, Process, sample, watch_until_heard

SAMPLES = sorted(path.parent.name for path in ROOT.glob("samples/*/main.swift"))


def watch(started, server, room, *arguments, frames=10):
    process = started(Process, "watch", server.room(room), "--frames", frames, "--timeout", 60, *arguments)
    assert process.wait(90) == 0, process.stderr()
    return process.figures()


class Child:
    """Another program, ended with its test; its output is kept."""

    def __init__(self, *command, env=None, pass_fds=()):
        LOGS.mkdir(parents=True, exist_ok=True)
        self.log = LOGS / f"{os.path.basename(command[0])}.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=pass_fds,
                env={**os.environ, **(env or {})})

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


@pytest.fixture
def display(started, tmp_path):
    """A screen of 320x240 with a text that runs on it."""
    reading, writing = os.pipe()
    server = started(
        Child, "Xvfb", "-displayfd", str(writing), "-screen", "0", "320x240x24", "-nolisten", "tcp",
        pass_fds=[writing])
    os.close(writing)
    with os.fdopen(reading) as answer:
        number = answer.readline().strip()
    assert number, server.log.read_text()
    name = f":{number}"
    # The program in it is started when the window is there.
    shown = tmp_path / "shown"
    terminal = started(
        Child, "xterm", "-display", name, "-title", "Clock", "-e", "sh", "-c",
        f"touch {shown}; while :; do date +%N; done")
    deadline = time.monotonic() + 30
    while not shown.exists():
        assert terminal.process.poll() is None and time.monotonic() < deadline, terminal.log.read_text()
        time.sleep(0.02)
    return name


def test_samples_are_short_enough_to_be_read_at_once():
    assert len(SAMPLES) >= 6
    for name in SAMPLES:
        lines = (ROOT / "samples" / name / "main.swift").read_text().splitlines()
        assert len(lines) <= 80, f"{name} has {len(lines)} lines"


@pytest.mark.parametrize("name", ["BasicVideoCapturer", "CustomCapturer", "PushFrames", "ScreenPublisher"])
def test_samples_publish_what_they_promise(server, started, display, name):
    program = started(Child, sample(name), server.room(name), env={"DISPLAY": display})
    figures = watch(started, server, name)
    assert figures["frameWidth"] > 0
    assert program.process.poll() is None, program.log.read_text()
    if name == "ScreenPublisher":
        assert (figures["frameWidth"], figures["frameHeight"]) == (320, 240)


def test_a_screen_and_a_window_of_it_are_published(server, started, publish, display):
    publish("screen", "--video", f"screen:{display}", "--audio", "none")
    figures = watch(started, server, "screen")
    assert (figures["frameWidth"], figures["frameHeight"]) == (320, 240)
    window = started(
        Process, "publish", server.room("window"), "--video", "screen:Clock", "--audio", "none",
        env={"DISPLAY": display})
    window.wait_for_text("Publishing")
    figures = watch(started, server, "window")
    assert figures["frameWidth"] != 320 and figures["frameHeight"] != 240


def test_a_wav_file_is_heard(server, started, publish, tmp_path):
    path = tmp_path / "tone.wav"
    subprocess.run(
        ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "sine=f=440:r=44100:d=1,volume=4", path], check=True)
    publish("wav", "--video", "noise", "--audio", f"wav:{path}")
    watch_until_heard(started, server.room("wav"), 0.1, "--frames", 30)


def test_a_microphone_is_published(server, started, tmp_path):
    configuration = tmp_path / "asound.conf"
    configuration.write_text("</usr/share/alsa/alsa.conf>\npcm.desk { type null }\n")
    publisher = started(
        Process, "publish", server.room("mic"), "--video", "noise", "--audio", "mic:desk",
        env={"ALSA_CONFIG_PATH": str(configuration)})
    publisher.wait_for_text("Publishing")
    figures = watch(started, server, "mic", frames=30)
    assert figures["totalSamplesReceived"] > 24_000
