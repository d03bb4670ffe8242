"""Helper processes that build programs, kept from one build to the next: to start one costs as much as ten kernels."""
from __future__ import annotations

import threading
from typing import Any

from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.helper import Helper

MOST_REQUESTS = 100
"""After so many a helper is replaced, because compilers grow."""


class KeptHelper:
    """Stands for a `Helper` that closing keeps for the next one, unless it failed or was busy."""

    _idle: tuple[DeviceInfo, Helper, int] | None = None
    _lock = threading.Lock()

    def __init__(self, device: DeviceInfo) -> None:
        with self._lock:
            idle, KeptHelper._idle = self._idle, None
        self._device, self._requests, self._is_sound = device, 0, True
        if idle is not None and idle[0] == device:
            _, self._helper, self._requests = idle
        else:
            if idle is not None:
                idle[1].close()
            self._helper = Helper(device)

    def request(self, message: Any, timeout: float) -> Any:
        """The answer of the helper; errors are its own."""
        self._is_sound = False
        answer = self._helper.request(message, timeout)
        self._is_sound, self._requests = True, self._requests + 1
        return answer

    def close(self) -> None:
        """Keep the helper, or end it where another one is kept."""
        if self._is_sound and self._requests < MOST_REQUESTS:
            with self._lock:
                if self._idle is None:
                    KeptHelper._idle = self._device, self._helper, self._requests
                    return
        self._helper.close()

    @classmethod
    def end(cls) -> None:
        """End the helper that is kept."""
        with cls._lock:
            idle, cls._idle = cls._idle, None
        if idle is not None:
            idle[1].close()
