"""Sessions that hold: a server that is killed, and clients that come and go by hundreds."""
import asyncio
import concurrent.futures
import pathlib
import statistics
import time
import urllib.request

from beat import Beat
from processes import Process, Server
from resuming import STAGES, Crowd, serve_answers, visit


def test_a_server_killed_for_ten_seconds_costs_no_packet_and_nobody_its_id(started, tmp_path):
    options = ("--resume-key-file", tmp_path / "key", "--grace", "6")
    server = started(Server, 0, options=options)
    publisher = started(Process, "publish", server.room("demo"), "--video", "pattern")
    publisher.wait_for_text("Publishing")
    watcher = started(Process, "watch", server.room("demo"), "--frames", "100000", "--timeout", "600")
    publisher.wait_for_text("A viewer joined")
    crowd = started(Crowd, server.room("demo"), 200)
    crowd.wait_until_joined(60)
    before = [client.ids[-1] for client in crowd.clients]
    stream, = crowd.clients[0].streams

    server.kill()
    time.sleep(10)  # the outage itself
    with Beat() as beat:
        back = started(Server, server.port, options=options)
        listening = time.monotonic()
        crowd.wait_until_joined(60)
    for process in (publisher, watcher):
        process.wait_for_text("signaling server is back")
    delays = sorted(client.back_at - listening for client in crowd.clients)
    print(f"200 clients back: the first after {delays[0]:.2f} s, half {delays[100]:.2f} s, all {delays[-1]:.2f} s "
          f"(machine {beat.share:.2f})")
    assert delays[-1] <= beat.limit(5)
    assert [client.ids[-1] for client in crowd.clients] == before
    # The room as a newcomer finds it.
    newcomer = started(Crowd, back.room("demo"), 1)
    newcomer.wait_until_joined(60)
    assert newcomer.clients[0].streams == [stream]

    time.sleep(max(0, listening + 7 - time.monotonic()))  # what only one side had named would be over by now
    assert "stream ended" not in watcher.stderr()
    assert "A viewer left" not in publisher.stderr()
    watcher.interrupt()
    figures = watcher.figures()
    print({key: figures[key] for key in ("packetsReceived", "packetsLost", "framesDecoded")})
    assert figures["packetsLost"] == 0
    assert figures["packetsReceived"] > 500


def test_a_client_that_may_not_try_again_ends(started):
    server = started(Server)
    publisher = started(
        Process, "publish", server.room("demo"), "--video", "pattern", "--max-auto-retry", "2",
        "--auto-retry-delay", "0.1")
    publisher.wait_for_text("Publishing")
    server.kill()
    publisher.wait_for_text("attempt 2 to come back")
    publisher.wait_for_text("Session over: .*tried 2 times")
    assert publisher.wait() == 1


def resources(server):
    """Descriptors, threads and resident bytes."""
    process = pathlib.Path(f"/proc/{server.process.pid}")
    return (len(list((process / "fd").iterdir())), len(list((process / "task").iterdir())), server.resident_bytes())


def test_a_thousand_joins_and_leaves_leave_nothing_behind(started):
    # Whoever answers all of them says more than a client usually may; and names of streams are not kept for long.
    server = started(Server, 0, options=("--grace", "0.2", "--limit", "messages-per-second=10000"))
    url = server.room("demo")

    def floor():
        """What one exchange with this server costs here and now."""
        start = time.monotonic()
        urllib.request.urlopen(server.http("/healthz")).read()
        return time.monotonic() - start

    async def come_and_go(count, first):
        turns = asyncio.Semaphore(4)

        async def one(number):
            # A tenth is cut off at each stage.
            dies_at = STAGES[number % 10] if number % 10 < len(STAGES) else None
            async with turns:
                return await visit(url, f"s{number}", dies_at)

        return await asyncio.gather(*(one(number) for number in range(first, first + count)))

    async def settled(wanted):
        """The figures once everybody is gone that went, or was waited for."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            now = resources(server)
            if now[:2] == wanted[:2]:
                return now
            await asyncio.sleep(0.1)
        return resources(server)

    async def whole():
        is_ready = asyncio.Event()
        base = asyncio.create_task(serve_answers(url, is_ready))
        async with asyncio.timeout(60):
            await is_ready.wait()
        start = resources(server)
        # What the allocator and libwebsockets keep once they have had it.
        await come_and_go(200, 0)
        warm = await settled(start)
        floors = [[await asyncio.to_thread(floor) for _ in range(100)]]
        times = await come_and_go(1000, 1000)
        floors.append([await asyncio.to_thread(floor) for _ in range(100)])
        end = await settled(start)
        base.cancel()
        await asyncio.gather(base, return_exceptions=True)
        return start, warm, end, floors, [t for t in times if t is not None]

    # The browsers of other tests have a loop on this thread.
    with concurrent.futures.ThreadPoolExecutor() as apart:
        start, warm, end, floors, times = apart.submit(asyncio.run, whole()).result()
    p95 = statistics.quantiles(times, n=20)[-1]
    # What else is on the machine may have come, or gone, meanwhile.
    floor95 = max(statistics.quantiles(some, n=20)[-1] for some in floors)
    print(f"joins: median {statistics.median(times) * 1e3:.1f} ms, p95 {p95 * 1e3:.1f} ms (a request: p95 "
          f"{floor95 * 1e3:.1f} ms); descriptors {start[0]} -> {end[0]}, threads {start[1]} -> {end[1]}, "
          f"RSS {warm[2] / 1e6:.1f} -> {end[2] / 1e6:.1f} MB")
    assert end[:2] == start[:2]
    assert end[2] - warm[2] < 5e6
    assert len(times) == 900
    # On a machine that is busy otherwise, what a bare request takes counts, too.
    assert p95 < max(0.1, 8 * floor95)


def test_what_http_clients_began_goes_on_without_the_server_and_leaves_no_ghost(started, tmp_path):
    options = ("--resume-key-file", tmp_path / "key", "--grace", "2")
    server = started(Server, 0, options=options)
    publisher = started(Process, "publish", server.room("demo"), "--video", "pattern", "--size", "320x240")
    publisher.wait_for_text("Publishing")
    receiver = started(
        Process, "watch", server.room("demo"), "--receive", "--stream", "studio", "--frames", "450", "--timeout", "90")
    receiver.wait_for_text("waiting for an encoder")
    encoder = started(
        Process, "publish", server.http("/whip/demo/studio"), "--video", "pattern", "--size", "320x240")
    players = [
        started(Process, "watch", server.http("/whep/demo/main"), "--frames", frames, "--timeout", "90")
        for frames in ("450", "100000")]
    publisher.wait_for_text("A viewer joined; 2 now", 30)
    encoder.wait_for_text("A viewer joined", 30)

    server.kill()
    started(Server, server.port, options=options)
    for process in (publisher, receiver):
        process.wait_for_text("signaling server is back", 10)
    # Twelve of their fifteen seconds at least come after it: more than what one side alone has named to the server lasts.
    assert players[0].wait(90) == 0, players[0].stderr()
    assert receiver.wait(90) == 0, receiver.stderr()
    assert "stream ended" not in receiver.stderr() + players[0].stderr()
    publisher.wait_for_text("A viewer left", 10)
    assert publisher.stderr().count("A viewer left") == 1, "the one that said goodbye itself"
    # The other says nothing any more; nobody is there to say it for it.
    players[1].kill()
    publisher.wait_for_text(r"A viewer left \([^)]*\); 0 now", 60)
