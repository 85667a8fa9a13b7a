"""The two browsers behind one small interface: open, evaluate, wait_for, screenshot, close."""
import base64
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import threading
import time

from playwright.sync_api import sync_playwright
from websockets.sync.client import connect


def trust(database, certificate):
    """Makes a browser's certificate database trust an authority."""
    folder = pathlib.Path(database)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "cert9.db").exists():
        subprocess.run(["certutil", "-N", "-d", f"sql:{folder}", "--empty-password"], check=True)
    subprocess.run(["certutil", "-A", "-d", f"sql:{folder}", "-n", "tests", "-t", "C,,", "-i", str(certificate)], check=True)


class Browser:
    """`host`: a machine of a lab that it runs on, with a `command` that runs programs there and `connect` for sockets;
    `authority`: the path of the certificate of an authority that it trusts beside those it knows; `address`: what names
    under `.test` stand for."""

    name = ""

    def open(self, url):
        raise NotImplementedError

    def evaluate(self, expression):
        """The value of a JavaScript expression; promises are awaited."""
        raise NotImplementedError

    def screenshot(self, path):
        raise NotImplementedError

    def close(self):
        raise NotImplementedError

    def wait_for(self, expression, timeout, what=None):
        """Waits until the expression is true and gives its value."""
        deadline = time.monotonic() + timeout
        while True:
            is_over = time.monotonic() > deadline
            value = self.evaluate(expression)
            if value:
                return value
            if is_over:
                state = self.evaluate("JSON.stringify(window.emisora || null)")
                raise AssertionError(f"{self.name}: {what or expression} did not come within {timeout} s; page: {state}")
            time.sleep(0.02)


class Driver:
    """Playwright's driver: a process can have one at a time, so its browsers share it, and the last ends it."""
    _playwright = None
    _users = 0

    @classmethod
    def take(cls):
        if cls._users == 0:
            cls._playwright = sync_playwright().start()
        cls._users += 1
        return cls._playwright

    @classmethod
    def give_back(cls):
        cls._users -= 1
        if cls._users == 0:
            cls._playwright.stop()


class Chromium(Browser):
    name = "chromium"

    def __init__(self, host=None, authority=None, address=None):
        self._folder = tempfile.mkdtemp(prefix="emisora-chromium-")
        environment = dict(os.environ)
        if authority is not None:
            environment["HOME"] = self._folder
            trust(pathlib.Path(self._folder, ".pki", "nssdb"), authority)
        executable = "/usr/bin/chromium"
        if host is not None:
            executable = pathlib.Path(self._folder, "chromium")
            executable.write_text(f'#!/bin/sh\nexec {shlex.join(host.command)} /usr/bin/chromium "$@"\n')
            executable.chmod(0o755)
        self._browser = Driver.take().chromium.launch(
            executable_path=str(executable), headless=True, env=environment, timeout=120_000,
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                  "--autoplay-policy=no-user-gesture-required",
                  *([f"--host-resolver-rules=MAP *.test {address}"] if address else [])])
        self._page = self._browser.new_page(viewport={"width": 1100, "height": 800})
        self._page.set_default_timeout(120_000)

    def open(self, url):
        self._page.goto(url)

    def evaluate(self, expression):
        return self._page.evaluate(expression)

    def screenshot(self, path):
        self._page.screenshot(path=str(path))

    def new_tab(self):
        """Another page of the same browser, as a browser of its own."""
        tab = object.__new__(Chromium)
        tab._page = self._browser.new_page()
        tab._browser = None
        return tab

    def close(self):
        if self._browser is None:
            self._page.close()
            return
        self._browser.close()
        Driver.give_back()
        shutil.rmtree(self._folder, ignore_errors=True)


class Firefox(Browser):
    name = "firefox"
    PREFERENCES = {
        "media.autoplay.default": 0,
        "media.peerconnection.ice.obfuscate_host_addresses": False,
        "browser.shell.checkDefaultBrowser": False,
        "datareporting.policy.dataSubmissionEnabled": False,
        "toolkit.telemetry.reportingpolicy.firstRun": False,
        "app.update.enabled": False,
    }

    def __init__(self, host=None, authority=None, address=None):
        self._profile = tempfile.mkdtemp(prefix="emisora-firefox-")
        if authority is not None:
            trust(self._profile, authority)
        preferences = {**self.PREFERENCES, **({"network.dns.forceResolve": address} if address else {})}
        lines = [f"user_pref({json.dumps(k)}, {json.dumps(v)});" for k, v in preferences.items()]
        pathlib.Path(self._profile, "user.js").write_text("\n".join(lines))
        self._process = subprocess.Popen(
            [*(host.command if host else []), "firefox-esr", "--headless", "--no-remote", "--profile", self._profile, "--remote-debugging-port=0",
             "--width", "1100", "--height", "900"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        url = None
        for line in self._process.stderr:
            found = re.search(r"WebDriver BiDi listening on (ws://\S+)", line)
            if found:
                url = found.group(1)
                break
        if url is None:
            raise RuntimeError("firefox-esr ended without a WebDriver BiDi address")
        # The pipe must not fill up while the browser lives.
        threading.Thread(target=self._process.stderr.read, daemon=True).start()
        self._id = 0
        there = None
        if host is not None:
            address, port = re.fullmatch(r"ws://([^:/]+):(\d+).*", url).groups()
            there = host.connect(address, int(port))
        # Without pings: a browser that is busy for long is no lost one.
        self._connection = connect(url + "/session", max_size=None, sock=there, ping_interval=None, open_timeout=60)
        self._socket = self._connection.__enter__()
        self._command("session.new", {"capabilities": {}})
        # The first tab may show a page of the browser's own, where no script may run.
        self._context = self._command("browsingContext.create", {"type": "tab"})["context"]

    def _command(self, method, params):
        self._id += 1
        self._socket.send(json.dumps({"id": self._id, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv(timeout=120))
            if message.get("id") != self._id:
                continue
            if message["type"] == "error":
                raise RuntimeError(f"{method}: {message['error']}: {message['message']}")
            return message["result"]

    def open(self, url):
        self._command("browsingContext.navigate", {"context": self._context, "url": url, "wait": "complete"})

    def evaluate(self, expression):
        result = self._command("script.evaluate", {
            "expression": f"(async () => JSON.stringify(await ({expression})))()",
            "target": {"context": self._context}, "awaitPromise": True})
        if result["type"] == "exception":
            raise RuntimeError(result["exceptionDetails"]["text"])
        text = result["result"].get("value")
        return None if text is None else json.loads(text)

    def screenshot(self, path):
        data = self._command("browsingContext.captureScreenshot", {"context": self._context})["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def close(self):
        try:
            self._command("browser.close", {})
        except Exception:
            pass
        self._connection.__exit__(None, None, None)
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._profile, ignore_errors=True)


BROWSERS = {"chromium": Chromium, "firefox": Firefox}
