"""A stream that is published in the machine, and what a viewer there sees of it."""
import json

from scripting import FUNCTIONS
from stalls import Stalls

SERVER = "ws://127.0.0.1:8080/demo"

# Shell functions over those of scripting.py. begin COMMAND …: starts server, publisher and viewer, waits for pictures.
VIEWING = FUNCTIONS + f"""
begin() {{
    watch_stalls
    emisora serve --host 127.0.0.1 --port 8080 2>serve &
    until nc 127.0.0.1 8080 </dev/null 2>/dev/null; do usleep 50000; done
    touch events watch
    # What is written to descriptor 5 reaches the publisher, which is at its end when that is closed.
    mkfifo commands
    exec 5<>commands
    "$@" <commands >published 2>events &
    writer=$!
    camera-probe watch {SERVER} >watched 2>watch &
    watcher=$!
    picture 10
}}
finish() {{ kill -TERM $watcher; wait $watcher; kill -TERM $writer; wait $writer; }}
# Until the viewer has decoded so many more pictures that differ from the one before, or that do not.
picture() {{ await_more ' new picture' "${{1:-1}}" watch; }}
still() {{ await_more ' same picture' "${{1:-1}}" watch; }}
# What the publisher holds: descriptors, and pieces of the driver's memory.
held() {{ echo "$(ls /proc/$writer/fd | wc -l) $(grep -c /dev/video /proc/$writer/maps)"; }}
# let_go WHAT BEFORE: within five seconds it holds what it held before, or the file "leaks" says so.
let_go() {{
    tries=0
    until [ "$(held)" = "$2" ]; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || {{ echo "after $1: $(held) instead of $2" >>leaks; return; }}
        usleep 50000
    done
}}
"""


class Viewed:
    """What came of a run: what the viewer saw, what the publisher counted, and when the machine stood still."""

    def __init__(self, result):
        self.files = result.files
        watched = json.loads(result.files["watched"])
        self.pictures, self.streams = watched["pictures"], watched["streams"]
        self.published = json.loads(result.files["published"].decode().splitlines()[-1])
        self.stalls = Stalls.of(result)

    def waits(self, name, *, under_way=0):
        """From each time in a file to the next picture of the camera, without the machine's stalls.

        `under_way`: so many pictures may have been on their way to the viewer at that time, and do not count.
        """
        news = [picture["at"] for picture in self.pictures if picture["isNew"]]
        times = [float(line) for line in self.files[name].decode().split()]
        return [self.stalls.wait(time, [new for new in news if new > time][under_way]) for time in times]

    def longest_silence(self):
        """The longest time without any picture, without the machine's stalls."""
        ats = [picture["at"] for picture in self.pictures]
        return max(self.stalls.wait(*pair) if pair[1] - pair[0] > 0.5 else 0 for pair in zip(ats, ats[1:]))

    def assert_one_stream(self):
        """One source from first to last, its numbers and times growing, its times those of the clock on the wall."""
        video = max(self.streams, key=lambda stream: stream["packets"])
        assert [stream["ssrc"] for stream in self.streams if stream["payloadType"] == video["payloadType"]] == [video["ssrc"]]
        assert (video["backwardNumbers"], video["backwardTimes"]) == (0, 0)
        assert abs(video["duration"] - (self.pictures[-1]["at"] - self.pictures[0]["at"])) < 2

    def assert_nothing_leaked(self):
        assert "leaks" not in self.files, self.files["leaks"].decode()


def view(machine, command, script, *, before="", driver=None, timeout=240):
    """Runs the script while the command publishes and a viewer watches; another one before that."""
    result = machine.run(f"{VIEWING}\n{before}\nbegin {command}\n{script}\nfinish", driver=driver, timeout=timeout).checked()
    return Viewed(result)
