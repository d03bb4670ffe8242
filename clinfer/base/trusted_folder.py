"""Folders whose files are believed: kernels as machine code, compiled models, what drivers were found to do.

Whoever can write such a file runs code as the user who reads it. So a folder is used only if nobody but this user (or
the system's) owns it and may write to it; each folder on the way to it is opened from the one above, never through a
link; and only ordinary files are opened, whose names are digests.
"""
from __future__ import annotations

import mmap
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from clinfer.base.tracing import log, warn_once

_NAME = re.compile(r"[0-9a-f]{32}(\.[a-z]{1,8})?")
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_FILE = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | _NO_LINK
_HAS_PLACES = {os.open, os.mkdir, os.stat, os.unlink, os.rename} <= os.supports_dir_fd
_SYSTEM_USER = 0
DAY_S = 24 * 3600


class Refused(OSError):
    """What lies in a folder may have been written by somebody else."""


class KeptFile(NamedTuple):
    """A file of a folder, and when it was last written or, give or take a day, read (seconds since 1970)."""

    name: str
    nbytes: int
    used: float


class TrustedFolder:
    """The folder `base`, which the user names, or one below it. Names of files are 32 hexadecimal digits, a suffix
    allowed; a file of another name, or that cannot be believed, is as if it were not there."""

    def __init__(self, base: Path, *parts: str) -> None:
        self._base = base
        self._parts = parts
        self.path = base.joinpath(*parts)

    def make(self) -> bool:
        """Make the folder, for this user alone; False if it is there and refused. Errors: OSError."""
        try:
            with self._opened(make=True):
                return True
        except Refused:
            return False

    def read(self, name: str, limit: int) -> bytes | None:
        """The contents of a file, None where there is none of at most `limit` bytes."""
        with self.file(name) as file:
            if file is None or os.fstat(file).st_size > limit:
                return None
            _note_use(file)
            with os.fdopen(os.dup(file), "rb") as opened:
                return opened.read(limit)

    def map(self, name: str) -> memoryview | None:
        """The contents of a file mapped into memory, None where there is none."""
        with self.file(name) as file:
            if file is None:
                return None
            return memoryview(mmap.mmap(file, 0, access=mmap.ACCESS_READ) if os.fstat(file).st_size else b"")

    def write(self, name: str, chunks: Iterable[bytes | memoryview]) -> None:
        """Write a file whole or not at all, in place of one that is there; if that fails, a line of the log says so."""
        try:
            with self._opened(make=True) as place:
                place.write(_checked(name), chunks)
        except Refused:
            pass
        except OSError as error:
            log(1, f"{self.path / name} cannot be written: {error}")

    def remove(self, name: str) -> None:
        """Remove a file, if it is there and can be removed."""
        try:
            with self._opened() as place:
                os.unlink(place.path_of(_checked(name)), **place.where())
        except OSError as error:
            log(1, f"{self.path / name} cannot be removed: {error}")

    def used(self, name: str) -> float | None:
        """When a file was last used, None where there is none."""
        with self.file(name) as file:
            return None if file is None else os.fstat(file).st_mtime

    def contents(self) -> tuple[list[KeptFile], list[str]]:
        """Its files, and the names of the folders in it; nothing where it is not there, or refused."""
        try:
            with self._opened() as place:
                return place.contents()
        except OSError:
            return [], []

    def below(self, part: str) -> TrustedFolder:
        """A folder in this one."""
        return TrustedFolder(self._base, *self._parts, part)

    @contextmanager
    def file(self, name: str) -> Iterator[int | None]:
        """A file, open for reading until the block ends; None where there is none."""
        file = None
        try:
            with self._opened() as place:
                file = place.open(_checked(name))
        except OSError:
            yield None
            return
        try:
            yield file
        finally:
            os.close(file)

    @contextmanager
    def _opened(self, make: bool = False) -> Iterator[_Place]:
        """The folder, open; OSError if it is not there, Refused (and one warning) if it is not to be trusted."""
        if make:
            self._base.mkdir(mode=0o700, parents=True, exist_ok=True)
        place = _Place(self._base)
        try:
            place.check()
            for part in self._parts:
                place.enter(part, make)
                place.check()
            yield place
        except Refused as refusal:
            warn_once(f"clinfer does not use the folder {place.path}: {refusal}. What lies there is run as native "
                      "code; make it yours alone (chmod 700), or name another folder")
            raise
        finally:
            place.close()


