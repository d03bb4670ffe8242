"""Helper processes that stay for the next build: to start one takes as long as ten kernels."""
from __future__ import annotations

import atexit
import os
import threading
from typing import Any, ClassVar

from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.helper import Helper

IDLE_SECONDS = 5.0
"""For so long a helper waits for another build; it holds a few hundred megabytes."""
MOST_REQUESTS = 100
"""After so many a helper is replaced, because compilers grow."""


class KeptHelper:
    """Stands for a `Helper` that closing keeps for the next one, unless it failed or was busy. One is kept per
    device."""

    _idle: ClassVar[dict[tuple[str, ...], KeptHelper]] = {}
    _lock = threading.Lock()

    def __init__(self, device: DeviceInfo) -> None:
        """`HelperFailure` if none can be started."""
        idle = self._take(device)
        if idle is not None and not idle._helper.is_alive:
            idle._helper.close()
            idle = None
        self._device: DeviceInfo = device
        self._is_sound: bool = True
        self._helper: Helper = Helper(device) if idle is None else idle._helper
        self._requests: int = 0 if idle is None else idle._requests
        self._timer: threading.Timer | None = None

    def request(self, message: Any, timeout: float) -> Any:
        """The answer of the helper; errors are its own."""
        self._is_sound = False
        answer = self._helper.request(message, timeout)
        self._is_sound, self._requests = True, self._requests + 1
        return answer

    def close(self) -> None:
        """Keep the helper for a while, or end it where another one is kept."""
        if self._is_sound and self._requests < MOST_REQUESTS:
            with self._lock:
                if self._idle.setdefault(self._device.identity, self) is self:
                    self._timer = threading.Timer(IDLE_SECONDS, self._end_if_idle)
                    self._timer.daemon = True
                    self._timer.start()
                    return
        self._helper.close()

    @classmethod
    def end(cls) -> None:
        """End the helpers that are kept."""
        for device in [idle._device for idle in list(cls._idle.values())]:
            idle = cls._take(device)
            if idle is not None:
                idle._helper.close()

    def _end_if_idle(self) -> None:
        with self._lock:
            if self._idle.get(self._device.identity) is not self:
                return
            del self._idle[self._device.identity]
        self._helper.close()

    @classmethod
    def _take(cls, device: DeviceInfo) -> KeptHelper | None:
        with cls._lock:
            idle = cls._idle.pop(device.identity, None)
        if idle is not None and idle._timer is not None:
            idle._timer.cancel()
        return idle

    @classmethod
    def _forget(cls) -> None:
        """In a process that was forked: the helpers are its parent's."""
        cls._lock, cls._idle = threading.Lock(), {}


atexit.register(KeptHelper.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=KeptHelper._forget)
