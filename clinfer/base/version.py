"""Which clinfer this is: its version, and a digest of its code for what outlives the process."""
from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

VERSION = "0.1.0"
_PACKAGE = Path(__file__).resolve().parent.parent
_SOURCES = (".py", ".cl", ".h")


@cache
def code_digest() -> str:
    """A digest of every source of the package (Python, OpenCL and its headers), so that an edit of the code counts
    as another version wherever results of the code are kept on disk."""
    digest = hashlib.sha256()
    for path in sorted(p for p in _PACKAGE.rglob("*") if p.suffix in _SOURCES):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(_PACKAGE).as_posix()}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]


@cache
def code_stamp() -> str:
    """The same of the sizes of the sources and of when they were written: a tenth of the time, good for one
    installation and for what does no harm where it is out of date."""
    return hashlib.sha256(repr(sorted(_stamps(str(_PACKAGE)))).encode()).hexdigest()[:16]


def _stamps(folder: str) -> Iterator[tuple[str, int, int]]:
    for entry in os.scandir(folder):
        if entry.name.endswith(_SOURCES):
            known = entry.stat()
            yield entry.path, known.st_size, known.st_mtime_ns
        elif "." not in entry.name and entry.name != "__pycache__" and entry.is_dir():
            yield from _stamps(entry.path)