class _Place:
    """A folder that stays the same while its path may come to lead elsewhere, where the system has such things."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle = os.open(path, _FOLDER) if _HAS_PLACES else None

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)

    def path_of(self, name: str) -> str:
        return name if self._handle is not None else str(self.path / name)

    def where(self, keyword: str = "dir_fd") -> dict[str, Any]:
        return {} if self._handle is None else {keyword: self._handle}

    def check(self) -> None:
        known = os.stat(self.path, follow_symlinks=False) if self._handle is None else os.fstat(self._handle)
        if not stat.S_ISDIR(known.st_mode):
            raise NotADirectoryError(self.path)
        distrust = _distrust(known)
        if distrust:
            raise Refused(distrust)

    def enter(self, part: str, make: bool) -> None:
        """Go on to a folder in this one."""
        if make:
            try:
                os.mkdir(self.path_of(part), 0o700, **self.where())
            except FileExistsError:
                pass
        below = None if self._handle is None else os.open(part, _FOLDER | _NO_LINK, dir_fd=self._handle)
        self.close()
        self.path, self._handle = self.path / part, below

    def open(self, name: str) -> int:
        """An ordinary file, for reading; OSError for everything else, which is not even opened."""
        _check_file(os.stat(self.path_of(name), follow_symlinks=False, **self.where()))
        file = os.open(self.path_of(name), os.O_RDONLY | _FILE, **self.where())
        try:
            _check_file(os.fstat(file))
        except OSError:
            os.close(file)
            raise
        return file

    def contents(self) -> tuple[list[KeptFile], list[str]]:
        files, folders = [], []
        with os.scandir(self.path if self._handle is None else self._handle) as entries:
            for entry in entries:
                with suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.name)
                    elif entry.is_file(follow_symlinks=False) and _NAME.fullmatch(entry.name):
                        known = entry.stat(follow_symlinks=False)
                        files.append(KeptFile(entry.name, known.st_size, known.st_mtime))
        return files, folders

    def write(self, name: str, chunks: Iterable[bytes | memoryview]) -> None:
        temporary = self.path_of(f".{secrets.token_hex(8)}")
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE, 0o600, **self.where())
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines(chunks)
            os.replace(temporary, self.path_of(name), **self.where("src_dir_fd"), **self.where("dst_dir_fd"))
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, **self.where())
            raise


def _note_use(file: int) -> None:
    """Note that a file is used now, if the last time was more than a day ago."""
    now = time.time()
    if abs(now - os.fstat(file).st_mtime) > DAY_S and os.utime in os.supports_fd:
        with suppress(OSError):
            os.utime(file, (now, now))


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise FileNotFoundError(f"{name!r:.80} is no name of a file here")
    return name


def _check_file(known: os.stat_result) -> None:
    if not stat.S_ISREG(known.st_mode) or _distrust(known):
        raise FileNotFoundError("no ordinary file of this user")


def _distrust(known: os.stat_result) -> str:
    """Why somebody else may have written it, empty if this user or the system's owns it and only they write to it."""
    if not hasattr(os, "geteuid"):
        return ""
    if known.st_uid not in (os.geteuid(), _SYSTEM_USER):
        return f"it belongs to another user ({known.st_uid})"
    if known.st_mode & _OTHERS_WRITE:
        return f"other users may write to it (mode {stat.S_IMODE(known.st_mode):o})"
    return ""
