"""Data channels between browsers and a program of the library that sends back what it gets."""
import os
import pathlib
import subprocess
import time

import pytest

from processes import LOGS, ROOT

CONNECT = """(async () => {
    const peer = window.peer = new RTCPeerConnection();
    peer.addTransceiver('video', {direction: 'recvonly'});
    window.open = (label, options) => {
        const channel = peer.createDataChannel(label, options);
        channel.binaryType = 'arraybuffer';
        const got = channel.got = [];
        channel.onmessage = (e) => got.push(e.data);
        return channel;
    };
    window.plain = open('plain');
    await peer.setLocalDescription(await peer.createOffer());
    await new Promise((done) => {
        peer.onicegatheringstatechange = () => { if (peer.iceGatheringState === 'complete') done(); };
        if (peer.iceGatheringState === 'complete') done();
    });
    const response = await fetch('/whep/demo', {method: 'POST', headers: {'Content-Type': 'application/sdp'},
                                                body: peer.localDescription.sdp});
    const sdp = await response.text();
    if (response.status !== 201) return sdp;
    await peer.setRemoteDescription({type: 'answer', sdp});
    return sdp;
})()"""

# What came back, in a form in which it can be compared with what was sent.
SEND_ALL = """(async () => {
    const bytes = (count) => Uint8Array.from({length: count}, (_, i) => i * 7 % 256);
    const sent = ['text', 'Grüße 🚗', '', bytes(3), bytes(0), bytes(65536), 'x'.repeat(65536), bytes(262144)];
    for (const one of sent) plain.send(one);
    while (plain.got.length < sent.length) await new Promise((r) => plain.addEventListener('message', r, {once: true}));
    const same = (a, b) => typeof a === 'string' ? a === b
        : b instanceof ArrayBuffer && a.length === b.byteLength && new Uint8Array(b).every((v, i) => v === a[i]);
    return sent.map((one, i) => same(one, plain.got[i]));
})()"""

UNORDERED = """(async () => {
    const channel = window.loose = open('loose', {ordered: false, maxRetransmits: 0, protocol: 'state'});
    await new Promise((r) => { channel.onopen = r; });
    for (let i = 0; i < 100; i++) channel.send('n' + i);
    while (channel.got.length < 90) await new Promise((r) => channel.addEventListener('message', r, {once: true}));
    return new Set(channel.got).size;
})()"""


def wait_for_line(log, text, timeout=15):
    deadline = time.monotonic() + timeout
    while text not in log.read_text():
        assert time.monotonic() < deadline, f"no {text!r} in: {log.read_text()}"
        time.sleep(0.02)


@pytest.fixture
def echo(server):
    """The sample program, whose output is kept."""
    folder = pathlib.Path(os.environ.get("EMISORA_SAMPLES", ROOT / ".build/debug"))
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / "message-echo.out"
    with open(log, "wb") as output:
        # Unbuffered, so that a test may wait for what it says.
        process = subprocess.Popen(
            ["stdbuf", "-oL", folder / "MessageEcho", server.room("demo")], stdout=output, stderr=output,
            stdin=subprocess.DEVNULL)
    yield log
    process.kill()
    process.wait()


def test_messages_of_all_kinds_come_back(server, echo, browser):
    browser.open(server.http("/"))
    wait_for_line(echo, "Publishing")
    answer = browser.evaluate(CONNECT)
    assert "m=application 9 UDP/DTLS/SCTP webrtc-datachannel" in answer, answer
    browser.wait_for("plain.readyState === 'open'", 15, "an open channel")
    assert browser.evaluate("peer.sctp.maxMessageSize") == 262144
    assert browser.evaluate(SEND_ALL) == [True] * 8
    assert browser.evaluate(UNORDERED) >= 90
    # The page closes one channel, the program another; each side hears of it.
    browser.evaluate("loose.close()")
    browser.wait_for("loose.readyState === 'closed'", 10, "the end of the channel that the page closed")
    wait_for_line(echo, "loose: closed")
    browser.evaluate("plain.send('close')")
    browser.wait_for("plain.readyState === 'closed'", 10, "the end of the channel that the program closed")
    # Streams serve again.
    browser.evaluate("window.again = open('again')")
    browser.wait_for("again.readyState === 'open'", 10, "a channel after the others")
    browser.evaluate("again.send('once more')")
    browser.wait_for("again.got[0] === 'once more'", 10)
