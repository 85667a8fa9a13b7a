"""Two signaling servers that share their rooms through a real Redis server: any client on any node, and what is left
when a node or Redis is killed."""

import asyncio
import json
import os
import subprocess
import urllib.request

from cluster import LIMIT, candidates, hear, publish, say, subscribe
from processes import binary


def test_a_viewer_watches_across_nodes_and_names_are_unique(nodes):
    async def run():
        a, b = nodes
        publisher, _ = await b.join()
        await publish(publisher)
        viewer, welcome = await a.join_beside(["camera"])
        id = await subscribe(viewer, publisher)
        # The name is taken everywhere.
        await say(viewer, type="publish", stream="camera")
        assert (await hear(viewer, "error"))["code"] == "streamTaken"
        assert "camera" in a.get("/")
        await say(publisher, type="unpublish", stream="camera")
        assert (await hear(viewer, "subscriptionEnded"))["reason"] == "unpublished"
        # And is free everywhere.
        await publish(viewer)
        await viewer.close()
        await publisher.close()

    asyncio.run(run())


def test_of_two_that_publish_a_name_at_once_one_has_it(nodes):
    async def run():
        clients = []
        for node in nodes:
            client, welcome = await node.join()
            clients.append((client, welcome["id"]))

        async def has(client, id, stream):
            async with asyncio.timeout(LIMIT):
                while True:
                    message = json.loads(await client.recv())
                    if message["type"] == "error":
                        assert message["code"] == "streamTaken"
                        return False
                    if message["type"] == "streamPublished" and (message["stream"], message["publisher"]) == (stream, id):
                        return True

        for round in range(16):
            stream = f"s{round}"
            await asyncio.gather(*(say(client, type="publish", stream=stream) for client, _ in clients))
            assert sorted([await has(client, id, stream) for client, id in clients]) == [False, True]
        for client, _ in clients:
            await client.close()

    asyncio.run(run())


def test_a_whep_player_on_one_node_gets_the_answer_of_a_publisher_on_another(nodes):
    async def run():
        a, b = nodes
        publisher, _ = await b.join()
        await publish(publisher)
        probe, _ = await a.join_beside(["camera"])
        await probe.close()
        offer = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\n" \
            "a=setup:actpass\r\na=ice-ufrag:abcd\r\na=mid:0\r\na=recvonly\r\n"
        request = urllib.request.Request(
            a.http("/whep/demo"), offer.encode(), {"Content-Type": "application/sdp"})
        waiting = asyncio.create_task(asyncio.to_thread(lambda: urllib.request.urlopen(request, timeout=LIMIT)))
        asked = await hear(publisher, "subscribe")
        assert asked["sdp"] == offer
        await say(publisher, type="answer", subscription=asked["subscription"], sdp="v=0\r\n")
        response = await waiting
        assert response.status == 201 and response.read() == b"v=0\r\n"
        gone = urllib.request.Request(a.http(response.headers["Location"]), method="DELETE")
        assert (await asyncio.to_thread(urllib.request.urlopen, gone)).status == 200
        await hear(publisher, "subscriptionEnded", subscription=asked["subscription"])

    asyncio.run(run())


def test_a_publisher_of_a_killed_node_resumes_on_the_other(nodes):
    async def run():
        a, b = nodes
        publisher, welcome = await b.join()
        await publish(publisher)
        viewer, _ = await a.join_beside(["camera"])
        id = await subscribe(viewer, publisher)
        b.kill()
        # The stream is there also while nobody knows whether its publisher comes back.
        watcher, _ = await a.join_beside(["camera"])
        resume = {
            "id": welcome["id"], "secret": welcome["resume"]["secret"],
            "holdings": {"publishes": ["camera"], "sending": {"camera": [id]}},
        }
        again, second = await a.join(resume)
        assert second["id"] == welcome["id"]
        assert [(s["stream"], s["publisher"]) for s in second["streams"]] == [("camera", welcome["id"])]
        # What was agreed on before goes on, and somebody new can watch.
        await candidates(viewer, again, id)
        late, seen = await a.join_beside(["camera"])
        assert seen["streams"][0]["publisher"] == welcome["id"]
        await subscribe(late, again)
        # Nothing was said to the viewer of an end.
        await viewer.close()
        async for text in viewer:
            assert json.loads(text)["type"] not in ["subscriptionEnded", "streamUnpublished"]

    asyncio.run(run())


def test_without_redis_what_stands_goes_on_and_comes_together_again(nodes, redis):
    async def run():
        a, b = nodes
        publisher, _ = await b.join()
        await publish(publisher)
        neighbour, _ = await b.join()
        viewer, _ = await a.join_beside(["camera"])
        id = await subscribe(viewer, publisher)
        beside = await subscribe(neighbour, publisher)
        redis.kill()
        for node in nodes:
            node.wait_for_count("is not reached", 1)
        await candidates(neighbour, publisher, beside)
        alone, _ = await a.join()
        await publish(alone, "local")
        redis.start()
        for node in nodes:
            node.wait_for_count("are shared through Redis", 2)
        # The old one is as it was, and what came meanwhile is known everywhere.
        await candidates(viewer, publisher, id)
        late, _ = await b.join_beside(["camera", "local"])
        await late.close()

    asyncio.run(run())


def test_a_wrong_url_is_told_of_without_its_password():
    for url, words in [("rediss://:hidden@h", "without TLS"), ("redis://:hidden@h:x", "port"), ("http://hidden", "must be")]:
        for arguments, environment in [(["--redis", url], {}), ([], {"EMISORA_REDIS": url})]:
            done = subprocess.run(
                [binary(), "serve", *arguments], env=os.environ | environment, capture_output=True, text=True, timeout=LIMIT)
            assert done.returncode == 2
            assert words in done.stderr and "hidden" not in done.stderr
