"""The viewer page in real browsers, fed by the real publisher through the real server."""
import time

from beat import Beat

LIVE = "window.emisora && window.emisora.state === 'live'"
# Read when something went wrong: what the browser says of the pictures it received.
INBOUND = """(async () => { for (const report of (await call.peer.getStats()).values())
    if (report.type === 'inbound-rtp' && report.kind === 'video') return JSON.stringify(report); return 'none'; })()"""

# The page takes its figures once a second: the next ones, and when they came.
MEASUREMENT = """(async () => { const former = window.emisora.stats;
    while (window.emisora.stats === former) await new Promise((done) => setTimeout(done, 5));
    return {frames: window.emisora.stats.framesDecoded, at: performance.now()}; })()"""


def test_the_page_plays_pictures_and_sound(server, publish, browser, pictures):
    publisher = publish("demo", "--video", "noise", "--audio", "tone")
    with Beat() as beat:
        browser.open(server.http("/demo"))
        browser.wait_for(LIVE, 60)
    first = browser.evaluate("window.emisora.firstFrameMs")
    assert first <= 1000 * beat.limit(1), f"first picture after {first} ms"
    browser.wait_for("window.emisora.stats && window.emisora.stats.framesDecoded > 0", 60)
    with Beat() as beat:
        start = browser.evaluate(MEASUREMENT)
        browser.wait_for(f"performance.now() - {start['at']} >= 10000", 60)
        end = browser.evaluate(MEASUREMENT)
    browser.wait_for("window.emisora.audioLevel > 0", 60, "sound")
    rate = (end["frames"] - start["frames"]) / (end["at"] - start["at"]) * 1000
    if rate < 25 * beat.share:
        inbound, offers = browser.evaluate(INBOUND), browser.evaluate("window.emisora.offers")
        publisher.interrupt()
        raise AssertionError(f"{rate:.1f} pictures a second; {offers} offers; {inbound}; {publisher.figures()}")
    stats = browser.evaluate("window.emisora.stats")
    assert (stats["width"], stats["height"]) == (640, 480)
    assert stats["bitrate"] > 50_000
    browser.wait_for(f"Number(document.getElementById('fps').textContent) >= {20 * beat.share}", 60, "the rate on show")
    browser.screenshot(pictures / f"viewer-{browser.name}.png")
    assert publisher.interrupt() == 0
    figures = publisher.figures()
    assert figures["framesCaptured"] == figures["framesEncoded"] + sum(figures["framesDroppedByReason"].values())
    print(f"{browser.name}: {rate:.1f} pictures/s (machine {beat.share:.2f}), first picture after {first} ms")


def test_page_notices_a_killed_publisher_and_takes_up_its_successor(server, publish, chromium):
    publisher = publish("demo", "--video", "pattern")
    chromium.open(server.http("/demo"))
    chromium.wait_for(LIVE, 60)
    with Beat() as beat:
        killed_at = time.monotonic()
        publisher.kill()
        chromium.wait_for("window.emisora.state !== 'live'", 30, "notice of the killed publisher")
        took = time.monotonic() - killed_at
    assert took <= beat.limit(5)
    publish("demo", "--video", "pattern")
    chromium.wait_for(LIVE, 60, "the new publisher's picture")


def test_a_stream_survives_the_servers_death_and_everyone_rejoins(server, started, publish, chromium):
    from processes import Server
    publisher = publish("demo", "--video", "pattern")
    chromium.open(server.http("/demo"))
    chromium.wait_for(LIVE, 60)
    port = server.port
    server.kill()
    publisher.wait_for_text("Media goes on")
    before = chromium.evaluate("window.emisora.stats ? window.emisora.stats.framesDecoded : 0")
    chromium.wait_for(
        f"window.emisora.stats && window.emisora.stats.framesDecoded >= {before} + 60", 60, "60 more pictures")
    assert chromium.evaluate("window.emisora.state") == "live"
    restarted = started(Server, port)
    publisher.wait_for_text("signaling server is back")
    # The page goes on with the stream it has; another viewer finds the room as it was.
    tab = chromium.new_tab()
    tab.open(restarted.http("/demo"))
    tab.wait_for(LIVE, 60, "a picture for a new viewer after the restart")
    tab.close()
    assert chromium.evaluate("window.emisora.state") == "live"
    assert chromium.evaluate("window.emisora.offers") == 1


