"""A helper process that builds programs and runs probes on the same device.

A driver's crash or hang ends the helper only. Messages are pickled, each behind its length.
"""
from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from clinfer.base.scratch import scratch_file
from clinfer.runtime.device import DeviceInfo

_START_TIMEOUT_S = 120.0
_FAREWELL_S = 5.0
_LENGTH_BYTES = 8
_KILL = getattr(signal, "SIGKILL", 0)
_PACKAGE_PARENT = Path(__file__).resolve().parents[2]


class HelperFailure(Exception):
    """The helper did not start, died or took too long; the text says which. It must be closed.

    `was_killed`: somebody else ended it, as the system does for want of memory.
    """

    def __init__(self, text: str, was_killed: bool = False) -> None:
        super().__init__(text)
        self.was_killed = was_killed


class Helper:
    """A process serving one device; it ends with `close()`, or by itself when this process ends.

    `is_in_background`: whether it leaves the processors to all that wants them.
    """

    def __init__(self, device: DeviceInfo, is_in_background: bool = False) -> None:
        self._errors = scratch_file()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "clinfer.runtime.build_worker"], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=self._errors, env=_environment())
        except OSError as error:
            self._errors.close()
            raise HelperFailure(f"no helper process could be started: {error}") from None
        try:
            self._greet(device, is_in_background)
        except HelperFailure:
            self.close()
            raise

    def _greet(self, device: DeviceInfo, is_in_background: bool) -> None:
        problem = self.request((device.identity, is_in_background), _START_TIMEOUT_S)
        if problem is not None:
            raise HelperFailure(str(problem))

    def request(self, message: Any, timeout: float) -> Any:
        """The answer to one message; `HelperFailure` if the helper dies or needs over `timeout` seconds."""
        late = threading.Event()

        def stop() -> None:
            late.set()
            self._process.kill()

        timer = threading.Timer(timeout, stop)
        timer.daemon = True
        timer.start()
        try:
            assert self._process.stdin and self._process.stdout
            send(self._process.stdin, message)
            return receive(self._process.stdout)
        except (OSError, EOFError):
            raise (HelperFailure(f"took more than {timeout:g} s") if late.is_set() else self._obituary()) from None
        finally:
            timer.cancel()

    def _obituary(self) -> HelperFailure:
        try:
            code = self._process.wait(_FAREWELL_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._errors.seek(0)
        last_words = self._errors.read().decode(errors="replace").strip()[-2000:]
        return HelperFailure(f"the helper process died with exit code {code}\n{last_words}".strip(),
                             was_killed=code == -_KILL)

    @property
    def is_alive(self) -> bool:
        """Whether the process is still there."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            try:
                pipe.close()  # type: ignore[union-attr]
            except (OSError, ValueError):
                # Broken, or closed by another thread at this moment.
                pass

    def __enter__(self) -> Helper:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


def _environment() -> dict[str, str]:
    """The child imports what this process imports, and nothing from the folder it happens to start in."""
    paths = [str(_PACKAGE_PARENT), *(os.path.abspath(p) for p in sys.path if p)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)), "PYTHONSAFEPATH": "1"}


def send(pipe: IO[bytes], message: Any) -> None:
    """Write one message."""
    raw = pickle.dumps(message)
    pipe.write(len(raw).to_bytes(_LENGTH_BYTES, "little") + raw)
    pipe.flush()


def receive(pipe: IO[bytes]) -> Any:
    """Read one message; EOFError when the other side is gone."""
    length = int.from_bytes(_exactly(pipe, _LENGTH_BYTES), "little")
    return pickle.loads(_exactly(pipe, length))


def _exactly(pipe: IO[bytes], count: int) -> bytes:
    raw = pipe.read(count)
    if raw is None or len(raw) < count:
        raise EOFError
    return raw
