"""A door to a signaling server that writes down what comes through it and when: started on a machine of a lab.

    signaling_tap.py SERVER-ADDRESS PORT

Prints the port that it listens on, then a line of JSON for each text message from the server: its time, by the clock that
all processes of this machine share, and the message."""
import json
import sys
import threading
import time
from contextlib import suppress

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.sync.server import serve


def follow(viewer):
    address, port = sys.argv[1:]
    # Whoever goes away, as at the end of a test, takes the other one along.
    with suppress(ConnectionClosed), connect(f"ws://{address}:{port}{viewer.request.path}", subprotocols=["emisora.v1"], ping_interval=None) as server:
        def forward():
            with suppress(ConnectionClosed):
                for message in viewer:
                    server.send(message)
            server.close()

        threading.Thread(target=forward, daemon=True).start()
        for message in server:
            print(json.dumps({"at": time.monotonic(), "message": json.loads(message)}), flush=True)
            viewer.send(message)


if __name__ == "__main__":
    with serve(follow, "127.0.0.1", 0, subprotocols=["emisora.v1"], ping_interval=None) as door:
        print(door.socket.getsockname()[1], flush=True)
        door.serve_forever()
