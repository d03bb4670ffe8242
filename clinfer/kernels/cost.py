"""The time that kernels take, in nanoseconds: rooflines under the ceilings of a device.

The model is that of Williams, Waterman and Patterson, "Roofline: an insightful visual performance model" (2009): the
longer of computing and moving, each at the share of its ceiling that a kernel reaches.
"""
from __future__ import annotations

from clinfer.runtime.ceilings import Ceilings
from clinfer.symbolic.symbols import computed, larger, pure, smaller

CACHED_BYTES = 8 << 20
"""So many bytes of what a kernel moves are in a cache, because they were used just before or are used again."""
REORDER_FLOPS = 12.0
"""Operations in the time of which a reorder moves a byte on a CPU, that of finding each element's place above all."""


def time_of(device: Ceilings, *, flops: float = 0.0, peak: float | None = None, efficiency: float = 1.0,
            nbytes: float = 0.0, bandwidth: float = 1.0, launches: int = 1) -> float:
    """Nanoseconds of `flops` operations at a share `efficiency` of `peak` (operations per nanosecond, by default those
    of f32) and of `nbytes` moved at a share `bandwidth` of the cache's and the memory's; numbers may be symbols."""
    computing = flops / ((device.f32 if peak is None else peak) * efficiency)
    moving = computed(_moving, nbytes, device.cache, device.memory) / bandwidth
    if type(flops) in (int, float) and not flops:
        return moving + launches * device.launch
    return computed(_overlapped, computing, moving) + launches * device.launch


@pure
def _moving(nbytes: float, cache: float, memory: float) -> float:
    return smaller(nbytes, CACHED_BYTES) / cache + larger(nbytes - CACHED_BYTES, 0) / memory


def roofline(device: Ceilings, flops: float, nbytes: float, is_narrow: bool = False) -> float:
    """The nanoseconds below which no kernel gets with these operations and bytes; `is_narrow`: it may compute in a type
    that is faster than f32."""
    peak = max(device.f32, device.f16, device.tensor, device.bf16, device.tiles) if is_narrow else device.f32
    return max(flops / peak, _moving(nbytes, device.cache, device.memory))


@pure
def longer(one: float, other: float) -> float:
    """The longer of two times; for `computed`."""
    return larger(one, other)


@pure
def _overlapped(computing: float, moving: float) -> float:
    """The time of both at once: the shorter one is never hidden wholly."""
    return larger(computing, moving) + smaller(computing, moving) / 8


def reorder_time(device: Ceilings, nbytes: int) -> float:
    """Nanoseconds of bringing a tensor into another layout, which reads and writes so many bytes in all."""
    return time_of(device, flops=REORDER_FLOPS * nbytes, nbytes=nbytes)


def show_time(nanoseconds: float) -> str:
    """A time as users read it: 830 ns, 4.1 us, 12 ms."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds:.3g} ns"
