"""The ceilings of a device: the most that it does in a nanosecond, which costs of kernels are reckoned under.

They are measured by the probes of `rates.py`, up to three times per driver (`remeasuring.py`), and decide about speed
alone, never about what is right: on a machine that is busy while they are measured they may be half of what they
should be.
"""
from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_BALANCE = {"CPU": (2.0, 60.0), "GPU": (4.0, 150.0), "ACC": (2.0, 150.0)}
"""Least and most FLOP of f32 per byte of memory: from phones to servers CPUs have some 5 to 50, GPUs 10 to 110."""
_MOST_CACHE = 64.0
_MOST_HALF = 4.0
_LEAST_HALF = 1 / 3
_TENSOR_GAIN = 8.0
_BF16_GAIN = 2.0
_LEAST_BF16 = 1 / 4
_TILE_GAIN, _MOST_TILES = 16.0, 64.0
_LAUNCH = (100.0, 1e5)
_WAIT = (100.0, 1e6)
_SANE = (1e-5, 1e8)
_UNIT = {"CPU": 30.0, "GPU": 100.0, "ACC": 30.0}
_DEFAULT_BALANCE = {"CPU": 10.0, "GPU": 20.0, "ACC": 10.0}
_DEFAULT_TIMES = {"CPU": (3000.0, 5000.0), "GPU": (5000.0, 10000.0), "ACC": (5000.0, 10000.0)}
_BASE = ("f32", "memory", "cache", "launch", "wait")


@dataclass(frozen=True)
class Ceilings:
    """Rates of the whole device. A multiply-add is two floating-point operations (FLOP); FLOP/ns are GFLOP/s,
    bytes/ns are GB/s."""

    f32: float
    """FLOP/ns of multiply-adds."""
    f16: float
    """The same of half arithmetic; 0 where the device has none, or emulates it: slower than a third of `f32`."""
    tensor: float
    """FLOP/ns of f16 matrix instructions with f32 sums (`mma.sync`; Hopper's `wgmma` reaches about 1.5 times that);
    0 without."""
    bf16: float
    """FLOP/ns of products of bf16 with f32 sums in vectors (`vdpbf16ps`): by processor half or twice `f32`; 0
    without."""
    tiles: float
    """The same in AMX's tile registers; 0 without."""
    memory: float
    """Bytes/ns read from a buffer too large for the caches."""
    cache: float
    """Bytes/ns read from a few MiB: of a CPU the sum of its cores' own caches, else of the cache that all share."""
    launch: float
    """Nanoseconds of a launch among many in one queue, from the host's call to its end."""
    wait: float
    """Nanoseconds by which a launch takes longer when the host waits for it."""


def ceilings_of(answers: Mapping[str, Any], device_type: str, compute_units: int) -> Ceilings:
    """The ceilings that the probes' answers amount to, `default_ceilings` where they could not be measured.

    What else runs on the machine makes a measured rate too low, never too high. So of two rates whose ratio no device
    has, the lower one is raised: f32 is 2 to 60 FLOP per byte of memory (GPUs: 4 to 150), f16 a third to 4 times f32,
    the cache 1 to 64 times the memory, bf16 at least a
    quarter of f32. Without that, one disturbed figure would make every kernel look as if it
    waited for memory, or as if none did. Times have bounds for the same reason: launches 0.1 to 100 microseconds,
    waits 0.1 to 1000.

    Errors: LookupError, TypeError or ValueError for answers of the wrong kind.
    """
    if not are_measured(answers):
        return default_ceilings(device_type, compute_units, bool(answers["fp16"]), bool(answers["tensor_cores"]),
                                bool(answers["bf16_products"]), bool(answers["tile_registers"]))
    f32, memory, cache, launch, wait = (float(answers["rates"][name]) for name in _BASE)
    f16, tensor = _sane(answers["half_rate"]), _sane(answers["tensor_rate"])
    f16 = f16 if f16 >= _LEAST_HALF * f32 else 0.0
    f32 = max(f32, f16 / _MOST_HALF)
    memory = max(memory, cache / _MOST_CACHE)
    least, most = _BALANCE[device_type]
    f32 = max(f32, least * memory)
    memory = max(memory, f32 / most)
    f16 = max(f16, _LEAST_HALF * f32) if f16 else 0.0
    if answers["tensor_cores"]:
        tensor = max(tensor or _TENSOR_GAIN * (f16 or f32), f16, f32)
    bf16 = max(_sane(answers["pair_rate"]) or _BF16_GAIN * f32, _LEAST_BF16 * f32) if answers["bf16_products"] else 0.0
    tiles = _sane(answers["tile_rate"]) or _TILE_GAIN * f32
    tiles = min(max(tiles, bf16), _MOST_TILES * f32) if answers["tile_registers"] else 0.0
    return Ceilings(f32, f16, tensor, bf16, tiles, memory, max(cache, memory), _within(launch, _LAUNCH),
                    _within(wait, _WAIT))


def are_measured(answers: Mapping[str, Any]) -> bool:
    """Whether the figures that no device lacks could be measured and make sense."""
    rates = answers["rates"]
    return rates is not None and all(_sane(rates[name]) for name in _BASE)


def default_ceilings(device_type: str, compute_units: int, fp16: bool = False, tensor_cores: bool = False,
                     bf16_products: bool = False, tile_registers: bool = False) -> Ceilings:
    """What is assumed of a device that could not be measured: 30 FLOP/ns of f32 for a core of a CPU and 100 for a
    unit of a GPU, a byte of memory for 10 or 20 FLOP, a cache five times as fast, launches of 3 or 5 microseconds
    and waits of 5 or 10. GPUs do f16 twice as fast as f32, tensor cores eight times as fast as f16; products of
    bf16 are twice as fast as f32, in tile registers 16 times."""
    f32 = _UNIT[device_type] * compute_units
    f16 = 2 * f32 if fp16 and device_type == "GPU" else 0.0
    memory = f32 / _DEFAULT_BALANCE[device_type]
    tensor = _TENSOR_GAIN * (f16 or f32) if tensor_cores else 0.0
    bf16 = _BF16_GAIN * f32 if bf16_products else 0.0
    tiles = _TILE_GAIN * f32 if tile_registers else 0.0
    return Ceilings(f32, f16, tensor, bf16, tiles, memory, 5 * memory, *_DEFAULT_TIMES[device_type])


def _sane(value: Any) -> float:
    """A figure that a device can have, else 0."""
    number = float(value or 0)
    return number if math.isfinite(number) and _SANE[0] <= number <= _SANE[1] else 0.0


def _within(value: float, bounds: tuple[float, float]) -> float:
    return min(max(value, bounds[0]), bounds[1])
