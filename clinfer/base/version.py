"""Which clinfer this is: its version, and a digest of its code for what outlives the process."""
from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from clinfer.base import knobs
from clinfer.base.trusted_folder import TrustedFolder

VERSION = "0.1.0"
_PACKAGE = Path(__file__).resolve().parent.parent
_SOURCES = (".py", ".cl", ".h")
_LONGEST_KEPT = 256


@cache
def code_digest() -> str:
    """A digest of every source of the package (Python, OpenCL and its headers), so that an edit of the code counts
    as another version wherever results of the code are kept on disk.

    What the sources were read as is kept with the state of their files, so that a process which finds them in that
    state need not read them.
    """
    if not knobs.cache_enabled():
        return _digest_of_sources()
    folder, name = TrustedFolder(knobs.cache_dir(), "code"), f"{_short(str(_PACKAGE))}.digest"
    state = _short(repr(sorted(_states(str(_PACKAGE)))))
    kept_state, _, digest = (folder.read(name, _LONGEST_KEPT) or b"").decode("latin1").partition(" ")
    if kept_state != state:
        digest = _digest_of_sources()
        folder.write(name, [f"{state} {digest}".encode()])
    return digest


@cache
def code_stamp() -> str:
    """The same of the sizes of the sources and of when they were written: good for one installation and for what does
    no harm where it is out of date."""
    return _short(repr(sorted((path, known.st_size, known.st_mtime_ns) for path, known in _found(str(_PACKAGE)))))[:16]


def _digest_of_sources() -> str:
    digest = hashlib.sha256()
    for path in sorted(p for p in _PACKAGE.rglob("*") if p.suffix in _SOURCES):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(_PACKAGE).as_posix()}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]


def _states(folder: str) -> Iterator[tuple[str, int, int, int, int]]:
    """What no other content of a file has: writing sets the time of its last change, which nobody can set back."""
    for path, known in _found(folder):
        yield path, known.st_ino, known.st_size, known.st_mtime_ns, known.st_ctime_ns


def _found(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    for entry in os.scandir(folder):
        if entry.name.endswith(_SOURCES):
            yield entry.path, entry.stat()
        elif "." not in entry.name and entry.name != "__pycache__" and entry.is_dir():
            yield from _found(entry.path)


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
