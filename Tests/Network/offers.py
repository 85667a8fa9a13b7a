"""What a publisher tells a viewer, read without one."""
import json
import secrets

from websockets.sync.client import connect


def offered_candidates(host, address, port, room="demo", stream="main"):
    """The candidates of a publisher's offer to a viewer on a machine of a lab: dictionaries."""
    shown = f"[{address}]" if ":" in address else address
    with connect(f"ws://{shown}:{port}/{room}", sock=host.connect(address, port), subprotocols=["emisora.v1"],
                 ping_interval=None) as socket:
        socket.send(json.dumps({"type": "join", "version": 1, "room": room}))
        id = secrets.token_hex(16)
        while True:
            message = json.loads(socket.recv(timeout=60))
            if message["type"] == "welcome":
                socket.send(json.dumps({"type": "subscribe", "subscription": id, "stream": stream, "sdp": ""}))
            elif message["type"] == "offer":
                return [candidate(line) for line in message["sdp"].split("\r\n") if line.startswith("a=candidate:")]


def candidate(line):
    words = line.split(" ")
    return {"transport": words[2], "priority": int(words[3]), "address": words[4], "port": int(words[5]),
            "type": words[7], **dict(zip(words[8::2], words[9::2]))}
