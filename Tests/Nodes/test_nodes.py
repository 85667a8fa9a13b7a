"""Two signaling servers that share their rooms through a real Redis server: any client on any node, and what is left
when a node or Redis is killed."""

import asyncio
import contextlib
import json
import os
import secrets
import socket
import subprocess
import time
import urllib.request

import pytest
import websockets

from processes import binary

LIMIT = 30
PASSWORD = "s3cret/word"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Redis:
    def __init__(self, folder):
        self.port, self.folder, self.process = free_port(), folder, None

    @property
    def url(self):
        return f"redis://:{PASSWORD.replace('/', '%2F')}@127.0.0.1:{self.port}/3"

    def start(self):
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--requirepass", PASSWORD],
            cwd=self.folder, stdout=subprocess.DEVNULL)
        end = time.monotonic() + LIMIT
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            assert time.monotonic() < end, "redis-server does not start"
            time.sleep(0.01)

    def kill(self):
        self.process.kill()
        self.process.wait()


class Node:
    """A signaling server with what it wrote."""

    def __init__(self, redis, folder, name):
        self.log = folder / f"{name}.log"
        self.port = free_port()
        self.process = subprocess.Popen(
            [binary(), "serve", "--port", str(self.port), "--resume-key-file", str(folder / "key"), "--grace", "20"],
            env=os.environ | {"EMISORA_REDIS_URL": redis.url}, stderr=self.log.open("w"))
        self.wait_for("are shared through Redis")

    def wait_for(self, words, count=1):
        end = time.monotonic() + LIMIT
        while self.log.read_text().count(words) < count:
            assert self.process.poll() is None and time.monotonic() < end, self.log.read_text()
            time.sleep(0.01)

    def end(self, kill=False):
        (self.process.kill if kill else self.process.terminate)()
        self.process.wait()

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=LIMIT) as response:
            return response.read().decode()

    async def join(self, resume=None):
        client = await websockets.connect(f"ws://127.0.0.1:{self.port}/demo", subprotocols=["emisora.v1"])
        await say(client, type="join", version=1, room="demo", **({"resume": resume} if resume else {}))
        return client, await hear(client, "welcome")


async def say(client, **message):
    await client.send(json.dumps(message))


async def hear(client, kind, **fields):
    """The next message of that kind, and what came before it is dropped."""
    async with asyncio.timeout(LIMIT):
        while True:
            message = json.loads(await client.recv())
            if message["type"] == kind and fields.items() <= message.items():
                return message


async def joined_beside(node, streams):
    """A client that joined once the node knew of these streams."""
    end = time.monotonic() + LIMIT
    while True:
        client, welcome = await node.join()
        if [stream["stream"] for stream in welcome["streams"]] == streams:
            return client, welcome
        await client.close()
        assert time.monotonic() < end, welcome


async def publish(client, stream="camera"):
    await say(client, type="publish", stream=stream)
    return await hear(client, "streamPublished", stream=stream)


async def subscribe(viewer, publisher):
    """A whole exchange, answered and with a candidate each way."""
    id = secrets.token_hex(16)
    await say(viewer, type="subscribe", subscription=id, stream="camera", sdp="offer")
    assert (await hear(publisher, "subscribe", subscription=id))["sdp"] == "offer"
    await say(publisher, type="answer", subscription=id, sdp="answer")
    assert (await hear(viewer, "answer", subscription=id))["sdp"] == "answer"
    await candidates(viewer, publisher, id)
    return id


async def candidates(viewer, publisher, id):
    for one, other in [(viewer, publisher), (publisher, viewer)]:
        await say(one, type="candidate", subscription=id, candidate="candidate:1 1 udp 1 192.0.2.1 9 typ host")
        await hear(other, "candidate", subscription=id)


@pytest.fixture
def redis(tmp_path):
    redis = Redis(tmp_path)
    redis.start()
    yield redis
    redis.kill()


