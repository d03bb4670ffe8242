"""What a device can do: limits that the driver reports, and abilities found by probing, kept on disk."""
from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyopencl as cl

from clinfer.base import knobs
from clinfer.base.errors import ClinferError
from clinfer.base.tracing import log
from clinfer.base.trusted_folder import TrustedFolder
from clinfer.runtime.ceilings import Ceilings, are_measured, ceilings_of
from clinfer.runtime.device import DeviceInfo, compiler_settings, shares_host_memory
from clinfer.runtime.hardware import Hardware, hardware_of
from clinfer.runtime.helper import Helper, HelperFailure
from clinfer.runtime.memory_types import AllocationType, NativeType, native_types, physical_memory
from clinfer.runtime.probe_bench import Bench
from clinfer.runtime.probes import NEEDS, PROBES, run_probe
from clinfer.runtime.processor import ASSEMBLY, has_instructions
from clinfer.runtime.remeasuring import SINGLE_RATES, is_due, with_better
from clinfer.runtime.status import driver_error
from clinfer.runtime.tile_registers import may_use_tile_registers

_REVISION = 13
"""Raised whenever a probe changes its meaning, so that answers on disk are asked for again."""
_PROBE_TIMEOUT_S = 30.0
_LARGEST_ANSWERS = 1 << 16


@dataclass(frozen=True)
class Capabilities:
    """Limits in bytes or work-items, as the driver reports them; the abilities below them were probed."""

    device_type: str
    opencl_c_version: tuple[int, int]
    compute_units: int
    vector_floats: int
    """Floats of a vector register, as the driver tells."""
    max_work_group_size: int
    max_work_item_sizes: tuple[int, ...]
    local_mem_size: int
    global_mem_size: int
    max_alloc_size: int
    buffer_alignment: int
    unified_memory: bool
    """The device computes in the host's memory."""
    host_mem_size: int
    usable_local_mem: int
    """Largest static `__local` array that runs; at least `local_mem_size`."""
    fp16: bool
    """Half arithmetic builds and is right. On CPUs it may be emulated and slow."""
    fp16_builtins: bool
    """Math functions on half, too."""
    fp64: bool
    subgroup_size: int
    """Size along dimension 0 when none is required; 0 without sub-groups."""
    subgroup_sizes: tuple[int, ...]
    """Sizes that kernels can have, by `intel_reqd_sub_group_size` unless it is `subgroup_size`."""
    subgroup_builtins: tuple[str, ...]
    """Of khr (reduce, broadcast), khr_shuffle, intel_shuffle, intel_block_read."""
    subgroup_option: str
    """Build option that kernels with sub-groups need: `kernels.recipe.with_sub_groups`."""
    struct_argument: bool
    builtin_prefetch: bool
    integer_dot_product: bool
    """`dot` on char4, in OpenCL C of some version."""
    byte_products: bool
    """AVX-512's VNNI, as inline assembly: products of unsigned with signed bytes, added up in 32 bits."""
    short_products: bool
    """Sums of two products of 16 bits in AVX2's registers, as inline assembly that keeps the vector registers."""
    int64_atomics: bool
    tensor_cores: bool
    """NVIDIA's warp-level matrix instructions and asynchronous copies, as inline PTX."""
    warp_group_products: bool
    """The matrix products by groups of four warps of NVIDIA's architecture 9.0, in binaries made for another target."""
    bulk_copies: bool
    """NVIDIA's tensor memory accelerator copies what kernels describe to it (compute capability 9.0)."""
    megakernels: bool
    """Several kernels' binaries make one persistent kernel, whose groups wait for one another (`ptx_megakernel.py`)."""
    float_products: bool
    """Sums of products of floats in AVX2's registers (FMA), in inline assembly that keeps the vector registers."""
    bf16_products: bool
    """Sums of products of bf16 pairs (`vdpbf16ps` of AVX-512) in inline assembly that keeps the vector registers."""
    tile_registers: bool
    """The same, and products of bytes, in AMX's tile registers, which the system grants this process."""
    out_of_order_queue: bool
    profiling_queue: bool
    usm_types: tuple[str, ...]
    """Of usm_host, usm_device, usm_shared, by Intel's extension."""
    svm: bool
    """Fine-grain buffers of OpenCL's shared virtual memory."""
    overlapping_parts: bool
    """Buffers may have sub-buffers that overlap."""
    image_channels: int
    """The most channels (2 at most) of 8 bits of images that kernels can read; 0 without images."""
    buffers_in_place: bool
    """Buffers lie where the host sees them without mapping, those over an array in that array: a CPU's do."""
    ceilings: Ceilings
    """How fast it is. Unlike the abilities, this differs from one time that it is measured to the next."""
    hardware: Hardware
    """What it is, under the names by which measured times are kept."""

    @property
    def multiplies_bytes(self) -> bool:
        """Whether there are instructions by which products of bytes are faster than those of f32: with registers of 16
        floats these take as long as pairs of 16 bits in AVX2's registers."""
        return self.byte_products or (self.short_products and self.vector_floats < 16)

    @property
    def usm(self) -> bool:
        """Whether there is unified shared memory."""
        return bool(self.usm_types)

    @property
    def native_types(self) -> Mapping[AllocationType, NativeType]:
        """What stands behind each type of memory that can be asked for."""
        return native_types(self.usm_types, self.svm, self.unified_memory)

    @property
    def large_local_mem(self) -> bool:
        """Whether static local memory goes beyond what the driver reports."""
        return self.usable_local_mem > self.local_mem_size


