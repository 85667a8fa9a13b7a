"""What a room's streams have in them, as the viewer page shows it."""
from processes import Process

LIVE = "window.emisora && window.emisora.state === 'live'"


def publish_and_listen(started, server, *arguments):
    publisher = started(Process, "publish", server.room("demo"), *arguments, listens=True)
    publisher.wait_for_text("Publishing")
    return publisher


def test_the_page_shows_what_is_muted_and_stays_live(server, started, chromium):
    publisher = publish_and_listen(started, server, "--video", "pattern", "--audio", "tone", "--stream", "studio")
    chromium.open(server.http("/demo"))
    chromium.wait_for(LIVE, 15)
    assert chromium.evaluate("document.getElementById('name').textContent") == "studio"
    assert chromium.evaluate("window.emisora.muted") == {"video": False, "audio": False}
    assert chromium.evaluate("document.getElementById('muted').hidden") is True

    publisher.say("mute video")
    publisher.say("mute audio")
    chromium.wait_for("window.emisora.muted.video && window.emisora.muted.audio", 10, "the page sees the mute")
    assert chromium.evaluate("document.getElementById('muted').textContent") == "no video, no sound"
    # Two of the page's own measurements without a picture: it is muted, not frozen, and the connection stays.
    chromium.wait_for("window.emisora.stats && window.emisora.stats.fps === 0", 10, "no more pictures")
    frames = chromium.evaluate("window.emisora.stats.framesDecoded")
    chromium.wait_for("(window.counted = window.counted || window.emisora.stats) !== window.emisora.stats", 10, "later")
    assert chromium.evaluate("window.emisora.stats.framesDecoded") == frames
    assert chromium.evaluate("window.emisora.state") == "live"

    publisher.say("unmute video")
    publisher.say("unmute audio")
    chromium.wait_for(f"window.emisora.stats && window.emisora.stats.framesDecoded > {frames}", 10, "pictures again")
    assert chromium.evaluate("window.emisora.muted") == {"video": False, "audio": False}
    assert chromium.evaluate("window.emisora.offers") == 1
    assert publisher.interrupt() == 0
    figures = publisher.figures()
    assert figures["framesDroppedByReason"].get("paused", 0) > 0
    assert figures["framesCaptured"] == figures["framesEncoded"] + sum(figures["framesDroppedByReason"].values())


def test_a_stream_of_sound_alone_is_live_and_so_is_one_of_pictures_alone(server, started, browser):
    sound = publish_and_listen(started, server, "--video", "none", "--audio", "tone", "--stream", "sound")
    browser.open(server.http("/demo"))
    browser.wait_for(LIVE, 20, "sound alone is live")
    browser.wait_for("window.emisora.audioLevel > 0", 10, "sound")
    assert browser.evaluate("window.emisora.muted") == {"video": True, "audio": False}
    assert browser.evaluate("document.getElementById('muted').textContent") == "no video"
    assert sound.interrupt() == 0
    publish_and_listen(started, server, "--video", "pattern", "--audio", "none", "--stream", "pictures")
    browser.wait_for("window.emisora.stream === 'pictures' && window.emisora.state === 'live'", 20, "pictures alone")
    assert browser.evaluate("document.getElementById('muted').textContent") == "no sound"
