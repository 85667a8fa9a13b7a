"""--dump-packets: a call's packets as Wireshark's dissectors read them."""
import collections
import subprocess

from processes import Process

# DTLS off, else Wireshark sees the handshake and takes what it keyed for encrypted; RTP found by its form.
TSHARK = ("tshark", "--disable-protocol", "dtls", "--enable-heuristic", "rtp_udp",
          "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE")


def rows(path, *fields, where="", options=()):
    command = [*TSHARK, *options, "-r", str(path), "-T", "fields", "-E", "occurrence=f"]
    for field in fields:
        command += ["-e", field]
    if where:
        command += ["-Y", where]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return [tuple(line.split("\t")) for line in out.splitlines()]


def test_a_call_is_dumped_without_a_malformed_packet_and_as_counted(server, started, publish, tmp_path):
    sent_path, received_path = tmp_path / "sent.pcapng", tmp_path / "received.pcapng"
    publisher = publish("dump", "--video", "pattern", "--dump-packets", sent_path)
    watch = started(
        Process, "watch", server.room("dump"), "--frames", 60, "--timeout", 60, "--dump-packets", received_path)
    assert watch.wait(90) == 0
    # Its leaving is noticed before the publisher's figures are final.
    publisher.wait_for_text("A viewer left")
    assert publisher.interrupt() == 0
    sent, received = publisher.figures(), watch.figures()

    for path in (sent_path, received_path):
        bad = rows(path, "frame.number", where="_ws.malformed || ip.checksum.status == 0 || udp.checksum.status == 0")
        assert bad == []
        kinds = collections.Counter(kind for (kind,) in rows(path, "_ws.col.Protocol"))
        assert set(kinds) <= {"STUN", "RTP", "RTCP", "UDP"} and min(kinds.values()) > 0, kinds
        assert {"STUN", "RTP", "RTCP"} <= set(kinds)
        # What is left is the handshake, whose records begin with 20 to 23, and feedback in the reduced size, which
        # tshark takes for RTCP only when it is told to.
        rest = rows(path, "data.data", where="data && !rtp && !rtcp && !stun")
        assert len(rest) == kinds["UDP"]
        feedback = [data for (data,) in rest if int(data[2:4], 16) in (205, 206)]
        handshake = [data for (data,) in rest if 20 <= int(data[:2], 16) <= 23]
        assert handshake and feedback and len(handshake) + len(feedback) == len(rest)
        ports = {port for pair in rows(path, "udp.srcport", "udp.dstport", where="rtp") for port in pair}
        read = rows(
            path, "rtcp.pt", "_ws.malformed", where="udp.payload[1:1] == cd || udp.payload[1:1] == ce",
            options=[word for port in ports for word in ("-d", f"udp.port=={port},rtcp")])
        assert len(read) == len(feedback) and all(kind in ("205", "206") and not bad for kind, bad in read), read

    media = rows(sent_path, "rtp.p_type", "frame.packet_flags_direction", where="rtp")
    assert len(media) == sent["packetsSent"]
    assert {direction for _, direction in media} == {"0x00000002"}
    arrived = rows(received_path, "rtp.p_type", "frame.packet_flags_direction", where="rtp")
    assert {direction for _, direction in arrived} == {"0x00000001"}
    # The figures are taken a moment before the goodbye.
    assert received["packetsReceived"] <= len(arrived) <= sent["packetsSent"]
    assert {kind for kind, _ in media} == {kind for kind, _ in arrived} and len({kind for kind, _ in media}) >= 2
    # Each side says goodbye; both see sender reports.
    for path in (sent_path, received_path):
        types = {kind for (kind,) in rows(path, "rtcp.pt", where="rtcp")}
        assert {"200", "201"} <= types


def test_a_file_that_cannot_be_written_is_told(server, started):
    process = started(Process, "publish", server.room("dump"), "--dump-packets", "/nonexistent/call.pcapng")
    assert process.wait(30) == 1
    assert "/nonexistent/call.pcapng cannot be written" in process.stderr()
    # A disk that is full ends nothing, but is told at once and at the end.
    process = started(Process, "publish", server.room("dump"), "--dump-packets", "/dev/full")
    process.wait_for_text("Publishing")
    watch = started(Process, "watch", server.room("dump"), "--frames", 10, "--timeout", 50)
    process.wait_for_text("/dev/full could not be written to its end.* The call goes on")
    assert watch.wait(90) == 0, watch.stderr()
    said = process.stderr()
    assert process.interrupt() == 1
    assert "/dev/full could not be written to its end" in process.stderr()[len(said):]
