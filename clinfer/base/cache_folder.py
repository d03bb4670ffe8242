"""The user's caches of kernels, choices of kernels and traces: files that are made again where they are missing, which
together are bounded.

Once a day, a process that writes to one of them looks at all. Where they hold more than `MOST_BYTES`, the files that
were not read for the longest time go. Other processes may read and write meanwhile: what they have open stays whole,
and what is gone is as if it had never been there.
"""
from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from clinfer.base import knobs
from clinfer.base.tracing import log
from clinfer.base.trusted_folder import DAY_S, KeptFile, TrustedFolder

MOST_BYTES = 2 << 30
_LEFT = 0.75
"""The part of that which stays, so that many days pass before anything goes again."""
_FEWEST_BYTES = 4096
"""What a small file takes of a disk."""
_BOUNDED = ("kernels", "choices", "traces")
_DEEPEST = 3
_LOOKED_AT = f"{'0' * 32}.bounded"
"""The file whose age tells when somebody looked."""


class CacheFolder(TrustedFolder):
    """A folder within one of the caches."""

    def __init__(self, *parts: str) -> None:
        assert parts[0] in _BOUNDED
        self._cache = knobs.cache_dir()
        super().__init__(self._cache, *parts)

    def write(self, name: str, chunks: Iterable[bytes | memoryview]) -> None:
        """See TrustedFolder."""
        super().write(name, chunks)
        whole = TrustedFolder(self._cache)
        used = whole.used(_LOOKED_AT)
        if used is None or abs(time.time() - used) > DAY_S:
            whole.write(_LOOKED_AT, [])
            bound(self._cache)


def bound(cache: Path) -> None:
    """Remove what was not used for the longest time, where there is too much."""
    found = [each for part in _BOUNDED for each in _files_within(TrustedFolder(cache, part), _DEEPEST)]
    held = sum(_taken(file) for _, file in found)
    if held <= MOST_BYTES:
        return
    log(1, f"the caches in {cache} hold {held >> 20} MiB: what was not used for the longest time goes")
    for folder, file in sorted(found, key=lambda each: each[1].used):
        if held <= MOST_BYTES * _LEFT:
            break
        folder.remove(file.name)
        held -= _taken(file)


def _files_within(folder: TrustedFolder, depth: int) -> Iterator[tuple[TrustedFolder, KeptFile]]:
    files, folders = folder.contents()
    yield from ((folder, file) for file in files)
    if depth > 1:
        for name in folders:
            yield from _files_within(folder.below(name), depth - 1)


def _taken(file: KeptFile) -> int:
    return max(file.nbytes, _FEWEST_BYTES)