_known: dict[tuple[str, ...], dict[str, Any]] = {}
_lock = threading.Lock()


def probe_capabilities(device: DeviceInfo) -> Capabilities:
    """The device's capabilities; probed once per driver version, then read from the cache on disk. Only how fast it
    is is measured again (`remeasuring.py`)."""
    with _lock:
        answers = _known.get(device.identity)
        if answers is None:
            answers = _load(device) or _probe_and_store(device)
            _known[device.identity] = answers
    return _combine(device, answers)


def _combine(device: DeviceInfo, answers: dict[str, Any]) -> Capabilities:
    unit = device.cl_device
    subgroups = answers["subgroups"] or {"natural": 0, "required": [], "builtins": [], "option": ""}
    natural = int(subgroups["natural"])
    flags = {name: bool(answers[name]) for name in (
        "fp16", "fp16_builtins", "fp64", "struct_argument", "builtin_prefetch", "integer_dot_product",
        "byte_products", "short_products", "int64_atomics", "tensor_cores", "warp_group_products", "bulk_copies",
        "megakernels", "float_products", "bf16_products",
        "out_of_order_queue", "profiling_queue", "svm", "overlapping_parts", "buffers_in_place")}
    flags["tile_registers"] = bool(answers["tile_registers"]) and may_use_tile_registers()
    return Capabilities(
        device_type=device.type,
        opencl_c_version=_language_version(unit),
        compute_units=unit.max_compute_units,
        vector_floats=unit.native_vector_width_float,
        max_work_group_size=unit.max_work_group_size,
        max_work_item_sizes=tuple(unit.max_work_item_sizes),
        local_mem_size=unit.local_mem_size,
        global_mem_size=unit.global_mem_size,
        max_alloc_size=unit.max_mem_alloc_size,
        buffer_alignment=max(unit.mem_base_addr_align // 8, 1),
        unified_memory=shares_host_memory(unit),
        host_mem_size=physical_memory() or unit.global_mem_size,
        usable_local_mem=max(int(answers["usable_local_mem"] or 0), unit.local_mem_size),
        subgroup_size=natural,
        subgroup_sizes=tuple(sorted({*map(int, subgroups["required"]), natural} - {0})),
        subgroup_builtins=tuple(map(str, subgroups["builtins"])),
        subgroup_option=str(subgroups["option"]),
        usm_types=tuple(map(str, answers["usm"] or ())),
        image_channels=int(answers["image_channels"] or 0),
        ceilings=ceilings_of(answers, device.type, unit.max_compute_units),
        hardware=hardware_of(device),
        **flags)


def _language_version(device: cl.Device) -> tuple[int, int]:
    found = re.match(r"OpenCL C (\d+)\.(\d+)", device.opencl_c_version)
    return (int(found[1]), int(found[2])) if found else (1, 2)


def _probe_and_store(device: DeviceInfo) -> dict[str, Any]:
    log(1, f"Probe {device}")
    answers: dict[str, Any] = {}
    _probe_in_helper(device, answers)
    if not answers.get("runs"):
        answers = {}
    if len(answers) < len(PROBES):
        _probe_here(device, answers)
    if not answers["runs"]:
        raise ClinferError("the device cannot build and run a trivial kernel", where=f"device {device}",
                           hint="reinstall its OpenCL driver, or choose another device")
    if not are_measured(answers):
        log(1, f"How fast {device} is could not be measured: the defaults of its type hold")
    _store(device, answers, [time.time()])
    return answers


def _measure_again(device: DeviceInfo, known: dict[str, Any], measured: list[float]) -> dict[str, Any]:
    """The answers with what is much better now. Probes that gave nothing are left alone: one may have crashed. Nothing
    is measured in this process, of which the buffers for it would take up to a gigabyte."""
    log(1, f"How fast {device} is is measured again")
    found = {name: answer for name, answer in known.items()
             if answer is None or name not in ("rates", *SINGLE_RATES)}
    _probe_in_helper(device, found)
    answers = with_better(known, {**dict.fromkeys(PROBES), **found})
    _store(device, answers, [*measured, time.time()])
    return answers


def _probe_in_helper(device: DeviceInfo, answers: dict[str, Any]) -> None:
    """Add the missing answers of a helper process; a probe that crashes or hangs it answers None. None is added if no
    helper starts."""
    while len(answers) < len(PROBES):
        try:
            with Helper(device) as helper:
                _ask(helper, answers)
        except HelperFailure as failure:
            log(1, f"No helper process for {device}: {failure}")
            return


def _ask(helper: Helper, answers: dict[str, Any]) -> None:
    """Add the missing answers, until a probe takes the helper down."""
    for name in _unanswered(answers, is_here=False):
        try:
            answers[name] = helper.request(("probe", name), _PROBE_TIMEOUT_S)
        except HelperFailure as failure:
            log(1, f"Probe {name} failed: {failure}")
            answers[name] = None
            return


def _probe_here(device: DeviceInfo, answers: dict[str, Any]) -> None:
    """Add the missing answers, in this process, which no probe may end."""
    try:
        bench = Bench(device.open(), device.cl_device)
    except cl.Error as error:
        raise driver_error(error, "open the device", where=f"device {device}") from None
    for name in _unanswered(answers, is_here=True):
        answers[name] = run_probe(bench, name)


def _unanswered(answers: dict[str, Any], is_here: bool) -> Iterator[str]:
    """The probes to run, in order; those that need what is not there are answered with None, and so are those that may
    need it where they would run in this process (`is_here`)."""
    for name in PROBES:
        if name not in answers:
            may_run = has_instructions(name)
            if may_run is None:
                may_run = not is_here
            if not may_run or (name in NEEDS and not answers[NEEDS[name]]):
                answers[name] = None
            else:
                yield name


def _file(device: DeviceInfo) -> tuple[TrustedFolder, str]:
    """The folder and the name under which answers are kept."""
    name = hashlib.sha256("\0".join(_key(device)).encode()).hexdigest()[:32]
    return TrustedFolder(knobs.cache_dir(), "capabilities"), f"{name}.json"


def _key(device: DeviceInfo) -> list[str]:
    return [*device.driver_key, str(_REVISION), *map("=".join, compiler_settings())]


def _load(device: DeviceInfo) -> dict[str, Any] | None:
    """Answers on disk, or None if there are none that fit."""
    if not knobs.cache_enabled():
        return None
    folder, name = _file(device)
    try:
        stored = json.loads(folder.read(name, _LARGEST_ANSWERS) or b"")
        if stored["key"] != _key(device) or set(stored["answers"]) != set(PROBES):
            return None
        answers, measured = dict(stored["answers"]), [float(at) for at in stored["measured"]]
        if any(answers[name] and has_instructions(name) is False for name in ASSEMBLY):
            return None
        _combine(device, answers)
        return _measure_again(device, answers, measured) if is_due(measured, time.time()) else answers
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return None


def _store(device: DeviceInfo, answers: dict[str, Any], measured: list[float]) -> None:
    """Keep the answers, and when the rates among them were measured."""
    if knobs.cache_enabled():
        folder, name = _file(device)
        folder.write(name, [json.dumps({"key": _key(device), "answers": answers, "measured": measured}).encode()])
