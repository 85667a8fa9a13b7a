"""A server on the Internet: tokens of any JWT library, TLS whose certificate is exchanged, TURN passwords with an end."""
import base64
import hashlib
import hmac
import json
import os
import re
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request

import jwt
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from access import join, tls_options
from coturn import Coturn
from processes import LOGS, Process, Server, binary

LIVE = "window.emisora && window.emisora.state === 'live'"


def test_a_call_by_wss_with_tokens_in_a_file_and_in_the_environment(started, access, authority, tls, tmp_path):
    server = started(Server, options=[*access.options, *tls_options(tls)])
    token_file = tmp_path / "token"
    token_file.write_text(access.token("publisher", stream="main", data="Ana") + "\n")
    publisher = started(Process, "publish", server.room("demo"), "--video", "pattern", "--ca", authority.certificate,
                        "--token-file", token_file)
    publisher.wait_for_text("Publishing")
    watcher = started(Process, "watch", server.room("demo"), "--frames", 30, "--timeout", 50, "--ca", authority.certificate,
                      env={"EMISORA_TOKEN": access.token("subscriber")})
    assert watcher.wait() == 0, watcher.stderr()
    welcome, link = join(server, access.token("subscriber"), ssl.create_default_context(cafile=authority.certificate))
    assert welcome["streams"][0]["data"] == "Ana"
    link.close()
    assert publisher.interrupt() == 0


@pytest.mark.parametrize("role, stream, sentence", [
    ("subscriber", None, "notAllowed"), ("publisher", "other", "notAllowed"), (None, None, "unauthorized")])
def test_a_publisher_without_the_right_is_told_why(started, access, role, stream, sentence):
    server = started(Server, options=access.options)
    token = access.token(role, **({"stream": stream} if stream else {})) if role else "nonsense"
    publisher = started(Process, "publish", server.room("demo"), "--video", "pattern", "--token", token)
    assert publisher.wait() == 1
    assert sentence in publisher.stderr()
    assert token not in publisher.stderr() + publisher.stdout()


