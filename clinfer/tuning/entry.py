"""One measured time, what it is kept by, and how far from it it still tells something.

A time is kept by the *subject*, which holds for all sizes (the operation, its element types and ranks, its attributes),
by the sizes, which are rounded to *buckets*, and by the candidate: kernel, configuration and formats. All of it is
text and numbers that say the same on every device and in every version, so that tables can be read and shipped.
"""
from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from clinfer.base.schema import check_fields

REACH = 3.0
"""How far a time tells something: so many doublings of sizes in all. It counts less the farther it is."""
_LARGEST_SIZE = 1 << 40
_LONGEST_NS = 1e12
_LARGEST_RATIO = 1e4
_LONGEST_TEXT = 400
Sizes = tuple[tuple[str, int], ...]


class Subject(NamedTuple):
    """What is computed, whatever the sizes: the operation, and its traits as a text (types, ranks, attributes)."""

    operation: str
    traits: str


class Variant(NamedTuple):
    """How it is computed: the kernel, its configuration, the formats of its tensors (empty: all planar), and whether
    the sizes that the model fixes were constants in the source."""

    kernel: str
    config: str
    formats: str
    is_baked: bool


@dataclass(frozen=True)
class Entry:
    """A measured time in nanoseconds, and what was estimated then.

    `sizes`: of the problem that was measured, by name. `is_alone`: nothing else ran, so that the time itself counts;
    else only how it compares with others of the same problem. `date`: of the measurement; `driver`: what it ran on.
    """

    operation: str
    traits: str
    sizes: Sizes
    kernel: str
    config: str
    formats: str
    is_baked: bool
    measured: float
    estimated: float
    is_alone: bool
    date: str
    driver: str

    @property
    def subject(self) -> Subject:
        """What was computed."""
        return Subject(self.operation, self.traits)

    @property
    def variant(self) -> Variant:
        """How it was computed."""
        return Variant(self.kernel, self.config, self.formats, self.is_baked)

    @property
    def bucket(self) -> Sizes:
        """The sizes as they are told apart."""
        return bucket_of(dict(self.sizes))

    @property
    def ratio(self) -> float:
        """How many times longer it takes than was estimated."""
        return self.measured / self.estimated

    def as_data(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {**asdict(self), "sizes": dict(self.sizes), "measured": rounded(self.measured),
                "estimated": rounded(self.estimated)}


def entry_of(data: Any) -> Entry:
    """The entry of JSON data. Errors: TypeError or ValueError, which say what is wrong."""
    if not isinstance(data, dict) or not isinstance(data.get("sizes"), dict):
        raise TypeError("it is no entry with sizes")
    values = {**data, "sizes": tuple(data["sizes"].items())}
    if values.keys() != Entry.__dataclass_fields__.keys():
        odd = set(values) ^ set(Entry.__dataclass_fields__)
        raise ValueError(f"its fields are not those of an entry: {', '.join(sorted(map(str, odd)))}")
    check_fields(Entry, values)
    entry = Entry(**{**values, "measured": float(values["measured"]), "estimated": float(values["estimated"])})
    _check(entry)
    return entry


def _check(entry: Entry) -> None:
    for name, size in entry.sizes:
        if not 0 <= size <= _LARGEST_SIZE:
            raise ValueError(f"no size: {name} = {size}")
    for name in ("measured", "estimated"):
        time = getattr(entry, name)
        if not (math.isfinite(time) and 0 < time <= _LONGEST_NS):
            raise ValueError(f"no time: {name} = {time}")
    if not 1 / _LARGEST_RATIO <= entry.ratio <= _LARGEST_RATIO:
        raise ValueError(f"{entry.measured:g} ns measured, {entry.estimated:g} ns estimated")
    if not entry.kernel or any(len(text) > _LONGEST_TEXT for text in (*entry.variant[:3], *entry.subject)):
        raise ValueError("its texts have no sensible length")


def rounded(number: float) -> float:
    """Four digits; the rest is noise."""
    return float(f"{number:.3e}")


def bucket_of(sizes: Mapping[str, int]) -> Sizes:
    """Sizes rounded to 0, 1, 2, 3, 4, 6, 8, 12, 16, 24, ...: what is closer than that takes the same kernels."""
    return tuple((name, _rounded(size)) for name, size in sizes.items())


@lru_cache(maxsize=4096)
def _rounded(size: int) -> int:
    if size <= 4:
        return size
    power = 1 << (size.bit_length() - 1)
    return min((power, power * 3 // 2, power * 2), key=lambda known: abs(math.log2(size / known)))


@lru_cache(maxsize=256)
def logarithms(sizes: tuple[int, ...]) -> tuple[float, ...]:
    """To base 2, as floats: the sum of their differences is how many doublings lie between sizes, in all."""
    return tuple([math.log2(max(size, 0.5)) for size in sizes])
