"""Drives a headless Chromium through its DevTools protocol."""

import base64
import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import websocket

CHROMIUM = next(
    (
        found
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (found := shutil.which(name))
    ),
    None,
)
needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="needs chromium, which is not installed"
)
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-port=0",
    "--remote-allow-origins=*",
)
_PATIENCE_S = 120


class Browser:
    """A page of a browser, and what it complained of.

    Attributes:
        errors: Messages of the console and of the browser, warnings included.
        requests: Addresses that the page asked for.
    """

    def __init__(self, address: str) -> None:
        self._socket = websocket.create_connection(address, timeout=_PATIENCE_S)
        self._number = 0
        self.errors: list[str] = []
        self.requests: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """Call a method of the protocol, and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        self._socket.send(json.dumps(message))
        while True:
            answer = json.loads(self._socket.recv())
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def _note(self, event: dict[str, Any]) -> None:
        told = event.get("params", {})
        if event["method"] == "Runtime.exceptionThrown":
            self.errors.append(str(told["exceptionDetails"]))
        elif event["method"] == "Runtime.consoleAPICalled":
            if told["type"] in ("error", "warning", "assert"):
                self.errors.append(str(told["args"]))
        elif event["method"] == "Log.entryAdded":
            if told["entry"]["level"] in ("error", "warning"):
                self.errors.append(told["entry"]["text"])
        elif event["method"] == "Network.requestWillBeSent":
            address = told["request"]["url"]
            # What the page has in itself is no request.
            if not address.startswith(("data:", "blob:")):
                self.requests.append(address)

    def open(self, page: Path) -> None:
        """Open a file, and wait until it is loaded."""
        self.call("Page.navigate", url=page.as_uri())
        self.wait("document.readyState === 'complete' && location.protocol === 'file:'")

    def ask(self, expression: str) -> Any:  # noqa: ANN401 - whatever JavaScript gives
        """Return the value of an expression."""
        result = self.call(
            "Runtime.evaluate",
            expression=expression,
            returnByValue=True,
            awaitPromise=True,
        )
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait(self, expression: str) -> None:
        """Wait until an expression holds."""
        end = time.monotonic() + _PATIENCE_S
        while not self.ask(expression):
            assert time.monotonic() < end, f"{expression} does not come true"
            time.sleep(0.1)

    def key(self, name: str) -> None:
        """Press a key."""
        text = name if len(name) == 1 else ""
        self.call("Input.dispatchKeyEvent", type="keyDown", key=name, text=text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name)

    def click(self, x: float, y: float) -> None:
        """Click at a place of the view."""
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=x,
                y=y,
                button="left",
                clickCount=1,
            )

    def size(self, width: int, height: int) -> None:
        """Give the view a size."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def prefer(self, scheme: str) -> None:
        """Prefer `dark` or `light`, as the system of a user does."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def screenshot(self, target: Path) -> None:
        """Write what the view shows as a PNG."""
        shown = self.call("Page.captureScreenshot", format="png")
        target.write_bytes(base64.b64decode(shown["data"]))

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """Start a browser with a profile of its own."""
    assert CHROMIUM is not None
    profile = folder / "profile"
    process = subprocess.Popen(
        [CHROMIUM, *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        port = _port(profile, process)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list") as answer:
            pages = json.load(answer)
        address = next(one for one in pages if one["type"] == "page")
        page = Browser(address["webSocketDebuggerUrl"])
        try:
            yield page
        finally:
            page.close()
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _port(profile: Path, process: subprocess.Popen[bytes]) -> int:
    end = time.monotonic() + _PATIENCE_S
    told = profile / "DevToolsActivePort"
    while time.monotonic() < end:
        assert process.poll() is None, "the browser ended"
        if told.is_file() and told.read_text().strip():
            return int(told.read_text().split()[0])
        time.sleep(0.1)
    raise AssertionError("the browser names no port")