def test_the_tool_makes_the_tokens_that_a_library_makes(started, access):
    made = subprocess.run([binary(), "token", "--secret-file", access.path, "--room", "demo", "--role", "publisher",
                           "--stream", "camera", "--expires", "2h", "--data", "Ana"], capture_output=True, text=True)
    assert (made.returncode, made.stderr) == (0, "")
    claims = jwt.decode(made.stdout.strip(), access.secret, algorithms=["HS256"])
    assert abs(claims.pop("exp") - time.time() - 7200) < 60
    assert claims == {"room": "demo", "role": "publisher", "stream": "camera", "data": "Ana"}
    wrong = subprocess.run([binary(), "token", "--secret-file", access.path, "--room", "demo"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "--role" in wrong.stderr and access.secret not in wrong.stderr


@pytest.mark.parametrize("wrong", ["HS384", "HS512", "expired", "room", "secret", "none", "not yet"])
def test_tokens_of_a_library_that_do_not_fit_are_refused(started, access, wrong):
    server = started(Server, options=access.options)
    token = {
        "HS384": lambda: access.token(algorithm="HS384"), "HS512": lambda: access.token(algorithm="HS512"),
        "expired": lambda: access.token(seconds=-120), "room": lambda: access.token(room="other"),
        "secret": lambda: jwt.encode({"room": "demo", "role": "moderator", "exp": time.time() + 99}, "x" * 64),
        "none": lambda: jwt.encode({"room": "demo", "role": "moderator", "exp": time.time() + 99}, None, algorithm="none"),
        "not yet": lambda: access.token(nbf=int(time.time()) + 600),
    }[wrong]()
    answer, link = join(server, token)
    assert (answer["type"], answer["code"]) == ("error", "unauthorized")
    with pytest.raises(ConnectionClosed):
        link.recv(timeout=60)
    # Beside clocks that differ by less than a minute.
    answer, link = join(server, access.token(seconds=-30))
    assert answer["type"] == "welcome"
    link.close()


def test_a_token_in_authorization_lets_in_and_a_foreign_page_stays_out(started, access):
    server = started(Server, options=[*access.options, "--allow-origin", "https://portal.test"])
    headers = {"Authorization": f"Bearer {access.token()}"}
    answer, link = join(server, additional_headers=headers, origin="https://portal.test")
    assert answer["type"] == "welcome" and link.subprotocol == "emisora.v1"
    link.close()
    with pytest.raises(InvalidStatus) as refused:
        join(server, additional_headers=headers, origin="https://evil.test")
    assert refused.value.response.status_code == 403


# MARK: TLS


@pytest.mark.parametrize("host, has_authority, sentence", [
    ("localhost", True, None), ("localhost", False, "certificate"), ("127.0.0.2", True, "certificate")])
def test_a_client_wants_a_certificate_that_names_the_host(started, authority, tls, host, has_authority, sentence):
    server = started(Server, host="0.0.0.0", options=tls_options(tls))
    watcher = started(Process, "watch", f"wss://{host}:{server.port}/demo", "--frames", 1,
                      # Nobody publishes: who is let in waits as long as it may.
                      "--timeout", 50 if sentence else 3, *(["--ca", authority.certificate] if has_authority else []))
    assert watcher.wait() == 1
    if sentence:
        assert sentence in watcher.stderr().lower()
    else:
        assert "0 of 1 pictures" in watcher.stderr()


def test_an_authority_that_cannot_be_read_is_named(started, tls, tmp_path):
    server = started(Server, options=tls_options(tls))
    watcher = started(Process, "watch", server.room("demo"), "--timeout", 5, "--ca", tmp_path / "nothing.pem")
    assert watcher.wait() == 1
    assert "nothing.pem" in watcher.stderr()


def shown_certificate(port, cafile, **versions):
    context = ssl.create_default_context(cafile=cafile)
    for name, version in versions.items():
        setattr(context, name, version)
    with socket.create_connection(("127.0.0.1", port), timeout=60) as plain:
        with context.wrap_socket(plain, server_hostname="localhost") as secure:
            return secure.getpeercert()["subject"][0][0][1], secure.version()


def test_nothing_before_tls_1_2_is_spoken(started, authority, tls):
    server = started(Server, options=tls_options(tls))
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        assert shown_certificate(server.port, authority.certificate, maximum_version=version, minimum_version=version)
    # Python's own OpenSSL would not even ask: let it.
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning):
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as plain:
        with pytest.raises(ssl.SSLError, match="(?i)alert.protocol.version"):
            old.wrap_socket(plain)
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try:
            answer = plain.recv(100)
        except ConnectionResetError:
            answer = b""
        assert not answer.startswith(b"HTTP")


def test_a_new_certificate_is_shown_to_new_connections_and_old_ones_go_on(started, authority, tls):
    server = started(Server, options=tls_options(tls))
    context = ssl.create_default_context(cafile=authority.certificate)
    answer, link = join(server, context=context)
    assert shown_certificate(server.port, authority.certificate)[0] == "turn.test"
    certificate, key = authority.issue("renewed")
    # One file after the other: between them the two do not fit, and the old pair stays in use.
    tls[0].write_bytes(certificate.read_bytes())
    server.wait_for_text("The certificate in use stays")
    assert shown_certificate(server.port, authority.certificate)[0] == "turn.test"
    tls[1].write_bytes(key.read_bytes())
    server.wait_for_text("New connections get the new certificate")
    assert shown_certificate(server.port, authority.certificate)[0] == "renewed"
    # By a symbolic link, as certbot does it; back to a key of another kind.
    moved = tls[0].with_suffix(".link")
    moved.symlink_to(authority.server_certificate)
    moved.replace(tls[0])
    tls[1].write_bytes(authority.server_key.read_bytes())
    deadline = time.monotonic() + 60
    while shown_certificate(server.port, authority.certificate)[0] != "turn.test":
        assert time.monotonic() < deadline, server.stderr()
    link.send(json.dumps({"type": "publish", "stream": "still-here"}))
    assert json.loads(link.recv(timeout=60))["type"] == "streamPublished"
    link.close()
    assert server.interrupt() == 0


def test_who_never_finishes_the_handshake_is_ended(started, authority, tls):
    server = started(Server, options=tls_options(tls))
    silent = [socket.create_connection(("127.0.0.1", server.port), timeout=30) for _ in range(40)]
    silent[0].sendall(b"\x16\x03\x01\x02\x00\x01")
    # Among them a newcomer is heard at once, and they are gone after five seconds at the latest.
    assert shown_certificate(server.port, authority.certificate)[0] == "turn.test"
    for one in silent:
        try:
            assert one.recv(100) == b""
        except ConnectionResetError:
            pass
        one.close()


@pytest.mark.parametrize("what", ["nothing", "no key", "not PEM", "another key"])
def test_a_certificate_that_cannot_be_used_is_named_at_the_start(authority, tls, tmp_path, what):
    options = tls_options(tls)
    if what == "nothing":
        options[1] = tmp_path / "missing.pem"
    elif what == "no key":
        options = options[:2]
    elif what == "not PEM":
        tls[0].write_text("hello")
    else:
        tls[1].write_bytes(authority.issue("other")[1].read_bytes())
    done = subprocess.run([binary(), "serve", "--port", "0", *options], capture_output=True, text=True, timeout=120)
    assert done.returncode == (2 if what == "no key" else 1)
    assert "certificate" in done.stderr


# MARK: TURN


def test_relays_are_used_with_passwords_of_the_receivers_own(started, access, authority, tmp_path):
    secret = os.urandom(16).hex()
    secret_file = tmp_path / "turn-secret"
    secret_file.write_text(secret)
    secret_file.chmod(0o600)
    coturn = started(Coturn, tmp_path, authority, secret=secret)
    url = f"turn:127.0.0.1:{coturn.port}"
    server = started(Server, options=[*access.options, "--ice-server", url, "--turn-secret-file", secret_file])
    publisher = started(Process, "publish", server.room("demo"), "--video", "pattern", "--relay-only", "--token",
                        access.token("publisher"))
    publisher.wait_for_text("Publishing")
    watcher = started(Process, "watch", server.room("demo"), "--frames", 30, "--timeout", 50, "--relay-only", "--token",
                      access.token())
    assert watcher.wait() == 0, watcher.stderr()
    transport = watcher.figures()["transport"]
    assert (transport["localCandidateType"], transport["remoteCandidateType"]) == ("relay", "relay")
    welcome, link = join(server, access.token())
    link.close()
    relay = welcome["iceServers"][0]
    expiry, name = relay["username"].split(":")
    assert name == welcome["id"] and 0 < int(expiry) - time.time() <= 12 * 3600
    tag = hmac.new(secret.encode(), relay["username"].encode(), hashlib.sha1).digest()
    assert relay["credential"] == base64.b64encode(tag).decode()
    # Who was not let in learns of none, and a player as much as its token is worth.
    answer, _ = join(server)
    assert "iceServers" not in answer
    request = urllib.request.Request(server.http("/whep/demo"), method="OPTIONS")
    with urllib.request.urlopen(request) as response:
        assert response.headers["Link"] is None
    request.add_header("Authorization", f"Bearer {access.token()}")
    with urllib.request.urlopen(request) as response:
        assert f"<{url}>" in response.headers["Link"] and re.search(r'username="\d+:', response.headers["Link"])
    # What is over is over: the time in the name is signed.
    old = f"{int(time.time()) - 10}:{name}"
    password = base64.b64encode(hmac.new(secret.encode(), old.encode(), hashlib.sha1).digest()).decode()
    late = started(Process, "publish", server.room("demo"), "--video", "pattern", "--stream", "late", "--ice-server", url,
                   "--ice-user", old, "--ice-credential", password, "--token", access.token("publisher"))
    late.wait_for_text("refuses the username or the credential")
    assert publisher.interrupt() == 0


# MARK: Browsers


def test_a_viewer_brings_its_token_in_the_fragment(started, access, browser):
    server = started(Server, options=access.options)
    publisher = started(Process, "publish", server.room("demo"), "--video", "pattern", "--token", access.token("publisher"))
    publisher.wait_for_text("Publishing")
    browser.open(server.http("/demo"))
    browser.wait_for("window.emisora && window.emisora.state === 'refused'", 60)
    assert "token" in browser.evaluate("document.getElementById('message').textContent")
    browser.open("about:blank")
    browser.open(server.http("/demo#token=" + access.token()))
    browser.wait_for(LIVE, 60)
    # The page itself shows it nowhere.
    assert access.tokens[-1] not in browser.evaluate("document.documentElement.outerHTML")
    assert publisher.interrupt() == 0


# MARK: Secrets


def test_no_secret_is_in_any_log_page_or_figure(started, access, authority, tls, tmp_path):
    turn_secret = os.urandom(16).hex()
    turn_file = tmp_path / "turn-secret"
    turn_file.write_text(turn_secret)
    server = started(Server, options=[
        *access.options, *tls_options(tls), "--ice-server", "turn:127.0.0.1:9", "--turn-secret-file", turn_file])
    ca = ["--ca", authority.certificate]
    dump = tmp_path / "packets.pcapng"
    publisher = started(Process, "publish", server.room("demo"), "--video", "pattern", *ca, "--token",
                        access.token("publisher"), "--dump-packets", dump)
    publisher.wait_for_text("Publishing")
    watcher = started(Process, "watch", server.room("demo"), "--frames", 30, "--timeout", 50, *ca, "--token", access.token())
    assert watcher.wait() == 0, watcher.stderr()
    context = ssl.create_default_context(cafile=authority.certificate)
    seen = []
    # Refused and malformed ones, wherever a token may come from; and in places where none belongs.
    for token in (access.token(room="other"), access.token(algorithm="HS512"), access.token(seconds=-999), access.secret):
        seen.append(json.dumps(join(server, token, context)[0]))
        bearer = {"Authorization": f"Bearer {token}"}
        for method, path, body in (("POST", "/whep/demo", b"v=0"), ("GET", "/demo", None), ("GET", "/", None),
                                   ("GET", "/healthz", None), ("GET", f"/nothing?token={token}", None),
                                   ("DELETE", "/whep/demo/main/0123456789abcdef", None)):
            request = urllib.request.Request(server.http(path), data=body, method=method, headers=bearer)
            try:
                with urllib.request.urlopen(request, context=context) as response:
                    seen.append(str(response.headers) + response.read().decode())
            except urllib.error.HTTPError as error:
                seen.append(str(error.headers) + error.read().decode())
        for url in (f"{server.room('demo')}?token={token}", f"{server.room('demo')}#token={token}"):
            wrong = started(Process, "watch", url, *ca, "--timeout", 1)
            assert wrong.wait() == 2
    link = connect(server.room("demo"), subprotocols=["emisora.v1"], ssl=context, legacy=True)
    link.send('{"type":"join","version":1,"room":"demo","token":["' + access.tokens[0] + '"]}')
    seen.append(link.recv(timeout=60))
    link.close()
    assert publisher.interrupt() == 0
    assert server.interrupt() == 0
    files = [one for process in (server, publisher, watcher, wrong) for one in (process.out_path, process.err_path)]
    seen += [one.read_text(errors="replace") for one in files] + [dump.read_text(errors="replace")]
    assert all(seen[-len(files) - 1:-1][index] for index in (1, 3)), "the programs said nothing at all"
    for secret in (access.secret, turn_secret, *access.tokens):
        # A token's first part says nothing.
        for part in secret.split(".")[-2:]:
            assert not any(part in text for text in seen), "a secret is in what was printed"

