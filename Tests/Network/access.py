"""Tokens, certificates and the first words of a client."""
import json
import os
import time

import jwt
from websockets.sync.client import connect


class Access:
    """A secret in a file, and tokens signed with it by PyJWT."""

    def __init__(self, folder):
        self.secret = os.urandom(32).hex()
        self.path = folder / "secret"
        self.path.write_text(self.secret + "\n")
        self.path.chmod(0o600)
        self.tokens = []

    def token(self, role="subscriber", room="demo", algorithm="HS256", seconds=3600, **claims):
        token = jwt.encode({"room": room, "role": role, "exp": int(time.time()) + seconds, **claims}, self.secret,
                           algorithm=algorithm)
        self.tokens.append(token)
        return token

    @property
    def options(self):
        return ["--secret-file", self.path]


def tls_options(paths):
    return ["--certificate", paths[0], "--key", paths[1]]


def join(server, token=None, context=None, **options):
    """The first message of the server after `join`, and the open connection."""
    # Without pings of its own: the server watches the connection, and libwebsockets leaves one in fifty unanswered.
    link = connect(server.room("demo"), subprotocols=["emisora.v1"], ssl=context, legacy=True, ping_interval=None,
                   **options)
    link.send(json.dumps({"type": "join", "version": 1, "room": "demo", **({"token": token} if token else {})}))
    return json.loads(link.recv(timeout=60)), link
