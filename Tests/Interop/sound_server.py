"""A sound server without a sound card: where there is no device, Firefox does not run what renders sound."""
import os
import shutil
import socket
import subprocess
import tempfile
import time

from processes import LOGS


class SoundServer:
    """PulseAudio with a sink that drops what it plays; processes started afterwards use it."""

    def __init__(self):
        self._folder = tempfile.mkdtemp(prefix="emisora-sound-")
        path = f"{self._folder}/native"
        LOGS.mkdir(parents=True, exist_ok=True)
        with open(LOGS / "sound-server.err", "wb") as err:
            self._process = subprocess.Popen(
                ["pulseaudio", "-n", "--daemonize=no", "--exit-idle-time=-1", "--disable-shm", "--use-pid-file=no",
                 "--load=module-null-sink rate=48000",
                 f"--load=module-native-protocol-unix socket={path} auth-anonymous=1"],
                stdin=subprocess.DEVNULL, stdout=err, stderr=err,
                env={**os.environ, "XDG_RUNTIME_DIR": self._folder, "HOME": self._folder})
        deadline = time.monotonic() + 60
        while not self._listens(path):
            assert self._process.poll() is None and time.monotonic() < deadline, "pulseaudio did not start"
            time.sleep(0.02)
        self._previous = os.environ.get("PULSE_SERVER")
        os.environ["PULSE_SERVER"] = f"unix:{path}"

    @staticmethod
    def _listens(path):
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(path) == 0

    def close(self):
        if self._previous is None:
            del os.environ["PULSE_SERVER"]
        else:
            os.environ["PULSE_SERVER"] = self._previous
        self._process.terminate()
        self._process.wait(timeout=10)
        shutil.rmtree(self._folder, ignore_errors=True)
