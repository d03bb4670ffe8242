"""What a device really does, found out by tiny kernels; extension strings and vendor names are not believed.

A probe answers with a JSON value, falsy for "does not work". The kernels are in `probes.cl` and
`probes_nvidia.cl`.
"""
from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyopencl as cl

from clinfer.runtime import driver, rates
from clinfer.runtime.megakernel_probe import megakernels_work
from clinfer.runtime.memory_types import HOST_VISIBLE, IN_PLACE_ALIGNMENT, NativeType
from clinfer.runtime.pointers import PointerCalls, svm_calls, usm_calls, view_of
from clinfer.runtime.probe_bench import COUNT, POISON, Bench
from clinfer.runtime.program import retargeted
from clinfer.runtime.tile_registers import may_use_tile_registers

_STRUCT = struct.pack("ifqhh18i", 21, 22.0, 23, 0, 24, *range(100, 118)) + bytes(4)
_LANGUAGE_OPTIONS = ("", "-cl-std=CL3.0", "-cl-std=CL2.0")
_LOCAL_MEMORY_CANDIDATES = (232432, 166912, 101376, 65536, 49152)
_IN_PLACE_COUNT = 1 << 12
_PART_BYTES = 1 << 20
_PART_TURNS = 60
_SUBGROUP_SIZES = (8, 16, 32, 64)
_SUBGROUP_FAMILIES = ("khr_shuffle", "intel_shuffle", "intel_block_read")


Probe = Callable[[Bench], Any]


def _writes(section: str, *expected: int, **how: Any) -> Probe:
    """A probe that works if the kernel's first outputs are exactly these."""
    def probe(bench: Bench) -> bool:
        out = bench.run(section, **how)
        return out is not None and out[:len(expected)].tolist() == list(expected)
    return probe


def _integer_dot_product(bench: Bench) -> bool:
    """Whether there is the packed dot product in one of the languages."""
    return any(_writes("integer_dot_product", 135, 138, options=option)(bench) for option in _LANGUAGE_OPTIONS)


def _on_cpus(probe: Probe) -> Probe:
    """A probe of assembly that no other devices are given."""
    return lambda bench: bool(bench.device.type & cl.device_type.CPU) and bool(probe(bench))


def _tile_registers(bench: Bench) -> bool:
    """Whether the system grants AMX's registers, and assembly multiplies in them."""
    return may_use_tile_registers() and bool(_writes("tile_registers", 0)(bench))


def _usable_local_memory(bench: Bench) -> int:
    """Bytes of the largest static `__local` array that runs, at least what the device reports."""
    reported = int(bench.device.local_mem_size)
    for size in (s for s in _LOCAL_MEMORY_CANDIDATES if s > reported):
        out = bench.run("local_memory", options=f"-DCOUNT={size // 4}", local_size=16)
        if out is not None and not out[:16].any():
            return size
    return reported


def _subgroups(bench: Bench) -> dict[str, Any] | None:
    """Build option, natural size, sizes that can be required (along dimension 0), and working builtins."""
    for option in _LANGUAGE_OPTIONS:
        natural = _subgroup_size(bench, "subgroups", option)
        if natural:
            break
    else:
        return None
    required = [size for size in _SUBGROUP_SIZES
                if _subgroup_size(bench, "subgroups", f"{option} -DREQUIRED_SIZE={size}") == size]
    families = [name for name in _SUBGROUP_FAMILIES if _subgroup_size(bench, name, option) == natural]
    return {"option": option, "natural": natural, "required": required, "builtins": ["khr", *families]}


def _subgroup_size(bench: Bench, section: str, options: str) -> int:
    """The size that every work-item saw, all of them with right results; else 0."""
    out = bench.run(section, options=options, local_size=COUNT)
    return int(out[0]) if out is not None and out[0] > 1 and bool((out == out[0]).all()) else 0


def _unified_shared_memory(bench: Bench) -> list[str] | None:
    """The types of Intel's unified shared memory that a kernel can work in; none unless the host sees one."""
    calls = usm_calls(bench.context, bench.device)
    works = [kind for kind in ("usm_host", "usm_shared", "usm_device") if calls and _works_in(bench, calls, kind)]
    return works if set(works) - {"usm_device"} else None


def _shared_virtual_memory(bench: Bench) -> bool:
    """Whether a kernel can work in fine-grain shared virtual memory that the host then reads."""
    if not bench.device.svm_capabilities & cl.device_svm_capabilities.FINE_GRAIN_BUFFER:
        return False
    calls = svm_calls(bench.context)
    return calls is not None and _works_in(bench, calls, "svm")


