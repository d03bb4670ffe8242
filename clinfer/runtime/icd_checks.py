"""Which drivers may be loaded into this process: each is first tried in a process of its own.

A driver that crashes or hangs there is left out, and so is one that would meet another copy of what a process bears
once. What was found is kept on disk for as long as the driver's file, and the libraries that the linker knows, stay
what they are; a driver that was left out is tried again after the machine was started anew.
"""
from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

from clinfer.base import knobs
from clinfer.base.tracing import log
from clinfer.base.trusted_folder import TrustedFolder
from clinfer.runtime import icd_library
from clinfer.runtime.icds import Icd

_REVISION = 1
_TIMEOUT_S = 60.0
_FAREWELL_S = 2.0
_LARGEST_RECORD = 4096
_LINKER_CACHE = "/etc/ld.so.cache"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_PROGRAM = Path(icd_library.__file__)


@dataclass(frozen=True)
class IcdCheck:
    """What came of trying a driver: why it must not be loaded (empty: it may), and what of
    `icd_library.ONE_PER_PROCESS` it brings."""

    problem: str = ""
    exports: tuple[str, ...] = ()


class DriverRefused(Exception):
    """Why a driver must not be loaded into this process."""


def admit(icd: Icd) -> Icd:
    """The driver as it may be opened here. Errors: DriverRefused."""
    if icd_library.is_loaded(icd.library):
        return icd
    check = _checked(icd)
    if check.problem:
        raise DriverRefused(check.problem)
    clash = sorted(set(check.exports) & set(icd_library.common_exports()))
    if not clash:
        return icd
    if not icd_library.can_load_apart():
        raise DriverRefused(f"it brings {clash[0]}, which another library of this process has already, and the two "
                            "would crash it; import clinfer before that library (TensorFlow is one)")
    log(1, f"OpenCL: {icd.library} is opened apart from the {clash[0]} that this process has")
    return replace(icd, is_apart=True)


@cache
def _checked(icd: Icd) -> IcdCheck:
    file = icd.file
    if file is None or getattr(sys, "frozen", False):
        return IcdCheck()
    key = _key(file)
    name = f"{hashlib.sha256(json.dumps(key).encode()).hexdigest()[:32]}.json"
    folder = TrustedFolder(knobs.cache_dir(), "drivers") if knobs.cache_enabled() else None
    known = _read(folder, name, key) if folder else None
    if known is None:
        known = _try(icd.library)
        if folder and known is not None:
            record = {"key": key, "boot": _boot_id() if known.problem else "", **asdict(known)}
            folder.write(name, [json.dumps(record).encode()])
    return known or IcdCheck()


def _key(file: Path) -> list[object]:
    known = file.stat()
    try:
        linker: object = os.stat(_LINKER_CACHE).st_mtime_ns
    except OSError:
        linker = None
    return [_REVISION, str(file), known.st_ino, known.st_size, known.st_mtime_ns, linker,
            os.environ.get("LD_LIBRARY_PATH", "")]


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _read(folder: TrustedFolder, name: str, key: list[object]) -> IcdCheck | None:
    try:
        record = json.loads(folder.read(name, _LARGEST_RECORD) or b"")
        if record["key"] != key or record["boot"] not in ("", _boot_id()):
            return None
        return IcdCheck(str(record["problem"]), tuple(map(str, record["exports"])))
    except (LookupError, RecursionError, TypeError, ValueError):
        return None


def _try(library: str) -> IcdCheck | None:
    """What is found by a process that loads the driver; None if no process could be had."""
    log(1, f"OpenCL: trying the driver {library}")
    try:
        process = subprocess.Popen([sys.executable, "-I", "-S", str(_PROGRAM), library], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError as error:
        log(1, f"OpenCL: no process to try {library} in: {error}")
        return None
    try:
        answer, _ = process.communicate(timeout=_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return IcdCheck(f"it did not answer within {_TIMEOUT_S:g} s when it was tried")
    finally:
        _end(process)
    return _judge(answer, process.returncode)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that still runs. One that hangs in the system's kernel cannot be waited for."""
    process.kill()
    try:
        if process.stdout:
            process.stdout.close()
        process.wait(_FAREWELL_S)
    except subprocess.TimeoutExpired:
        log(1, f"OpenCL: process {process.pid}, which tried a driver, does not end")


def _judge(answer: bytes, status: int) -> IcdCheck | None:
    begun, _, found = answer.decode(errors="replace").partition("\n")
    if begun != icd_library.BEGUN:
        return None
    if status < 0:
        return IcdCheck(f"it crashed the process in which it was tried ({_signal_name(-status)})")
    if not found:
        return IcdCheck(f"it ended the process in which it was tried (exit status {status})")
    return IcdCheck("", tuple(json.loads(found).get("exports", ())))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
