"""Building OpenCL programs, from source or from the binary of an earlier build.

Drivers crash on damaged or foreign binaries, so binaries leave this module sealed: behind a digest of
themselves and of the device and driver that made them.
"""
from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import partial

import pyopencl as cl

from clinfer.base.errors import ClinferError
from clinfer.runtime import driver
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.settings_folder import settings_folder
from clinfer.runtime.signal_handlers import pythons_handlers_kept
from clinfer.runtime.status import status_name
from clinfer.runtime.waiting import answering, in_folder

_LOG_LINES = 40
_DIGEST_BYTES = 32
_ENTRY = re.compile(r"\b(?:__)?kernel\b[^;{]*?\bvoid\s+(\w+)\s*\(", re.DOTALL)


class BuildFailure(Exception):
    """Why a program did not build: the compiler's log, or what is wrong with a binary."""


@dataclass(frozen=True)
class Rewrite:
    """A change of a driver's binary that is text: each match of `pattern`, a regular expression of `re`, becomes
    `replacement`. A binary without one is another than was thought of, and no program."""

    pattern: str
    replacement: str


@dataclass(frozen=True)
class BuildJob:
    """One program to build; with `rewrites`, a second time of the changed binary. With a `binary`, which is not sealed,
    there is no source."""

    source: str
    options: str = ""
    rewrites: tuple[Rewrite, ...] = ()
    binary: bytes = b""


def retargeted(present: str, wanted: str, registers: int) -> tuple[Rewrite, ...]:
    """For drivers whose binaries are PTX (NVIDIA's): the program for another target than the driver's own.

    What only that target has stands in the source as comments within inline assembly, "//@@ wgmma..."; operands are
    put into them all the same. They come to light here. `registers`: the most that a work-item may have. PTX is
    described in NVIDIA's "Parallel Thread Execution ISA" (directives .target, .entry and .maxnreg).
    """
    return (Rewrite(rf"(?m)^(\s*\.target\s+){present}\b", rf"\g<1>{wanted}"), Rewrite(r"//@@", ""),
            Rewrite(r"(\.entry\s+\w+\s*\([^)]*\))", rf"\g<1>\n.maxnreg {registers}"), Rewrite(r"\0*\Z", ""))


def compile_job(context: cl.Context, device: cl.Device, job: BuildJob) -> cl._cl._Program:
    """Build one program; `BuildFailure` with the compiler's log, or with the rewrite that found nothing."""
    if job.binary:
        return _compile_text(context, device, job.binary, job.options)
    program = compile_source(context, device, job.source, job.options)
    if not job.rewrites:
        return program
    return _compile_text(context, device, _rewritten(_raw_binary(program, device), job.rewrites), job.options)


def _compile_text(context: cl.Context, device: cl.Device, binary: bytes, options: str) -> cl._cl._Program:
    try:
        program = cl._cl._Program(context, [device], [binary])
    except cl.Error as error:
        raise BuildFailure(f"the driver refuses the binary: {error}") from None
    return _build(program, device, options)


def _rewritten(binary: bytes, rewrites: tuple[Rewrite, ...]) -> bytes:
    # Every byte is a character of Latin-1, so that what no rewrite touches stays as it is.
    text = binary.decode("latin-1")
    for rewrite in rewrites:
        text, count = re.subn(rewrite.pattern, rewrite.replacement, text)
        if not count:
            raise BuildFailure(f"the driver's binary has nothing that matches {rewrite.pattern!r}")
    return text.encode("latin-1")


# pyopencl's own Program would read and write a cache on disk and warn about every remark of the compiler.
def compile_source(context: cl.Context, device: cl.Device, source: str, options: str) -> cl._cl._Program:
    """Build one program; `BuildFailure` with the compiler's log if that fails."""
    return _build(cl._cl._Program(context, source), device, options)


def compile_binary(context: cl.Context, device: DeviceInfo, sealed: bytes, options: str) -> cl._cl._Program:
    """Load an earlier build; `BuildFailure` if it is damaged, foreign or refused by the driver."""
    unit = device.cl_device
    try:
        program = cl._cl._Program(context, [unit], [unseal(sealed, device)])
    except cl.Error as error:
        raise BuildFailure(str(error)) from None
    # A source may include files by their way from the working folder; a binary has all that it needs.
    return _build(program, unit, options, settings_folder(unit))


def seal(binary: bytes, device: DeviceInfo) -> bytes:
    """A driver's binary behind the digest that `unseal` checks."""
    return _digest(binary, device) + binary


def unseal(sealed: bytes, device: DeviceInfo) -> bytes:
    """The driver's binary; `BuildFailure` if it was damaged or made by another device or driver."""
    binary = sealed[_DIGEST_BYTES:]
    if not binary or sealed[:_DIGEST_BYTES] != _digest(binary, device):
        raise BuildFailure("the binary is damaged, or was made for another device or driver")
    return binary


def _digest(binary: bytes, device: DeviceInfo) -> bytes:
    return hashlib.sha256("\0".join((*device.driver_key, "")).encode() + binary).digest()


def _build(program: cl._cl._Program, device: cl.Device, options: str, folder: str = "") -> cl._cl._Program:
    build = partial(driver.build_program, program, device, options)
    with pythons_handlers_kept():
        status = in_folder(folder, build) if folder else answering(build)
    if status:
        log = _build_log(program, device)
        raise BuildFailure(f"clBuildProgram failed: {status_name(status)}\n{log}".strip())
    return program


def _build_log(program: cl._cl._Program, device: cl.Device) -> str:
    try:
        return str(program.get_build_info(device, cl.program_build_info.LOG)).strip("\0 \n")
    except cl.Error:
        return ""


def binary_of(program: cl._cl._Program, device: DeviceInfo) -> bytes:
    """The sealed binary of a built program."""
    return seal(_raw_binary(program, device.cl_device), device)


def _raw_binary(program: cl._cl._Program, device: cl.Device) -> bytes:
    place = program.get_info(cl.program_info.DEVICES).index(device)
    return bytes(program.get_info(cl.program_info.BINARIES)[place])


def entry_names(source: str) -> list[str]:
    """Names of the kernels that a source spells out; those made by macros are not seen."""
    return _ENTRY.findall(source)


def build_error(device: DeviceInfo, log: str, what: str, options: str) -> ClinferError:
    """The user's error for a failed build of `what` (kernel names); the log is cut to its first lines."""
    lines = log.splitlines()
    if len(lines) > _LOG_LINES:
        lines = [*lines[:_LOG_LINES], f"... {len(lines) - _LOG_LINES} more lines"]
    return ClinferError(f"the OpenCL compiler refused {what}", where=f"build for {device}",
                        values={"options": options or "none", "log": "\n    ".join(["", *lines])},
                        hint="CLINFER_DEBUG=4 prints the source, CLINFER_FORCE_KERNEL chooses another kernel")


class Program:
    """A built program of one engine. Kernels keep it alive."""

    __slots__ = ("__weakref__", "cl_program", "device")

    def __init__(self, cl_program: cl._cl._Program, device: DeviceInfo) -> None:
        self.cl_program = cl_program
        self.device = device

    @property
    def binary(self) -> bytes:
        """What `Engine.load_binary` takes on the same device and driver version (sealed)."""
        return binary_of(self.cl_program, self.device)

    @property
    def kernel_names(self) -> tuple[str, ...]:
        """The kernels in this program."""
        names = self.cl_program.get_info(cl.program_info.KERNEL_NAMES)
        return tuple(name for name in str(names).split(";") if name)
