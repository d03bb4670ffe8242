"""How much a device does in a nanosecond, timed by small kernels of `probes.cl`.

A figure is that of the fastest of several launches, each behind a wait and long enough that the launch hardly
counts: what else runs on the machine can make a device look slower, never faster. No events, because these slow
down what they measure. All figures have two significant digits.
"""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns

import numpy as np
import pyopencl as cl

from clinfer.runtime import driver
from clinfer.runtime.probe_bench import INPUT, Bench

_MIB = 1 << 20
_LONG_ENOUGH_NS = 400_000
_REPEATS = 32
_TOO_LONG_NS = 24_000_000
_MOST_TURNS = 1 << 26
_LAUNCHES = 64
_WAITS = 16
_OWN_PART = _MIB // 4
_SHARED_PARTS = 251
_SHARED_PART = _MIB // 64
_SHIFT = 37
_MOST_MEMORY = 1 << 30
_CHAINS = 8
"""Vectors that do not wait for one another: two multiply-adds a cycle with a latency of four."""
_LINUX_CACHE = Path("/sys/devices/system/cpu/cpu0/cache/index3/size")


@dataclass(frozen=True)
class _Grid:
    """Work-groups that fill a device several times over, so that it is busy until the end; in `lanes` of vectors."""

    groups: int
    items: int
    lanes: int

    @classmethod
    def of(cls, device: cl.Device) -> _Grid:
        """CPUs take one work-item a group with vectors as wide as theirs, others many with short ones."""
        if device.type & cl.device_type.CPU:
            lanes = min(max(device.native_vector_width_float, 4), 16)
            return cls(8 * device.max_compute_units, 1, lanes)
        return cls(32 * device.max_compute_units, min(64, device.max_work_group_size), 4)

    @property
    def all_items(self) -> int:
        """Work-items of a launch."""
        return self.groups * self.items

    @property
    def options(self) -> str:
        """What the kernels are built with."""
        return f"-cl-mad-enable -DWIDTH={self.lanes} -DCHAINS={_CHAINS}"


class _Clock:
    """Launches kernels on a queue of its own, in the way of streams, and times them."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.grid = _Grid.of(bench.device)
        self._queue = cl.CommandQueue(bench.context, bench.device)
        self.inputs = cl.Buffer(bench.context, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR,
                                hostbuf=np.array(INPUT, np.int32))
        self.outputs = self.buffer(self.grid.all_items * 16 * 4)

    def buffer(self, nbytes: int) -> cl.Buffer:
        """Memory that was written to, so that it is there."""
        buffer = cl.Buffer(self._bench.context, cl.mem_flags.READ_WRITE, nbytes)
        cl.enqueue_fill_buffer(self._queue, buffer, np.int32(1), 0, nbytes)
        self._queue.finish()
        return buffer

    def time(self, kernel: cl.Kernel, groups: int, items: int, launches: int = 1) -> int:
        """Nanoseconds of these launches and one wait."""
        queue, handle = driver.HANDLE(self._queue.int_ptr), driver.HANDLE(kernel.int_ptr)
        sizes, local = (ctypes.c_size_t * 1)(groups * items), (ctypes.c_size_t * 1)(items)
        start = perf_counter_ns()
        for _ in range(launches):
            driver.check(driver.enqueue_nd_range_kernel(queue, handle, 1, None, sizes, local, 0, None, None))
        driver.check(driver.finish(queue))
        return perf_counter_ns() - start

    def rate(self, kernel: cl.Kernel, work: float) -> float:
        """`work` of a turn of the whole grid, per nanosecond; argument 2 of the kernel is how many turns it takes."""
        turns = 1
        kernel.set_arg(2, np.int32(turns))
        # Some drivers compile at the first launch.
        self._grid_time(kernel)
        while (took := self._fastest(kernel, 2)) < _LONG_ENOUGH_NS and turns < _MOST_TURNS:
            turns *= min(max(round(1.2 * _LONG_ENOUGH_NS / took), 2), 16)
            kernel.set_arg(2, np.int32(turns))
        return turns * work / min(took, self._fastest(kernel, _REPEATS))

    def _fastest(self, kernel: cl.Kernel, most: int) -> int:
        """Nanoseconds of the fastest of so many launches, or of fewer where they take long."""
        times: list[int] = []
        while len(times) < most and sum(times) < _TOO_LONG_NS:
            times.append(self._grid_time(kernel))
        return max(min(times), 1)

    def _grid_time(self, kernel: cl.Kernel) -> int:
        return self.time(kernel, self.grid.groups, self.grid.items)

    def multiply_adds(self, kernel: cl.Kernel, of_an_item: float) -> float:
        """Operations per nanosecond of a kernel without memory, which does so many in a turn of a work-item."""
        kernel.set_args(self.inputs, self.outputs, np.int32(1))
        return rounded(self.rate(kernel, self.grid.all_items * of_an_item))


def rounded(value: float) -> float:
    """Two significant digits; the rest is noise."""
    return float(f"{value:.1e}")


def base_rates(bench: Bench) -> dict[str, float]:
    """f32, memory, cache, launch and wait, in the units of `Ceilings`."""
    clock = _Clock(bench)
    arithmetic, reading, touching = bench.kernels("rates", clock.grid.options, ("multiply_add", "sum_words", "touch"))
    cache, memory = _reading(clock, bench.device, reading)
    launch, wait = _launching(clock, bench.device, touching)
    return {"f32": clock.multiply_adds(arithmetic, 2 * clock.grid.lanes * _CHAINS),
            "memory": memory, "cache": cache, "launch": launch, "wait": wait}


def half_rate(bench: Bench) -> float:
    """The same arithmetic on halves."""
    clock = _Clock(bench)
    kernel, = bench.kernels("half_rate", clock.grid.options, ("multiply_add",))
    return clock.multiply_adds(kernel, 2 * clock.grid.lanes * _CHAINS)


def tensor_rate(bench: Bench) -> float:
    """Products of [16, 16] by [16, 8], halves with float sums, by NVIDIA's warps of 32."""
    clock = _Clock(bench)
    kernel, = bench.kernels("tensor_rate", clock.grid.options, ("multiply_add",))
    return clock.multiply_adds(kernel, 2 * 16 * 16 * 8 * _CHAINS / 32)


