"""Data channels between browsers and a program of the library that sends back what it gets."""
import pytest

from processes import Sample

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
SEND_ALL = """(() => {
    const bytes = (count) => Uint8Array.from({length: count}, (_, i) => i * 7 % 256);
    const sent = window.sent = ['text', 'Grüße 🚗', '', bytes(3), bytes(0), bytes(65536), 'x'.repeat(65536), bytes(262144)];
    for (const one of sent) plain.send(one);
})()"""
SAME = """(() => {
    const same = (a, b) => typeof a === 'string' ? a === b
        : b instanceof ArrayBuffer && a.length === b.byteLength && new Uint8Array(b).every((v, i) => v === a[i]);
    return sent.map((one, i) => same(one, plain.got[i]));
})()"""


@pytest.fixture
def echo(started, server):
    program = started(Sample, "MessageEcho", server.room("demo"))
    program.wait_for_text("Publishing")
    return program


def test_messages_of_all_kinds_come_back(server, echo, browser):
    browser.open(server.http("/"))
    answer = browser.evaluate(CONNECT)
    assert "m=application 9 UDP/DTLS/SCTP webrtc-datachannel" in answer, answer
    browser.wait_for("plain.readyState === 'open'", 60, "an open channel")
    assert browser.evaluate("peer.sctp.maxMessageSize") == 262144
    browser.evaluate(SEND_ALL)
    browser.wait_for("plain.got.length >= sent.length", 60, "all messages")
    assert browser.evaluate(SAME) == [True] * 8
    browser.evaluate("(window.loose = open('loose', {ordered: false, maxRetransmits: 0, protocol: 'state'}), null)")
    browser.wait_for("loose.readyState === 'open'", 60, "a channel without order")
    browser.evaluate("(() => { for (let i = 0; i < 100; i++) loose.send('n' + i); })()")
    browser.wait_for("loose.got.length >= 90", 60, "most of the messages without order")
    assert browser.evaluate("new Set(loose.got).size") >= 90
    # The page closes one channel, the program another; each side hears of it.
    browser.evaluate("loose.close()")
    browser.wait_for("loose.readyState === 'closed'", 60, "the end of the channel that the page closed")
    echo.wait_for_text(r'"loose" of \S+: closed')
    browser.evaluate("plain.send('close')")
    browser.wait_for("plain.readyState === 'closed'", 60, "the end of the channel that the program closed")
    # Streams serve again.
    browser.evaluate("window.again = open('again')")
    browser.wait_for("again.readyState === 'open'", 60, "a channel after the others")
    browser.evaluate("again.send('once more')")
    browser.wait_for("again.got[0] === 'once more'", 60)
