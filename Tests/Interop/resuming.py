"""Light clients of the signaling protocol, many in one process: they join, and come back as who they were."""
import asyncio
import json
import random
import secrets
import threading
import time

from websockets.asyncio.client import connect as websocket
from websockets.exceptions import WebSocketException


def open_socket(url):
    # Without pings of its own: the server watches the connection.
    return websocket(url, subprotocols=["emisora.v1"], ping_interval=None, open_timeout=30, close_timeout=1)


def join(url, **more):
    return json.dumps({"type": "join", "version": 1, "room": url.rsplit("/", 1)[1], **more})


class LightClient:
    def __init__(self, url):
        self.url = url
        self.ids = []
        self.streams = []
        self.is_back = asyncio.Event()
        self.back_at = None
        self._session = None
        self._delay = 0.25

    async def run(self):
        """For ever; a lost connection is made anew after full jitter, as PROTOCOL.md says."""
        while True:
            try:
                async with open_socket(self.url) as socket:
                    await socket.send(join(self.url, **({"resume": self._session} if self._session else {})))
                    async for text in socket:
                        self._take(json.loads(text))
            except (OSError, WebSocketException, TimeoutError):
                pass
            self.is_back.clear()
            await asyncio.sleep(self._delay * random.random())
            self._delay = min(self._delay * 2, 2)

    def _take(self, message):
        if message["type"] != "welcome":
            return
        self.ids.append(message["id"])
        self.streams = message["streams"]
        self._session = {"id": message["id"], "secret": message["resume"]["secret"], "holdings": {}}
        self._delay = 0.25
        self.back_at = time.monotonic()
        self.is_back.set()


class Crowd:
    """Light clients on a thread of their own."""

    def __init__(self, url, count):
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

        async def begin():
            clients = [LightClient(url) for _ in range(count)]
            return clients, [asyncio.create_task(client.run()) for client in clients]

        self.clients, self._tasks = self._do(begin())

    def _do(self, work, seconds=60):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(seconds)

    def wait_until_joined(self, seconds):
        async def all_back():
            async with asyncio.timeout(seconds):
                for client in self.clients:
                    await client.is_back.wait()

        self._do(all_back(), seconds + 10)

    def kill(self):
        async def end():
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

        self._do(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


STAGES = ("upgraded", "joined", "published", "subscribed", "answered")


async def visit(url, stream, dies_at):
    """A participant that publishes and subscribes, and leaves, or is cut off at a stage. Gives the seconds to its
    welcome."""
    start = time.monotonic()
    async with open_socket(url) as socket:
        def is_over(stage):
            if stage == dies_at:
                socket.transport.abort()
            return stage == dies_at

        async def until(kind):
            async with asyncio.timeout(30):
                while (got := json.loads(await socket.recv()))["type"] != kind:
                    assert got["type"] != "error", got

        if is_over("upgraded"):
            return None
        await socket.send(join(url))
        await until("welcome")
        took = time.monotonic() - start
        if is_over("joined"):
            return took
        await socket.send(json.dumps({"type": "publish", "stream": stream}))
        await until("streamPublished")
        if is_over("published"):
            return took
        await socket.send(json.dumps(
            {"type": "subscribe", "subscription": secrets.token_hex(16), "stream": "base", "sdp": "v=0"}))
        if is_over("subscribed"):
            return took
        await until("answer")
        if is_over("answered"):
            return took
        await socket.send(json.dumps({"type": "leave"}))
        async with asyncio.timeout(30):
            await socket.wait_closed()
        return took


async def serve_answers(url, is_ready):
    """The publisher of `base`, which answers whoever subscribes."""
    async with open_socket(url) as socket:
        await socket.send(join(url))
        await socket.send(json.dumps({"type": "publish", "stream": "base"}))
        async for text in socket:
            message = json.loads(text)
            if message["type"] == "subscribe":
                await socket.send(json.dumps(
                    {"type": "answer", "subscription": message["subscription"], "sdp": "v=0"}))
            elif message["type"] == "streamPublished":
                is_ready.set()