def pair_rate(bench: Bench) -> float:
    """Products of pairs of bf16 in vectors of a CPU, in 14 chains of 16 sums."""
    clock = _Clock(bench)
    kernel, = bench.kernels("pair_rate", clock.grid.options, ("multiply_add",))
    return clock.multiply_adds(kernel, 2 * 2 * 16 * 14)


def tile_rate(bench: Bench) -> float:
    """Products of [16, 32] by [32, 16] of bf16 in tile registers, in 4 chains."""
    clock = _Clock(bench)
    kernel, = bench.kernels("tile_rate", clock.grid.options, ("multiply_add",))
    return clock.multiply_adds(kernel, 2 * 16 * 32 * 16 * 4)


def _reading(clock: _Clock, device: cl.Device, kernel: cl.Kernel) -> tuple[float, float]:
    """Bytes per nanosecond out of the cache, and of a buffer too large for it.

    A CPU's work-groups read their own parts again and again, so that this is the sum of the cores' own caches. Those
    of others take turns with 4 MiB, which is the cache that all share: their number is a prime, so that groups that
    run on one unit seldom find in its own cache what another one just read.
    """
    if device.type & cl.device_type.CPU:
        cache = _read(clock, kernel, _OWN_PART, clock.grid.groups, shift=0)
    else:
        cache = _read(clock, kernel, _SHARED_PART, _SHARED_PARTS, _SHIFT)
    wanted = _memory_bytes(device)
    # A simulator has no memory behind its cache, and would take minutes.
    is_slow = cache * _TOO_LONG_NS < wanted
    return cache, cache if is_slow else _read_all(clock, kernel, wanted)


def _read_all(clock: _Clock, kernel: cl.Kernel, wanted: int) -> float:
    """Bytes per nanosecond of a buffer of `wanted` bytes, or as many as there are."""
    while True:
        try:
            return _read(clock, kernel, wanted // clock.grid.groups, clock.grid.groups, shift=0)
        except (cl.Error, driver.StatusError):
            wanted //= 2
            if wanted < 16 * _MIB:
                raise


def _read(clock: _Clock, kernel: cl.Kernel, part_bytes: int, parts: int, shift: int) -> float:
    grid = clock.grid
    word = 4 * grid.lanes
    step = 4 * grid.items * word
    part_bytes = max(part_bytes // step, 1) * step
    memory = clock.buffer(parts * part_bytes)
    kernel.set_args(memory, clock.outputs, np.int32(1), np.int32(part_bytes // word), np.int32(parts), np.int32(shift))
    rate = rounded(clock.rate(kernel, grid.groups * part_bytes))
    memory.release()
    return rate


def _memory_bytes(device: cl.Device) -> int:
    """Well beyond the caches that the driver and the system tell of, and those that they do not: up to 8 MiB a core
    of a CPU, 128 MiB in front of a GPU's own memory."""
    if device.type & cl.device_type.CPU:
        least = 16 * _MIB * device.max_compute_units
    else:
        least = 64 * _MIB if device.host_unified_memory else 256 * _MIB
    wanted = max(64 * _MIB, least, 3 * device.global_mem_cache_size, 3 * _shared_cache_bytes(device))
    return int(min(wanted, _MOST_MEMORY, device.max_mem_alloc_size, device.global_mem_size // 8))


def _shared_cache_bytes(device: cl.Device) -> int:
    """The last cache of a CPU as Linux knows it; 0 if nothing tells."""
    if not device.type & cl.device_type.CPU:
        return 0
    try:
        return int(_LINUX_CACHE.read_text(encoding="ascii").strip().removesuffix("K")) << 10
    except (OSError, ValueError):
        return 0


def _launching(clock: _Clock, device: cl.Device, kernel: cl.Kernel) -> tuple[float, float]:
    """Nanoseconds of one launch among many, and of waiting for one."""
    kernel.set_arg(0, clock.outputs)
    groups, items = device.max_compute_units, clock.grid.items
    many = _best(lambda: clock.time(kernel, groups, items, _LAUNCHES) / _LAUNCHES, _REPEATS)
    alone = _best(lambda: clock.time(kernel, groups, items), _WAITS)
    return rounded(many), rounded(max(alone - many, 1.0))


def _best(measure: Callable[[], float], count: int) -> float:
    return min(measure() for _ in range(count))