def _works_in(bench: Bench, calls: PointerCalls, kind: NativeType) -> bool:
    """Whether kernel and copies find there what the other wrote, and the host as well, if it may look."""
    kernel, queue = bench.build("usm"), cl.CommandQueue(bench.context, bench.device)
    given, found = np.array([20, POISON], np.int32), np.zeros(2, np.int32)
    try:
        address = calls.allocate[kind](given.nbytes)
    except driver.StatusError:
        return False
    try:
        wrong = calls.copy(queue.int_ptr, True, address, given.ctypes.data, given.nbytes, 0, None, None)
        wrong = wrong or calls.set_argument(kernel.int_ptr, 0, address)
        cl.enqueue_nd_range_kernel(queue, kernel, (1,), (1,))
        wrong = wrong or calls.copy(queue.int_ptr, True, found.ctypes.data, address, found.nbytes, 0, None, None)
        queue.finish()
        seen = view_of(address, found.nbytes, None).view(np.int32) if kind in HOST_VISIBLE else found
        return not wrong and found.tolist() == seen.tolist() == [20, 21]
    finally:
        queue.finish()
        calls.free(address)


def _buffers_in_place(bench: Bench) -> bool:
    """Whether buffers of a CPU lie where the host sees them: those over an array in that array, however that is
    aligned, others where they are mapped. Either side finds what the other wrote, without mapping."""
    if not bench.device.type & cl.device_type.CPU:
        return False
    kernel, queue = bench.build("usm"), cl.CommandQueue(bench.context, bench.device)
    flags = cl.mem_flags.READ_WRITE
    room = np.zeros(2 * _IN_PLACE_COUNT, np.int32)
    aligned = room[-room.ctypes.data % (4 * IN_PLACE_ALIGNMENT) // room.itemsize:]
    for array in (aligned[:_IN_PLACE_COUNT], aligned[IN_PLACE_ALIGNMENT // room.itemsize:][:_IN_PLACE_COUNT]):
        over = cl.Buffer(bench.context, flags | cl.mem_flags.USE_HOST_PTR, hostbuf=array)
        if _mapped_address(queue, over) != array.ctypes.data or not _works_on(queue, kernel, over, array):
            return False
    plain = cl.Buffer(bench.context, flags, room.nbytes)
    address = _mapped_address(queue, plain)
    seen = view_of(address, room.nbytes, plain).view(np.int32)
    return all(_works_on(queue, kernel, plain, seen) and _mapped_address(queue, plain) == address for _ in range(3))


def _mapped_address(queue: cl.CommandQueue, buffer: cl.Buffer) -> int:
    flags = cl.map_flags.READ | cl.map_flags.WRITE
    array, _ = cl.enqueue_map_buffer(queue, buffer, flags, 0, (buffer.size,), np.uint8)
    address = int(array.ctypes.data)
    array.base.release(queue)
    queue.finish()
    return address


def _works_on(queue: cl.CommandQueue, kernel: cl.Kernel, buffer: cl.Buffer, seen: np.ndarray) -> bool:
    """Whether a kernel reads what the host put there, and the host what the kernel did, twice over."""
    kernel.set_arg(0, buffer)
    for number in (20, 30):
        seen[:2] = number, POISON
        cl.enqueue_nd_range_kernel(queue, kernel, (1,), (1,))
        queue.finish()
        if seen[:2].tolist() != [number, number + 1]:
            return False
    return True


def _overlapping_parts(bench: Bench) -> bool:
    """Whether kernels can work in sub-buffers that overlap, again and again; there are drivers that crash."""
    kernel, queue = bench.build("usm"), cl.CommandQueue(bench.context, bench.device)
    given, found = np.array([20, POISON], np.int32), np.zeros(2, np.int32)
    for turn in range(_PART_TURNS):
        whole = cl.Buffer(bench.context, cl.mem_flags.READ_WRITE, 8 * _PART_BYTES + turn * 4096)
        parts = [whole.get_sub_region(start * _PART_BYTES // 2, _PART_BYTES) for start in range(8)]
        cl._cl._enqueue_write_buffer(queue, whole, given, _PART_BYTES, None, True)
        for part in parts * 8:
            kernel.set_arg(0, part)
            cl.enqueue_nd_range_kernel(queue, kernel, (1,), (1,))
        cl._cl._enqueue_read_buffer(queue, parts[1], found, _PART_BYTES // 2, None, True)
        for part in parts:
            part.release()
        whole.release()
        if found.tolist() != [20, 21]:
            return False
    return True


def _image_channels(bench: Bench) -> int:
    """The most channels of 8 bits, 1 or 2, of images that a kernel can read as whole numbers and as fractions."""
    return 0 if not _reads_image(bench, cl.channel_order.R, 1) else 1 + _reads_image(bench, cl.channel_order.RG, 2)


def _reads_image(bench: Bench, order: int, channels: int) -> bool:
    kernel, queue = bench.build("image"), cl.CommandQueue(bench.context, bench.device)
    given = np.array([[[3, 40], [255, 7]], [[0, 128], [90, 1]]], np.uint8)[..., :channels].copy()
    expected = (given.astype(int) * (1, 1000)[:channels]).sum(-1).reshape(-1).tolist()
    flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
    for kind in (cl.channel_type.UNSIGNED_INT8, cl.channel_type.UNORM_INT8):
        try:
            image = cl.create_image(bench.context, flags, cl.ImageFormat(order, kind), (2, 2), hostbuf=given)
        except cl.Error:
            return False
        found = np.full(4, POISON, np.int32)
        outputs = cl.Buffer(bench.context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=found)
        kernel.set_args(image, outputs)
        cl.enqueue_nd_range_kernel(queue, kernel, (4,), (4,))
        cl._cl._enqueue_read_buffer(queue, outputs, found, 0, None, True)
        if found.tolist() != expected:
            return False
    return True


_MODES = cl.command_queue_properties

PROBES: Mapping[str, Probe] = {
    "runs": _writes("runs", 15, -4),
    "fp16": _writes("fp16", 8, 60, -38, 1),
    "fp16_builtins": _writes("fp16_builtins", 8, 12, 3, 1, 4),
    "fp64": _writes("fp64", 1, 15),
    "struct_argument": _writes("struct_argument", 21, 22, 23, 24, 120, argument=_STRUCT),
    "builtin_prefetch": _writes("builtin_prefetch", 8),
    "integer_dot_product": _integer_dot_product,
    "byte_products": _on_cpus(_writes("byte_products", 9, 25, -2508, 121, 30, 15879, 4, 1600)),
    "short_products": _on_cpus(_writes("short_products", 0, 0)),
    "int64_atomics": _writes("int64_atomics", 16 * 5, 3 + 16, local_size=16),
    "out_of_order_queue": _writes("runs", 15, -4, queue_properties=_MODES.OUT_OF_ORDER_EXEC_MODE_ENABLE),
    "profiling_queue": _writes("runs", 15, -4, queue_properties=_MODES.PROFILING_ENABLE),
    "usable_local_mem": _usable_local_memory,
    "tensor_cores": _writes("tensor_cores", *[0] * 32, local_size=32),
    "warp_group_products": _writes("warp_group_products", 0, 128, local_size=128,
                                   rewrites=retargeted("sm_90", "sm_90a", 128)),
    "bulk_copies": _writes("bulk_copies", 0, 1, local_size=32),
    "megakernels": megakernels_work,
    "float_products": _on_cpus(_writes("float_products", 0, 0)),
    "bf16_products": _on_cpus(_writes("bf16_products", 0, 0)),
    "tile_registers": _on_cpus(_tile_registers),
    "subgroups": _subgroups,
    "usm": _unified_shared_memory,
    "svm": _shared_virtual_memory,
    "overlapping_parts": _overlapping_parts,
    "image_channels": _image_channels,
    "buffers_in_place": _buffers_in_place,
    "rates": rates.base_rates,
    "half_rate": rates.half_rate,
    "tensor_rate": rates.tensor_rate,
    "pair_rate": rates.pair_rate,
    "tile_rate": rates.tile_rate,
}
"""Every probe by name; `runs` must work on any device."""

NEEDS: Mapping[str, str] = {
    "megakernels": "tensor_cores", "tile_registers": "bf16_products", "half_rate": "fp16",
    "tensor_rate": "tensor_cores", "pair_rate": "bf16_products", "tile_rate": "tile_registers"}
"""Probes that need what another one, before them, found to work."""


def run_probe(bench: Bench, name: str) -> Any:
    """The answer of one probe; whatever goes wrong in it, the answer is None."""
    try:
        return PROBES[name](bench)
    except Exception:
        return None
