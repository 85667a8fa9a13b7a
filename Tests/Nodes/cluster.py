"""Signaling servers that share their rooms, what joins them, and what stands in front of them."""
import asyncio
import contextlib
import json
import secrets
import socket
import subprocess
import threading
import time
import urllib.request

import websockets

from processes import Server, wait_for_port

LIMIT = 30
PASSWORD = "s3cret/word"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Redis:
    """A real redis-server, which can be killed, started again and stopped for a while."""

    def __init__(self, folder):
        self.port, self.folder, self.log = free_port(), folder, folder / "redis.log"
        self.start()

    @property
    def url(self):
        return f"redis://:{PASSWORD.replace('/', '%2F')}@127.0.0.1:{self.port}/3"

    def start(self):
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--requirepass", PASSWORD],
                cwd=self.folder, stdout=log)
        wait_for_port(self.port, self.process, "redis-server", self.log.read_text, LIMIT)

    def kill(self):
        self.process.kill()
        self.process.wait()


class Node(Server):
    """One of several servers, connected to Redis."""

    def __init__(self, redis, folder, *options):
        super().__init__(
            options=("--resume-key-file", folder / "key", "--grace", "20", *options),
            env={"EMISORA_REDIS": redis.url})
        self.wait_for_count("are shared through Redis", 1)

    def wait_for_count(self, words, count):
        self.wait_for_text(f"(?s)({words}.*){{{count}}}", LIMIT)

    def get(self, path):
        with urllib.request.urlopen(self.http(path), timeout=LIMIT) as response:
            return response.read().decode()

    async def join(self, resume=None):
        client = await websockets.connect(self.room("demo"), subprotocols=["emisora.v1"])
        await say(client, type="join", version=1, room="demo", **({"resume": resume} if resume else {}))
        return client, await hear(client, "welcome")

    async def join_beside(self, streams):
        """A client that joined once the node knew of these streams."""
        end = time.monotonic() + LIMIT
        while True:
            client, welcome = await self.join()
            if [stream["stream"] for stream in welcome["streams"]] == streams:
                return client, welcome
            await client.close()
            assert time.monotonic() < end, welcome

    def streams_once_live(self, streams):
        """How the node describes them to a newcomer."""
        async def look():
            client, welcome = await self.join_beside(streams)
            await client.close()
            return welcome["streams"]

        return asyncio.run(look())


class Balancer:
    """One address for several nodes: a connection goes to the first of them that takes it, and ends with it."""

    def __init__(self, *nodes):
        self.nodes = nodes
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(asyncio.start_server(self._carry, "127.0.0.1", 0))
        self.port = self._server.sockets[0].getsockname()[1]
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    def room(self, name):
        return f"ws://127.0.0.1:{self.port}/{name}"

    async def _carry(self, reader, writer):
        with contextlib.closing(writer):
            for node in self.nodes:
                with contextlib.suppress(OSError):
                    there = await asyncio.open_connection("127.0.0.1", node.port)
                    break
            else:
                return
            with contextlib.closing(there[1]):
                ways = [asyncio.create_task(self._pass_on(*way)) for way in [(reader, there[1]), (there[0], writer)]]
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                for way in ways:
                    way.cancel()

    @staticmethod
    async def _pass_on(reader, writer):
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()

    def kill(self):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
            self._loop.run_until_complete(asyncio.wait([task]))
        self._loop.close()


async def say(client, **message):
    await client.send(json.dumps(message))


async def hear(client, kind, **fields):
    """The next message of that kind, and what came before it is dropped."""
    async with asyncio.timeout(LIMIT):
        while True:
            message = json.loads(await client.recv())
            if message["type"] == kind and fields.items() <= message.items():
                return message


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
