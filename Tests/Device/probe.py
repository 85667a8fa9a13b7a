"""Runs the project's camera-probe in the machine while a script does things to the camera."""
import json

from scripting import FUNCTIONS
from stalls import Stalls


def run(machine, arguments, script, *, driver=None, timeout=120):
    """The probe's report and the run's result. The script begins with the first frame; the probe ends after it."""
    result = machine.run(
        f"{FUNCTIONS}\nwatch_stalls\ntouch events\ncamera-probe {arguments} >report 2>events &\nwriter=$!\nawait 'first frame' 1\n"
        f"{script}\nkill -TERM $writer\nwait $writer", driver=driver, timeout=timeout).checked()
    return json.loads(result.files["report"]), result


def capture(machine, arguments, *, before="", after="", driver=None):
    """As `run`, of a probe that ends by itself; the scripts come before and after it."""
    result = machine.run(
        f"{FUNCTIONS}\nwatch_stalls\n{before}\ncamera-probe {arguments} >report 2>events || exit\n{after}",
        driver=driver).checked()
    return json.loads(result.files["report"]), result


def times(result, name):
    return [float(line) for line in result.files[name].decode().split()]


def assert_sound(report, result):
    """What holds at the end of every run, whatever happened to the camera."""
    assert report["ledger"]["isBalanced"]
    assert report["frames"]["timestampsIncrease"]
    assert report["ledger"]["lostByDriver"] == report["system"]["sequenceGaps"] == report["lossesReported"]
    assert report["devicesOpenAfterStop"] == report["system"]["openDevices"] == 0
    assert report["system"]["mappings"] == 0
    assert report["descriptorsLeft"] == 0
    rate = report["modes"][-1]["rate"]
    began, took = report["stopBeganAt"], report["stopSeconds"]
    # A frame time, and no less than the shortest time that is told from a stall.
    assert Stalls.of(result).wait(began, began + took) <= max(1 / rate, 0.04)


def sensor_rate(report):
    """Frames a second that the driver made: those that arrived and those that it says were lost."""
    ledger = report["ledger"]
    return report["frames"]["capturedRate"] * (ledger["captured"] + ledger["lostByDriver"]) / ledger["captured"]
