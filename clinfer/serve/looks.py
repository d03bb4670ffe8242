"""Looks at something that changes and is slow to look at, shared by all who want to see it."""
from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Looks(Generic[T]):
    """What `look` sees, in a thread of its own. However many ask at a time, one look is under way, and each of them
    waits for two at most."""

    def __init__(self, look: Callable[[], T]) -> None:
        self._look = look
        self._seen: T | None = None
        self._seen_at = self._changed_at = float("-inf")
        self._looking: asyncio.Task[None] | None = None

    async def get(self, max_age_s: float) -> T:
        """What was seen by a look that began so many seconds before this call, or later. Errors: those of `look`."""
        asked = time.monotonic()
        while self._seen is None or asked - self._seen_at > max_age_s:
            if self._looking is None:
                self._looking = asyncio.create_task(self._take())
            # Others wait for the same look.
            await asyncio.shield(self._looking)
        return self._seen

    def forget(self) -> None:
        """What was seen so far, and what a look sees that is under way, is out of date."""
        self._seen_at, self._changed_at = float("-inf"), time.monotonic()

    async def _take(self) -> None:
        begun = time.monotonic()
        try:
            seen = await asyncio.to_thread(self._look)
        finally:
            self._looking = None
        if begun >= self._changed_at:
            self._seen, self._seen_at = seen, begun
