"""Real media between clients of different nodes, and what becomes of it when a node is killed."""
import asyncio
import re

from cluster import LIMIT, Balancer, publish
from processes import Process


def captured(publisher):
    """Pictures so far, as it last said."""
    return int(re.findall(r"captured (\d+)", publisher.said())[-1])


def wait_until_captured(publisher, count):
    """The next figure from here on that is not less."""
    said = len(re.findall(r"captured \d+", publisher.said()))
    while True:
        publisher.wait_for_text(f"(?s)(captured \\d+.*){{{said + 1}}}", LIMIT)
        said += 1
        if captured(publisher) >= count:
            return captured(publisher)


def await_what_was_said(one, other):
    """Until a node knows what another one has told of so far."""
    async def mark():
        marker, _ = await one.join()
        await publish(marker, "marker")
        witness, _ = await other.join_beside(["marker"])
        for client in (marker, witness):
            await client.send('{"type": "leave"}')
            await client.wait_closed()

    asyncio.run(mark())


def test_a_node_killed_while_publishing_costs_no_packet_and_the_publisher_goes_on_elsewhere(nodes, started):
    here, there = nodes
    balancer = started(Balancer, there, here)
    publisher = started(Process, "publish", balancer.room("demo"), "--video", "pattern")
    publisher.wait_for_text("Publishing", LIMIT)
    before = here.streams_once_live(["main"])
    watched = wait_until_captured(publisher, 0)
    watcher = started(Process, "watch", here.room("demo"), "--frames", "100000", "--timeout", "120")
    publisher.wait_for_text("A viewer joined", LIMIT)
    wait_until_captured(publisher, watched + 30)

    there.kill()
    killed = wait_until_captured(publisher, 0)
    publisher.wait_for_text("signaling server is back", LIMIT)
    newcomer = started(Process, "watch", here.room("demo"), "--frames", "30", "--timeout", "60")
    assert newcomer.wait(90) == 0, newcomer.stderr()
    wait_until_captured(publisher, killed + 150)

    # With the same id.
    assert here.streams_once_live(["main"]) == before
    watcher.interrupt()
    figures = watcher.figures()
    print({key: figures[key] for key in ("packetsReceived", "packetsLost", "framesDecoded", "longestFrameGapMs")})
    assert figures["packetsLost"] == 0
    # More than what it had before, and half of what came afterwards.
    assert figures["framesDecoded"] > killed - watched + 75
    assert "stream ended" not in watcher.stderr()
    assert "A viewer left (signalingLost)" not in publisher.stderr()


def test_an_encoder_and_a_player_over_http_meet_clients_of_another_node(nodes, started):
    here, there = nodes
    receiver = started(
        Process, "watch", there.room("demo"), "--receive", "--stream", "studio", "--frames", "30", "--timeout", "60")
    receiver.wait_for_text("Receiving studio", LIMIT)
    await_what_was_said(there, here)
    encoder = started(Process, "publish", here.http("/whip/demo/studio"), "--video", "pattern")
    assert receiver.wait(90) == 0, receiver.stderr()
    encoder.interrupt()

    publisher = started(Process, "publish", there.room("demo"), "--video", "pattern")
    publisher.wait_for_text("Publishing", LIMIT)
    here.streams_once_live(["main"])
    player = started(Process, "watch", here.http("/whep/demo"), "--frames", "30", "--timeout", "60")
    assert player.wait(90) == 0, player.stderr()
    publisher.wait_for_text("A viewer left", LIMIT)
