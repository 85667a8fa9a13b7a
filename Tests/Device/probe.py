"""Runs the project's camera-probe in the machine while a script does things to the camera."""
import json

from scripting import FUNCTIONS


def run(machine, arguments, script, *, driver=None, timeout=120):
    """The probe's report and the run's result. The script begins with the first frame; the probe ends after it."""
    result = machine.run(
        f"{FUNCTIONS}\ntouch events\ncamera-probe {arguments} >report 2>events &\nwriter=$!\nawait 'first frame' 1\n"
        f"{script}\nkill -TERM $writer\nwait $writer", driver=driver, timeout=timeout).checked()
    return json.loads(result.files["report"]), result


def times(result, name):
    return [float(line) for line in result.files[name].decode().split()]


def assert_sound(report):
    """What holds at the end of every run, whatever happened to the camera."""
    assert report["ledger"]["isBalanced"]
    assert report["frames"]["timestampsIncrease"]
    assert report["ledger"]["lostByDriver"] == report["system"]["sequenceGaps"] == report["lossesReported"]
    assert report["devicesOpenAfterStop"] == report["system"]["openDevices"] == 0
    assert report["system"]["mappings"] == 0
    assert report["descriptorsLeft"] == 0
    rate = report["modes"][-1]["rate"]
    # Within a frame's time, and what a busy host takes to let two threads meet.
    assert report["stopSeconds"] <= 1 / rate + 0.15


def sensor_rate(report):
    """Frames a second that the driver made: those that arrived and those that it says were lost."""
    ledger = report["ledger"]
    return report["frames"]["capturedRate"] * (ledger["captured"] + ledger["lostByDriver"]) / ledger["captured"]