def test_the_page_is_who_it_was_after_a_restart_of_the_server(started, chromium, tmp_path):
    from processes import Process, Server
    options = ("--resume-key-file", tmp_path / "key", "--grace", "60")
    server = started(Server, 0, options=options)
    publisher = started(Process, "publish", server.room("demo"), "--video", "pattern")
    publisher.wait_for_text("Publishing")
    chromium.open(server.http("/demo"))
    chromium.wait_for(LIVE, 60)
    id = chromium.evaluate("session.id")
    server.kill()
    chromium.wait_for("call.orphan", 60, "notice of the server's death")
    restarted = started(Server, server.port, options=options)
    chromium.wait_for("joined && !call.orphan", 60, "the session as it was")
    publisher.wait_for_text("signaling server is back")
    assert chromium.evaluate("session.id") == id
    # Both sides have named it: the publisher hears of its end by a server that did not see it begin.
    # (By signaling alone: a connection that is closed says goodbye by DTLS, too.)
    chromium.evaluate("send({ type: 'bye', subscription: call.id, reason: 'bye' })")
    publisher.wait_for_text(r"A viewer left \(bye\)")
    assert chromium.evaluate("window.emisora.offers") == 1
    restarted.kill()


def test_three_viewers_cost_one_encoder_and_a_late_one_sees_a_picture_within_a_second(server, publish, chromium):
    publisher = publish("demo", "--video", "pattern")
    tabs = [chromium, chromium.new_tab(), chromium.new_tab()]
    for tab in tabs[:2]:
        tab.open(server.http("/demo"))
        tab.wait_for(LIVE, 60)
    tabs[0].wait_for("window.emisora.stats && window.emisora.stats.framesDecoded >= 60", 60)
    with Beat() as beat:
        tabs[2].open(server.http("/demo"))
        tabs[2].wait_for(LIVE, 60)
    assert tabs[2].evaluate("window.emisora.firstFrameMs") <= 1000 * beat.limit(1)
    publisher.wait_for_text("viewers 3")
    for tab in tabs[1:]:
        tab.close()
    assert publisher.interrupt() == 0
    figures = publisher.figures()
    assert figures["subscribersTotal"] == 3
    assert figures["framesEncoded"] <= figures["framesCaptured"]
    # Each picture went to up to three viewers, but was encoded once.
    assert figures["framesSent"] > figures["framesEncoded"]


def test_pictures_go_on_through_an_ice_restart(server, publish, browser):
    publish("demo", "--video", "pattern")
    browser.open(server.http("/demo"))
    browser.wait_for(LIVE, 60)
    browser.wait_for("window.emisora.stats && window.emisora.stats.framesDecoded > 0", 60)
    ufrag = "/a=ice-ufrag:(.*)/.exec(call.peer.{}Description.sdp)[1]"
    before = [browser.evaluate(ufrag.format(side)) for side in ("local", "remote")]
    with Beat() as beat:
        # Longest gap between two pictures on show, from here on.
        browser.evaluate(
            "(() => { let last = performance.now(); window.gap = 0; const seen = () => { const now = performance.now();"
            " window.gap = Math.max(window.gap, now - last); last = now; video.requestVideoFrameCallback(seen); };"
            " video.requestVideoFrameCallback(seen); restartIce(call); })()")
        browser.wait_for(f"{ufrag.format('remote')} !== '{before[1]}'", 60, "an answer with new credentials")
        assert browser.evaluate(ufrag.format("local")) != before[0]
        frames = browser.evaluate("window.emisora.stats.framesDecoded")
        browser.wait_for(f"window.emisora.stats.framesDecoded >= {frames} + 90", 60, "90 more pictures")
        gap = browser.evaluate("window.gap")
    assert browser.evaluate("window.emisora.state") == "live" and browser.evaluate("window.emisora.offers") == 1
    assert browser.evaluate("call.peer.connectionState") == "connected"
    assert gap < 1000 * beat.limit(0.5)
