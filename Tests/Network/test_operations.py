"""A server and a publisher in production: metrics by Prometheus' own parser, JSON logs, draining, configuration, man pages,
the systemd unit. All of it with the real programs."""
import datetime
import json
import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request

import jwt
import pytest
from prometheus_client.parser import text_string_to_metric_families
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from processes import ROOT, Process, Server, binary

NAMES = ["emisora", "publish", "watch", "devices", "serve", "token", "signaling-server"]
LEVELS = ["debug", "info", "warning", "error"]


def joined(server):
    """The connection of a participant, for the test to close."""
    link = connect(server.room("demo"), subprotocols=["emisora.v1"], legacy=True)
    link.send(json.dumps({"type": "join", "version": 1, "room": "demo"}))
    assert json.loads(link.recv(timeout=60))["type"] == "welcome"
    return link


def http(url, method="GET", data=None, **headers):
    """Status, headers and text."""
    request = urllib.request.Request(url, data=data, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, response.headers, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def metrics(url):
    """Samples by name and labels, read by Prometheus' own parser; the same name has one help and one type."""
    status, headers, text = http(url)
    assert status == 200 and headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    families = list(text_string_to_metric_families(text))
    assert len({family.name for family in families}) == len(families)
    samples = {}
    for family in families:
        assert family.documentation and family.type in ("counter", "gauge", "histogram"), family.name
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in samples, key
            samples[key] = sample.value
    return samples


def value(samples, name, **labels):
    return samples.get((name, tuple(sorted(labels.items()))))


def until(condition, what, seconds=30):
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def records(text):
    """Lines of a JSON log, each with what each must have."""
    found = []
    for line in text.splitlines():
        record = json.loads(line)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", record["time"]), record
        told = datetime.datetime.fromisoformat(record["time"].replace("Z", "+00:00"))
        assert abs((datetime.datetime.now(datetime.timezone.utc) - told).total_seconds()) < 600
        assert record["level"] in LEVELS and record["message"], record
        assert re.fullmatch(r"[a-zA-Z]+(\.[a-zA-Z]+)*", record["event"]), record
        found.append(record)
    assert found
    return found


def events(text):
    return {record["event"] for record in records(text)}


def test_a_call_in_the_metrics_of_both_sides(started):
    server = started(Server)
    publisher = started(Process, "publish", server.room("demo"), "--video", "pattern", "--stream", 'main',
                        "--metrics", "127.0.0.1:0")
    url = publisher.wait_for_text(r"Metrics at (http://127\.0\.0\.1:\d+/metrics)").group(1)
    publisher.wait_for_text("Publishing")
    watcher = started(Process, "watch", server.room("demo"), "--frames", 100000, "--timeout", 120)

    def live():
        samples = metrics(url)
        rate = value(samples, "emisora_publisher_frames_per_second", stream="main")
        known = value(samples, "emisora_publisher_round_trip_time_seconds", stream="main") is not None
        return samples if rate and known else None

    samples = until(live, "no rate in the publisher's metrics")
    assert value(samples, "emisora_publisher_viewers", stream="main") == 1
    assert value(samples, "emisora_publisher_frames_encoded_total", stream="main") > 0
    assert value(samples, "emisora_publisher_sent_bytes_total", stream="main") > 1000
    assert value(samples, "emisora_publisher_target_bits_per_second", stream="main") > 10_000
    assert 0 <= value(samples, "emisora_publisher_fraction_lost", stream="main") <= 1
    # Before anybody watched nothing was encoded.
    assert value(samples, "emisora_publisher_frames_dropped_total", stream="main", reason="noSubscribers") >= 0
    assert value(samples, "process_resident_memory_bytes") > 1_000_000

    samples = metrics(server.http("/metrics"))
    for name, expected in (("rooms", 1), ("participants", 2), ("streams", 1), ("subscriptions", 1), ("websockets", 2)):
        assert value(samples, f"emisora_server_{name}") == expected, name
    assert value(samples, "emisora_server_messages_received_total", type="join") == 2
    assert value(samples, "emisora_server_messages_received_total", type="subscribe") == 1
    assert value(samples, "emisora_server_join_duration_seconds_count") == 2
    assert value(samples, "emisora_server_join_duration_seconds_bucket", le="+Inf") == 2
    # Labels are from fixed lists: whoever makes up rooms and streams makes no more samples.
    labels = {label for _, pairs in samples for label, _ in pairs}
    assert labels <= {"type", "code", "reason", "status", "kind", "from", "door", "le"}
    watcher.interrupt()
    assert publisher.interrupt() == 0


def test_a_publisher_is_ready_while_viewers_find_it(started):
    server = started(Server)
    publisher = started(Process, "publish", server.room("demo"), "--video", "pattern", "--metrics", "127.0.0.1:0",
                        "--auto-retry-delay", 0.1)
    url = publisher.wait_for_text(r"Metrics at (http://127\.0\.0\.1:\d+)/metrics").group(1)
    publisher.wait_for_text("Publishing")
    assert http(url + "/readyz")[0] == 200
    server.kill()
    until(lambda: http(url + "/readyz")[0] == 503, "ready without a server")
    # There is nothing that a restart of the publisher would mend.
    assert http(url + "/healthz")[0] == 200
    samples = metrics(url + "/metrics")
    assert value(samples, "emisora_publisher_signaling_connected") == 0
    assert value(samples, "emisora_publisher_signaling_losses_total") == 1
    started(Server, port=server.port)
    until(lambda: http(url + "/readyz")[0] == 200, "not ready again")
    assert value(metrics(url + "/metrics"), "emisora_publisher_signaling_connected") == 1
    assert publisher.interrupt() == 0


def test_metrics_do_not_grow_with_what_clients_send(started):
    server = started(Server)
    with connect(server.room("demo"), subprotocols=["emisora.v1"]) as link:
        def say(**message):
            link.send(json.dumps(message))
            return json.loads(link.recv(timeout=10))

        assert say(type="join", version=1, room="demo")["type"] == "welcome"
        for number in range(3):
            say(type=f"made-up-{number}")
            say(type="unpublish", stream=f"stream-{number}")
        before = set(metrics(server.http("/metrics")))
        for number in range(3, 40):
            assert say(type=f"made-up-{number}")["type"] == "error"
            assert say(type="unpublish", stream=f"stream-{number}")["type"] == "error"
            http(server.http(f"/made-up-{number}/x"))
        after = metrics(server.http("/metrics"))
    # The two statuses that were answered meanwhile.
    assert set(after) - before == {
        ("emisora_server_http_responses_total", (("status", status),)) for status in ("200", "404")}
    assert value(after, "emisora_server_errors_total", code="unknownType") == 40


@pytest.fixture
def secrets(tmp_path):
    """What must be in no log, and the options that hand it to a server."""
    secret, turn = os.urandom(32).hex(), os.urandom(32).hex()
    for name, text in (("secret", secret), ("turn", turn)):
        (tmp_path / name).write_text(text + "\n")
        (tmp_path / name).chmod(0o600)
    return {"secret": secret, "turn": turn,
            "options": ["--secret-file", tmp_path / "secret", "--turn-secret-file", tmp_path / "turn",
                        "--ice-server", "turn:127.0.0.1:9"]}


def test_logs_are_json_and_hold_no_secret_at_any_level(started, secrets, tmp_path):
    def token(role, **claims):
        return jwt.encode({"room": "demo", "role": role, "exp": int(time.time()) + 600, **claims}, secrets["secret"])

    publishing, watching, wrong = token("publisher"), token("subscriber"), token("moderator", room="other")
    (tmp_path / "token").write_text(publishing)
    logs = ["--log", "json", "--log-level", "debug"]
    server = started(Server, options=[*secrets["options"], *logs])
    publisher = started(Process, "publish", server.room("demo"), "--video", "pattern", "--token-file", tmp_path / "token",
                        "--metrics", "127.0.0.1:0", *logs)
    publisher.wait_for_text("publish.started")
    url = publisher.wait_for_text(r"(http://127\.0\.0\.1:\d+/metrics)").group(1)
    watcher = started(Process, "watch", server.room("demo"), "--frames", 30, "--timeout", 60, *logs,
                      env={"EMISORA_TOKEN": watching})
    assert watcher.wait() == 0, watcher.stderr()
    refused = started(Process, "watch", server.room("demo"), "--timeout", 30, "--token", wrong, *logs)
    assert refused.wait() == 1
    # What a WHEP player's session is ended by is a secret, too; and so are the credentials that it is handed.
    status, headers, _ = http(server.http("/whep/demo"), "OPTIONS", Authorization=f"Bearer {watching}")
    assert status == 204
    credentials = re.findall(r'credential="([^"]+)"', headers["Link"])
    assert credentials
    publisher.wait_for_text('"event":"figures"')
    pages = [http(server.http(path))[2] for path in ("/metrics", "/healthz", "/readyz", "/")] + [http(url)[2]]
    assert "emisora_server_ready 1" in pages[0] and "emisora_publisher_viewers" in pages[4]
    assert publisher.interrupt() == 0
    assert server.interrupt() == 0

    assert {"server.listening", "participant.joined", "participant.left", "http.response", "server.ended"} <= events(
        server.stderr())
    assert {"metrics.listening", "publish.started", "viewer.joined", "figures"} <= events(publisher.stderr())
    assert "watch.failed" in events(refused.stderr()) or "watch.incomplete" in events(refused.stderr())
    everything = "".join(pages) + "".join(
        process.stderr() + process.stdout() for process in (server, publisher, watcher, refused))
    signatures = [text.split(".")[2] for text in (publishing, watching, wrong)]
    for text in (secrets["secret"], secrets["turn"], publishing, watching, wrong, *signatures, *credentials):
        assert text not in everything


def test_levels_hold_back_what_is_less(started):
    server = started(Server, options=["--log", "json"])
    publisher = started(Process, "publish", server.room("demo"), "--video", "pattern", "--duration", 3, "--log", "json",
                        "--log-level", "error")
    assert publisher.wait() == 0 and publisher.stderr() == ""
    failing = started(Process, "publish", "ws://127.0.0.1:9/demo", "--video", "pattern", "--log", "json",
                      "--log-level", "error")
    assert failing.wait() == 1
    assert [record["level"] for record in records(failing.stderr())] == ["error"]
    assert all(record["level"] != "debug" for record in records(server.stderr()))


def test_sigterm_drains_while_media_goes_on(started):
    server = started(Server, options=["--drain", 3])
    publisher = started(Process, "publish", server.room("demo"), "--video", "pattern")
    publisher.wait_for_text("Publishing")
    watcher = started(Process, "watch", server.room("demo"), "--frames", 240, "--timeout", 90)
    publisher.wait_for_text("viewers 1")
    link = joined(server)
    assert http(server.http("/readyz"))[0] == 200

    start = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    until(lambda: http(server.http("/readyz"))[0] == 503, "/readyz stayed 200")
    assert http(server.http("/healthz"))[0] == 200
    for kind in ("whip", "whep"):
        status, headers, _ = http(server.http(f"/{kind}/demo"), "POST", b"v=0", **{"Content-Type": "application/sdp"})
        assert status == 503 and int(headers["Retry-After"]) > 0
    with pytest.raises(InvalidStatus) as refused:
        connect(server.room("demo"), subprotocols=["emisora.v1"])
    assert refused.value.response.status_code == 503 and "Retry-After" in refused.value.response.headers
    # Who was there is told at the end of the time, and not before.
    with pytest.raises(ConnectionClosed) as closed:
        while True:
            link.recv(timeout=30)
    assert closed.value.rcvd.code == 1001
    assert time.monotonic() - start >= 2.9
    assert server.wait(30) == 0
    # Eight seconds of pictures, of which the server saw three at the most.
    assert watcher.wait(90) == 0, watcher.stderr()
    assert watcher.figures()["framesDecoded"] >= 240
    publisher.interrupt()


def test_a_second_signal_ends_a_drain_at_once(started):
    server = started(Server, options=["--drain", 3600])
    link = joined(server)
    server.process.send_signal(signal.SIGTERM)
    until(lambda: http(server.http("/readyz"))[0] == 503, "no drain")
    server.process.send_signal(signal.SIGTERM)
    assert server.wait(30) == 128 + signal.SIGTERM
    link.close()


def test_ctrl_c_does_not_drain(started):
    server = started(Server, options=["--drain", 3600])
    link = joined(server)
    assert server.interrupt(30) == 0
    link.close()


def test_options_come_from_arguments_environment_and_file_in_this_order(started, tmp_path):
    file = tmp_path / "signaling.conf"
    file.write_text("# As systemd reads it.\nEMISORA_HOST=127.0.0.1\nEMISORA_PORT=1\nEMISORA_LOG='json'\n"
                    "EMISORA_LIMIT=\"rooms=3 participants=4\"\nEMISORA_METRICS=off\n")
    server = started(Process, "serve", "--config", file, "--port", 0,
                     env={"EMISORA_METRICS": "127.0.0.1:0", "EMISORA_PORT": "2"})
    found = server.wait_for_text(r'"url":"(http://127\.0\.0\.1:\d+/metrics)"')
    assert metrics(found.group(1))
    assert {"server.listening", "metrics.listening"} <= events(server.stderr())
    assert server.interrupt() == 0
    for text, named in (("EMISORA_PORT=x\n", "line 1, EMISORA_PORT: x is not allowed"),
                        ("\nEMISORA_SECRET=hunter2\n", "line 2: EMISORA_SECRET is no option"),
                        ("hunter2\n", "line 1: it is not NAME=value")):
        file.write_text(text)
        done = subprocess.run([binary(), "serve", "--config", file], capture_output=True, text=True)
        assert done.returncode == 2 and named in done.stderr and "hunter2" not in done.stderr
        assert len(done.stderr.splitlines()) == 1
    done = subprocess.run([binary(), "serve", "--config", tmp_path / "none"], capture_output=True, text=True)
    assert done.returncode == 2 and "No such file" in done.stderr


def test_a_publisher_is_configured_by_environment_and_file_too(started, server, tmp_path):
    file = tmp_path / "publish.conf"
    file.write_text("EMISORA_VIDEO=pattern\nEMISORA_STREAM=from-the-file\nEMISORA_LOG=json\nEMISORA_METRICS=127.0.0.1:0\n")
    publisher = started(Process, "publish", server.room("demo"), "--config", file,
                        env={"EMISORA_STREAM": "from-the-environment", "EMISORA_AUDIO": "none"})
    publisher.wait_for_text("publish.started")
    watcher = started(Process, "watch", server.room("demo"),
                      env={"EMISORA_FRAMES": "5", "EMISORA_STREAM": "from-the-environment"})
    assert watcher.wait() == 0 and watcher.figures()["framesDecoded"] >= 5
    assert {"metrics.listening", "publish.started"} <= events(publisher.stderr())
    assert publisher.interrupt() == 0
    done = subprocess.run([binary(), "publish", "ws://127.0.0.1:9/demo"], capture_output=True, text=True,
                          env={**os.environ, "EMISORA_PIN": "x" * 300})
    assert done.returncode == 2 and "EMISORA_PIN in the environment: the value is not allowed" in done.stderr


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("man")
    subprocess.run([ROOT / "scripts/man", folder], check=True, env={**os.environ, "EMISORA": binary()}, capture_output=True)
    return folder


def test_man_pages_are_without_fault(pages):
    files = sorted(pages.glob("*.1"))
    assert len(files) == len(NAMES)
    for file in files:
        groff = subprocess.run(["groff", "-ww", "-man", "-Tutf8", file], capture_output=True, text=True)
        assert (groff.returncode, groff.stderr) == (0, "")
        # Without a date a page is the same whenever it is made; the styles that it sets are meant.
        lint = subprocess.run(["mandoc", "-Tlint", "-W", "warning", file], capture_output=True, text=True)
        faults = [line for line in lint.stdout.splitlines() if "missing date" not in line]
        assert not faults, faults


def test_each_option_that_is_taken_is_in_the_help_and_on_the_page(pages):
    for name in NAMES[1:]:
        command = "serve" if name == "signaling-server" else name
        done = subprocess.run([binary(), command, "--no-such-option"], capture_output=True, text=True)
        assert done.returncode == 2
        taken = re.findall(r"--([a-z-]+)", done.stderr.split("allowed:")[1])
        shown = subprocess.run([binary(), command, "--help"], capture_output=True, text=True).stdout
        page = (pages / (f"{name}.1" if name == "signaling-server" else f"emisora-{name}.1")).read_text()
        plain = page.replace("\\-", "-")
        assert taken and "help" not in taken
        taken.append("help")
        for option in taken:
            assert re.search(rf"^  --{option}\b", shown, re.MULTILINE), (name, option)
            assert f"\\fB--{option}\\fR" in plain, (name, option)
        assert sorted(re.findall(r"^\\fB--([a-z-]+)", plain, re.MULTILINE)) == sorted(taken)


def test_the_systemd_unit_is_valid_and_sets_what_there_is(tmp_path, pages):
    text = (ROOT / "signaling/emisora-signaling.service").read_text()
    assert "\nExecStart=/usr/bin/signaling-server\n" in text
    unit = tmp_path / "emisora-signaling.service"
    unit.write_text(text.replace("/usr/bin/signaling-server", f"{os.path.abspath(binary())} serve"))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True)
    assert done.returncode == 0 and unit.name not in done.stderr, done.stderr
    exposed = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=25", unit],
                             capture_output=True, text=True)
    assert exposed.returncode == 0, exposed.stdout[-300:]
    page = (pages / "signaling-server.1").read_text().replace("\\-", "-")
    container = (ROOT / "signaling/Containerfile").read_text()
    variables = set(re.findall(r"EMISORA_[A-Z_]*[A-Z]", text + container))
    assert len(variables) >= 4
    for variable in variables:
        assert f"\\fB{variable}\\fR" in page, variable


def test_the_container_has_each_library_that_the_server_is_linked_to():
    # The tests' own build, which is linked to the same ones; those of Swift go into the container's program.
    needed = subprocess.run(["readelf", "-d", ROOT / ".build/debug/signaling-server"], capture_output=True, text=True,
                            check=True).stdout
    libraries = [name for name in re.findall(r"\(NEEDED\).*\[(.+)\]", needed) if not re.match("lib(swift|Foundation)", name)]
    assert "libwebsockets.so.17" in libraries
    image = (ROOT / "signaling/Containerfile").read_text().split("\nFROM ")[-1]
    installed = set(re.findall(r"\blib[a-z0-9.+-]+", image.split("apt-get install")[1].split("rm -rf")[0]))
    for name in libraries:
        owners = subprocess.run(["dpkg", "-S", f"*/{name}"], capture_output=True, text=True, check=True).stdout
        # Every Debian has libc.
        assert {line.split(":")[0] for line in owners.splitlines()} & (installed | {"libc6"}), name