@pytest.fixture
def nodes(redis, tmp_path):
    nodes = [Node(redis, tmp_path, name) for name in "ab"]
    yield nodes
    for node in nodes:
        if node.process.poll() is None:
            node.end()
        assert PASSWORD not in node.log.read_text()


def test_a_viewer_watches_across_nodes_and_names_are_unique(nodes):
    async def run():
        a, b = nodes
        publisher, _ = await b.join()
        await publish(publisher)
        viewer, welcome = await joined_beside(a, ["camera"])
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

        for round in range(20):
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
        probe, _ = await joined_beside(a, ["camera"])
        await probe.close()
        offer = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\n" \
            "a=setup:actpass\r\na=ice-ufrag:abcd\r\na=mid:0\r\na=recvonly\r\n"
        request = urllib.request.Request(
            f"http://127.0.0.1:{a.port}/whep/demo", offer.encode(), {"Content-Type": "application/sdp"})
        waiting = asyncio.create_task(asyncio.to_thread(lambda: urllib.request.urlopen(request, timeout=LIMIT)))
        asked = await hear(publisher, "subscribe")
        assert asked["sdp"] == offer
        await say(publisher, type="answer", subscription=asked["subscription"], sdp="v=0\r\n")
        response = await waiting
        assert response.status == 201 and response.read() == b"v=0\r\n"
        gone = urllib.request.Request(
            f"http://127.0.0.1:{a.port}{response.headers['Location']}", method="DELETE")
        assert (await asyncio.to_thread(urllib.request.urlopen, gone)).status == 200
        await hear(publisher, "subscriptionEnded", subscription=asked["subscription"])

    asyncio.run(run())


def test_a_publisher_of_a_killed_node_resumes_on_the_other(nodes):
    async def run():
        a, b = nodes
        publisher, welcome = await b.join()
        await publish(publisher)
        viewer, _ = await joined_beside(a, ["camera"])
        id = await subscribe(viewer, publisher)
        b.end(kill=True)
        # The stream is there also while nobody knows whether its publisher comes back.
        watcher, _ = await joined_beside(a, ["camera"])
        resume = {
            "id": welcome["id"], "secret": welcome["resume"]["secret"],
            "publishes": ["camera"], "sending": {"camera": [id]},
        }
        resume["holdings"] = {key: resume.pop(key) for key in ["publishes", "sending"]}
        again, second = await a.join(resume)
        assert second["id"] == welcome["id"]
        assert [(s["stream"], s["publisher"]) for s in second["streams"]] == [("camera", welcome["id"])]
        # What was agreed on before goes on, and somebody new can watch.
        await candidates(viewer, again, id)
        late, seen = await joined_beside(a, ["camera"])
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
        viewer, _ = await joined_beside(a, ["camera"])
        id = await subscribe(viewer, publisher)
        beside = await subscribe(neighbour, publisher)
        redis.kill()
        for node in nodes:
            node.wait_for("is not reached")
        await candidates(neighbour, publisher, beside)
        alone, _ = await a.join()
        await publish(alone, "local")
        redis.start()
        for node in nodes:
            node.wait_for("are shared through Redis", 2)
        # The old one is as it was, and what came meanwhile is known everywhere.
        await candidates(viewer, publisher, id)
        late, _ = await joined_beside(b, ["camera", "local"])
        await late.close()

    asyncio.run(run())


def test_a_wrong_url_is_told_of_without_its_password():
    for url, words in [("rediss://:hidden@h", "without TLS"), ("redis://:hidden@h:x", "port"), ("http://hidden", "must be")]:
        for arguments, environment in [(["--redis", url], {}), ([], {"EMISORA_REDIS_URL": url})]:
            done = subprocess.run(
                [binary(), "serve", *arguments], env=os.environ | environment, capture_output=True, text=True, timeout=LIMIT)
            assert done.returncode == 2
            assert words in done.stderr and "hidden" not in done.stderr
