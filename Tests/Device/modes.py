"""The list that `v4l2-ctl --list-formats-ext` prints, and what `emisora devices --json` gives, in one form to compare.

That form: (fourcc, size, [intervals]) in the driver's order, texts as v4l2-ctl writes them, which has times rounded to
milliseconds and rates to thousandths.
"""
import re


def of_v4l2_ctl(text):
    modes = []
    for line in text.splitlines():
        if found := re.fullmatch(r"\s*\[\d+\]: '(.{4,7})' \(.*\)", line):
            fourcc = found.group(1)
            modes.append((fourcc, None, []))
        elif found := re.fullmatch(r"\s*Size: (Discrete|Stepwise|Continuous) (.*)", line):
            # The line of a format is its entry only when it lists no sizes.
            if modes[-1][1] is None:
                modes.pop()
            modes.append((fourcc, found.group(2), []))
        elif found := re.fullmatch(r"\s*Interval: \w+ (.*)", line):
            modes[-1][2].append(found.group(1))
    return modes


def intervals_of_v4l2_ctl(text):
    """What `v4l2-ctl --list-frameintervals` prints for one size."""
    return tuple(re.findall(r"Interval: \w+ (.*)", text))


def of_emisora(device):
    modes = []
    for mode in device["modes"]:
        if not mode["sizes"]:
            modes.append((mode["fourcc"], None, []))
        for size in mode["sizes"]:
            # v4l2-ctl does not ask for intervals within a range of sizes.
            intervals = size["intervals"] if size["type"] == "discrete" else []
            modes.append((mode["fourcc"], _size(size), [_interval(interval) for interval in intervals]))
    return modes


def intervals_of_ranges(device):
    """The intervals of all ranges of sizes that a device has, each once."""
    sizes = [size for mode in device["modes"] for size in mode["sizes"] if size["type"] != "discrete"]
    return {tuple(map(_interval, size["intervals"])) for size in sizes}


def _size(size):
    if size["type"] == "discrete":
        return f"{size['w']}x{size['h']}"
    ends = f"{size['minW']}x{size['minH']} - {size['maxW']}x{size['maxH']}"
    return ends if size["type"] == "continuous" else f"{ends} with step {size['stepW']}/{size['stepH']}"


def _interval(interval):
    if interval.get("type", "discrete") == "discrete":
        return _time_and_rate(interval["num"], interval["den"])
    ends = [_seconds(interval[f"{end}Num"], interval[f"{end}Den"]) for end in ("min", "max")]
    rates = [_rate(interval[f"{end}Num"], interval[f"{end}Den"]) for end in ("max", "min")]
    step = f" with step {_seconds(interval['stepNum'], interval['stepDen'])}" if interval["type"] == "stepwise" else ""
    return f"{ends[0]} - {ends[1]}{step} ({rates[0]}-{rates[1]} fps)"


def _time_and_rate(numerator, denominator):
    return f"{_seconds(numerator, denominator)} ({_rate(numerator, denominator)} fps)"


def _seconds(numerator, denominator):
    return f"{numerator / denominator:.3f}s"


def _rate(numerator, denominator):
    return f"{denominator / numerator:.3f}"
