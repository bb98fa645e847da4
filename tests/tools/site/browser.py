"""Debian's Chromium, driven through ChromeDriver's own protocol with the standard library."""

from __future__ import annotations

import base64
import contextlib
import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium")
DRIVER = shutil.which("chromedriver")
MISSING = (
    "" if CHROMIUM and DRIVER else "no browser: apt-get install chromium chromium-driver runs this"
)
FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
]  # fmt: skip


class Browser:
    """One session. Sizes are those of the page, not of the window."""

    def __init__(self, port: int, folder: str) -> None:
        self.base = f"http://127.0.0.1:{port}"
        options = {"binary": CHROMIUM, "args": [*FLAGS, f"--user-data-dir={folder}"]}
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        made = self.send("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = f"/session/{made['sessionId']}"

    def send(self, method: str, path: str, body: Any = None) -> Any:
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.base + path, data, method=method)
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def open(self, url: str) -> None:
        self.send("POST", f"{self.session}/url", {"url": url})

    def run(self, script: str, *args: Any) -> Any:
        body = {"script": script, "args": list(args)}
        return self.send("POST", f"{self.session}/execute/sync", body)

    def size(self, width: int, height: int, dark: bool = False) -> None:
        self.cdp("Emulation.setDeviceMetricsOverride",
                 width=width, height=height, deviceScaleFactor=1, mobile=False)  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.cdp("Emulation.setEmulatedMedia", features=[scheme])

    def cdp(self, command: str, **params: Any) -> Any:
        body = {"cmd": command, "params": params}
        return self.send("POST", f"{self.session}/goog/cdp/execute", body)

    def type(self, text: str) -> None:
        """Keys, to whatever has the focus."""
        keys = [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")]
        actions = [{"type": "key", "id": "keyboard", "actions": keys}]
        self.send("POST", f"{self.session}/actions", {"actions": actions})

    def console(self) -> list[str]:
        """What was logged since the last question."""
        rows = self.send("POST", f"{self.session}/se/log", {"type": "browser"})
        return [row["message"] for row in rows]

    def requests(self) -> list[str]:
        """The addresses asked for since the last question."""
        rows = self.send("POST", f"{self.session}/se/log", {"type": "performance"})
        found = [json.loads(row["message"])["message"] for row in rows]
        return [
            row["params"]["request"]["url"]
            for row in found
            if row["method"] == "Network.requestWillBeSent"
        ]

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.send("GET", f"{self.session}/screenshot")))

    def close(self) -> None:
        self.send("DELETE", self.session)


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """A browser for the length of a block; the processes end with it."""
    assert DRIVER
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    driver = subprocess.Popen([DRIVER, f"--port={port}"], stdout=subprocess.DEVNULL)
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            made = _connect(port, folder)
            try:
                yield made
            finally:
                made.close()
    finally:
        driver.terminate()
        driver.wait()


def _connect(port: int, folder: str) -> Browser:
    last: Exception | None = None
    for _ in range(100):
        try:
            return Browser(port, folder)
        except (urllib.error.URLError, ConnectionError) as error:
            last = error
            time.sleep(0.1)
    raise RuntimeError("the browser's driver does not answer") from last
