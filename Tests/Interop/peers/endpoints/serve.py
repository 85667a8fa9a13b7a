"""The loop of a peer's process: a JSON line in, a JSON line out; ends with its standard input."""
import asyncio
import json
import sys
import traceback


async def serve(make_connection):
    """`make_connection(sends)` gives objects whose coroutines bear the names of the calls."""
    connections = {}

    async def run(call, id, *arguments):
        if call == "open":
            connections[id] = make_connection(*arguments)
            return None
        result = await getattr(connections[id], call)(*arguments)
        if call == "close":
            del connections[id]
        return result

    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        request = json.loads(line)
        try:
            answer = {"result": await run(request["call"], *request["arguments"])}
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)
    for connection in connections.values():
        await connection.close()
