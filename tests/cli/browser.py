"""A headless browser for tests, driven over its debugging pipe: pages, scripts, clicks, screenshots, errors."""
from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_PATIENCE_S = 60.0


def find_browser() -> str | None:
    """The program of a browser that can be driven, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Page:
    """One page in a browser of its own. `errors`: what the console and the page complained about."""

    def __init__(self, program: str, path: Path, dark: bool = False) -> None:
        self.errors: list[str] = []
        self._number = 0
        self._session = ""
        self._loaded = False
        self._pending = b""
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._process, self._to, self._from = _start(program, self._profile.name)
        target = self._call("Target.createTarget", url="about:blank", width=1500, height=950)["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self.open(path)

    def open(self, path: Path) -> None:
        """Load a file as if nothing had happened before, and wait until it is painted: earlier keys would be lost."""
        self.resize(1500, 950)
        self.errors.clear()
        self._loaded = False
        self._call("Page.navigate", url=path.resolve().as_uri())
        while not self._loaded:
            self._handle(self._receive())
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def evaluate(self, script: str) -> Any:
        """The value of an expression, as JSON; an AssertionError with what it throws."""
        done = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def click(self, selector: str) -> None:
        """Click with the mouse on the middle of the first element that a selector finds."""
        box = self.evaluate("(b => [b.x + b.width / 2, b.y + b.height / 2])"
                            f"(document.querySelector({json.dumps(selector)}).getBoundingClientRect())")
        for kind, buttons in (("mousePressed", 1), ("mouseReleased", 0)):
            self._call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", buttons=buttons,
                       clickCount=1)

    def type(self, text: str) -> None:
        """Type into the focused element."""
        self._call("Input.insertText", text=text)

    def press(self, key: str) -> None:
        """Press a key: a character, or a name such as ArrowDown."""
        text = {"text": key} if len(key) == 1 else {}
        self._call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self._call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def resize(self, width: int, height: int) -> None:
        """Let the window have this size."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def screenshot(self, target: Path) -> None:
        """Write what is seen as a .png."""
        target.write_bytes(base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"]))

    def close(self) -> None:
        """End the browser."""
        self._session = ""
        self._call("Browser.close")
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for end in (self._to, self._from):
            os.close(end)
        self._profile.cleanup()

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _call(self, method: str, **parameters: object) -> Any:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self._handle(answer)

    def _receive(self) -> dict[str, Any]:
        deadline = time.monotonic() + _PATIENCE_S
        while b"\0" not in self._pending:
            assert time.monotonic() < deadline, "the browser does not answer"
            piece = os.read(self._from, 1 << 16)
            assert piece, "the browser ended"
            self._pending += piece
        message, _, self._pending = self._pending.partition(b"\0")
        return json.loads(message)

    def _handle(self, event: dict[str, Any]) -> None:
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Page.loadEventFired":
            self._loaded = True
        elif (method == "Runtime.exceptionThrown"
              or (method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"))
              or (method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"))):
            self.errors.append(json.dumps(parameters))


def _start(program: str, profile: str) -> tuple[subprocess.Popen[bytes], int, int]:
    """The browser reads commands from its descriptor 3 and writes answers to 4."""
    read_command, write_command = os.pipe()
    read_answer, write_answer = os.pipe()
    script = 'exec "$0" "$@" 3<&"$COMMANDS" 4>&"$ANSWERS"'
    process = subprocess.Popen(
        ["bash", "-c", script, program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
         "--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"],
        pass_fds=(read_command, write_answer), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "COMMANDS": str(read_command), "ANSWERS": str(write_answer)})
    os.close(read_command)
    os.close(write_answer)
    return process, write_command, read_answer
