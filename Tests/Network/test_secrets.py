"""No secret leaves a program but to whom it is for: whatever is printed, answered, shown or kept is searched for all."""
import base64
import hashlib
import hmac
import json
import os
import ssl
import urllib.error
import urllib.request

import pytest

from access import join, tls_options
from coturn import Coturn, outside_address
from processes import Process, Server


def forms(secret):
    """How a secret may stand in a text: as it is, and as bytes are often written."""
    raw = secret.encode()
    # Base64 of bytes at an unknown place in others: what is the same for all three beginnings.
    shifted = {base64.b64encode(b"\0" * pad + raw)[(pad * 8 + 5) // 6:].rstrip(b"=")[:-1].decode() for pad in range(3)}
    return {secret, raw.hex(), *shifted}


def fetch(server, context, path, token=None, method="GET", body=None, **headers):
    """The whole answer as text, and its headers."""
    if token:
        headers["Authorization"] = f"Bearer {token}"
    request = urllib.request.Request(server.http(path), data=body, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, context=context) as response:
            return str(response.headers) + response.read().decode(), response.headers
    except urllib.error.HTTPError as error:
        return str(error.headers) + error.read().decode(), error.headers


@pytest.mark.parametrize("logs", [[], ["--log", "json", "--log-level", "debug"]], ids=["sentences", "everything as JSON"])
def test_every_door_keeps_the_secrets(started, access, authority, tls, tmp_path, logs):
    turn_secret = os.urandom(16).hex()
    turn_file = tmp_path / "turn-secret"
    turn_file.write_text(turn_secret)
    coturn = started(Coturn, tmp_path, authority, secret=turn_secret)
    server = started(Server, options=[
        *access.options, *tls_options(tls), *logs, "--ice-server", f"turn:{outside_address()}:{coturn.port}", "--turn-secret-file",
        turn_file])
    ca = ["--ca", authority.certificate, *logs]
    context = ssl.create_default_context(cafile=authority.certificate)
    wss, whip, whep = server.room("demo"), server.http("/whip/demo"), server.http("/whep/demo")

    # Rooms, then both HTTP doors, by the programs.
    publisher = started(Process, "publish", wss, "--video", "pattern", *ca, "--token", access.token("publisher"))
    publisher.wait_for_text("Publishing")
    watcher = started(Process, "watch", wss, "--frames", 10, *ca, "--token", access.token())
    player = started(Process, "watch", whep, "--frames", 10, *ca, "--token", access.token())
    assert watcher.wait() == 0, watcher.stderr()
    assert player.wait() == 0, player.stderr()
    receiver = started(Process, "watch", wss, "--receive", "--stream", "encoder", "--frames", 10, *ca,
                              env={"EMISORA_TOKEN": access.token("publisher", stream="encoder")})
    receiver.wait_for_text("Receiving encoder")
    encoder = started(Process, "publish", whip + "/encoder", "--video", "pattern", *ca, "--token",
                      access.token("publisher", stream="encoder"))
    assert receiver.wait() == 0, receiver.stderr()
    encoder.interrupt()
    # Refused ones, whose tokens are as secret.
    for command in ("publish", "watch"):
        for url in (wss, whep if command == "watch" else whip):
            for token in (access.token(room="other"), access.token(seconds=-999)):
                further = ["--timeout", 5] if command == "watch" else ["--video", "pattern"]
                refused = started(Process, command, url, *ca, "--token", token, *further)
                assert refused.wait() != 0

    seen = {}
    for path in ("/", "/demo", "/healthz", "/assets/viewer.js", "/assets/style.css", "/metrics", "/readyz", "/none/such/x/y"):
        for token in (None, access.tokens[0]):
            seen[f"{path} {token is not None}"] = fetch(server, context, path, token)[0]
    # What who may join is told: a password of its own, never what it is made of.
    welcome, link = join(server, access.token(), context)
    link.send('{"type":"subscribe","subscription":"x","stream":"' + access.tokens[0] + '","sdp":"v=0"}')
    seen["refusal"] = link.recv(timeout=60)
    link.close()
    seen["welcome"] = json.dumps(welcome)
    # By this a connection becomes a participant again.
    resumption = welcome["resume"]["secret"]
    turn = welcome["iceServers"][0]
    made = hmac.new(turn_secret.encode(), turn["username"].encode(), hashlib.sha1).digest()
    assert turn["credential"] == base64.b64encode(made).decode()
    others, headers = fetch(server, context, "/whep/demo", access.token(), "OPTIONS")
    assert "credential=" in headers["Link"]
    seen["OPTIONS"] = others
    seen["OPTIONS of anybody"] = fetch(server, context, "/whep/demo", None, "OPTIONS")[0]
    assert "turn:" not in seen["OPTIONS of anybody"]

    assert publisher.interrupt() == 0
    assert server.interrupt() == 0
    said = 0
    for process in (one for one in started.processes if isinstance(one, Process)):
        for path in (process.out_path, process.err_path):
            seen[path.name] = path.read_text(errors="replace")
            said += bool(seen[path.name])
    assert said >= 8, "the programs said nothing at all"
    # The passwords that the participants were given belong to them; no log or figure has one.
    secrets = {"the server's secret": access.secret, "TURN's secret": turn_secret,
               **{f"token {number}": token for number, token in enumerate(access.tokens)}}
    for name, secret in secrets.items():
        # A token's first part says nothing.
        for part in secret.split(".")[-2:]:
            for where, text in seen.items():
                assert not any(form in text for form in forms(part)), f"{name} is in {where}"
    for where, text in seen.items():
        for name, secret in (("a TURN password", turn["credential"]), ("a session's secret", resumption)):
            assert secret not in text or where == "welcome", f"{name} is in {where}"
    if logs:
        for process in started.processes:
            if not isinstance(process, Process):
                continue
            for line in process.stderr().splitlines():
                assert {"time", "level", "event", "message"} <= json.loads(line).keys()
        assert '"level":"debug"' in server.stderr()
