"""A certificate authority of the tests' own, and a server's certificate by it."""
import subprocess


def openssl(*arguments, cwd):
    done = subprocess.run(["openssl", *arguments], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


class Authority:
    def __init__(self, folder):
        self.certificate = folder / "ca.pem"
        self.server_certificate = folder / "server.pem"
        self.server_key = folder / "server.key"
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=Test authority",
                cwd=folder)
        openssl("req", *key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=turn.test", cwd=folder)
        # Not `127.0.0.2`, which a test counts on.
        (folder / "names").write_text("subjectAltName=DNS:localhost,DNS:turn.test,IP:127.0.0.1\n")
        self._folder = folder
        self._sign("server")

    def issue(self, name):
        """Another certificate for this machine: its path, and that of its key."""
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj",
                f"/CN={name}", cwd=self._folder)
        self._sign(name)
        return self._folder / f"{name}.pem", self._folder / f"{name}.key"

    def _sign(self, name):
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
                "-extfile", "names", "-out", f"{name}.pem", cwd=self._folder)
