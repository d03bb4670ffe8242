"""Where shared libraries lie, found without loading them."""
from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from glob import glob
from pathlib import Path

_LINKER_CACHE = Path("/etc/ld.so.cache")
_OWN_PROGRAM = Path("/proc/self/exe")
_STANDARD_FOLDERS = ("/lib64", "/usr/lib64", "/usr/local/lib64", "/lib/*-linux-gnu*", "/usr/lib/*-linux-gnu*",
                     "/usr/local/lib", "/lib", "/usr/lib")
_ELF = b"\x7fELF"


def find_library(name: str, folders: Iterable[str] = ()) -> Path | None:
    """The file of a library: `name` itself if it is a path, else where the system's linker looks, else in `folders`
    (patterns). None where there is none that this process may load."""
    places = iter([Path(name)]) if "/" in name else _places(name, folders)
    return next((path for path in places if _is_loadable(path)), None)


def _places(name: str, folders: Iterable[str]) -> Iterator[Path]:
    yield from (Path(folder) / name for folder in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if folder)
    yield from _in_linker_cache(name)
    for pattern in (*_STANDARD_FOLDERS, *folders):
        yield from (Path(folder) / name for folder in sorted(glob(pattern)))


def _in_linker_cache(name: str) -> Iterator[Path]:
    """The paths of that name in the linker's cache, where each text ends with a zero."""
    try:
        content = _LINKER_CACHE.read_bytes()
    except OSError:
        return
    for found in re.finditer(rb"(?<=\0)/[^\0]*/" + re.escape(os.fsencode(name)) + rb"(?=\0)", content):
        yield Path(os.fsdecode(found[0]))


def _is_loadable(path: Path) -> bool:
    """Whether a file is a shared library for the same kind of process as this one."""
    kind = _elf_kind(path)
    return kind is not None and kind == (_elf_kind(_OWN_PROGRAM) or kind)


def _elf_kind(path: Path) -> tuple[bytes, bytes] | None:
    """The word size, byte order and processor that an ELF file is for; None if it is none."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            head = file.read(20)
    except OSError:
        return None
    return (head[4:6], head[18:20]) if head.startswith(_ELF) else None
