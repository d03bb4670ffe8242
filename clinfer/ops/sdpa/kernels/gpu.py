"""Attention in tiles of local memory, and of a few queries."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil, prod

from clinfer.base.element_type import ElementType
from clinfer.base.shape import Dim
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import (
    COUNTERS,
    Formats,
    Kernel,
    Lowered,
    Stage,
    Work,
    counters_operand,
    scratch_operand,
)
from clinfer.kernels.cost import time_of
from clinfer.kernels.recipe import ALIGNED, USUAL
from clinfer.ops.sdpa.problem import KEY, SINK, VALUE, AttentionProblem
from clinfer.ops.shared.views import static
from clinfer.runtime.capabilities import Capabilities
from clinfer.symbolic.symbols import computed, larger, pure, smaller

MOST_WIDTH = 128
"""The last size of values up to which kernels other than the reference are made for it."""
_GROUP = (16, 8, 1)
_ROWS = 32
_ON_GPU, _ON_CPU = 0.15, 0.005
"""The share of the peak that it reaches; work-items that wait for each other are slow on CPUs."""

_F32 = ElementType.of("f32")
_AT_ONCE = 2
"""Groups of `LocalKernel` on a compute unit."""
_BLOCK, _VECTOR, _ABREAST = 64, 8, 4
"""Of `SplitKernel`: keys of a block, neighbouring elements that a work-item has, and rows that are computed at a time
(measured on an H200: with one at a time a few warps take their time)."""
_SPLIT_NS, _SPLIT_ALIGNED_NS, _SPLIT_ON_GPU, _SPLIT_BANDWIDTH = 2000.0, 1500.0, 0.05, 0.5
"""What it takes at least, and its shares of the peak and of the memory's bandwidth."""
_SHARES_A_UNIT = 2
"""Shares of the keys for each compute unit."""


class LocalKernel(Kernel[AttentionProblem, None]):
    """A group computes `_ROWS` rows of the result."""

    name = "sdpa_local"
    supports_large = True

    def formats(self, problem: AttentionProblem) -> Formats:
        return problem.formats_wanted()

    def supports(self, problem: AttentionProblem, config: None) -> str | None:
        return _refusal(problem, _local_bytes, prod(_GROUP))

    def cost(self, problem: AttentionProblem, config: None) -> float:
        keys = _keys(*static((problem.depth, problem.width)))
        waiting = 0.0 if problem.runs_on_cpu else problem.walking_ns(_ROWS, keys, _AT_ONCE)
        return waiting + time_of(problem.capabilities.ceilings, flops=problem.flops,
                                 efficiency=_ON_CPU if problem.runs_on_cpu else _ON_GPU, nbytes=problem.moved_bytes)

    def lower(self, problem: AttentionProblem, config: None) -> Lowered:
        depth, width = _padded(*static((problem.depth, problem.width)))
        work = Work((_GROUP[0], ceil(problem.queries / _ROWS) * _GROUP[1], prod(static(problem.batch))), _GROUP)
        constants = {**problem.constants, "KEYS": _keys(depth, width), "QUERY_WIDTH": depth, "VALUE_WIDTH": width}
        return Lowered((Stage("sdpa_local.cl", problem.in_place_operands(), work, constants),))


@dataclass(frozen=True)
class Split:
    """The most rows of queries, and whether rows of keys and values start at multiples of a vector's size, so that
    nothing of it is looked up."""

    rows: int
    aligned: bool = False

    def __str__(self) -> str:
        return f"{self.rows}{'_aligned' * self.aligned}"


class SplitKernel(Kernel[AttentionProblem, Split]):
    """Of a few queries, as many rows as the configuration says for all heads that share their keys: work-groups share
    the keys. Runs on CPUs, slowly."""

    name = "sdpa_split"

    def formats(self, problem: AttentionProblem) -> Formats:
        return problem.formats_wanted()

    def configs(self, problem: AttentionProblem) -> tuple[Split, ...]:
        aligned = (False, True) if problem.capabilities.tensor_cores else (False,)
        return tuple(Split(rows, each) for rows in (1, 4, 16) for each in aligned)

    def supports(self, problem: AttentionProblem, split: Split) -> str | None:
        refusal = _refusal(problem, partial(_split_bytes, split.rows), _split_items(split.rows))
        return refusal or (None if not split.aligned or _in_vectors(problem) else "rows that are no whole vectors")

    def accepts(self, problem: AttentionProblem, split: Split) -> str | None:
        if split.aligned and not all(problem.data[data].is_aligned(-1, _VECTOR) for data in (KEY, VALUE)):
            return f"rows that do not start at multiples of {_VECTOR} elements"
        queries, entries = problem.result.sizes[-2], prod(problem.result.sizes[:-2]) // problem.primitive.groups
        if last_adds(problem.capabilities) and not (isinstance(entries, int) and entries <= COUNTERS):
            return f"more than {COUNTERS} entries, each of which needs a counter"
        if isinstance(queries, int) and problem.primitive.groups * queries <= split.rows:
            return None
        return f"more than {split.rows} rows"

    def cost(self, problem: AttentionProblem, split: Split) -> float:
        batch, _, keys, depth, width = problem.sizes.values()
        flops = 2 * (batch // problem.primitive.groups) * split.rows * keys * (depth + width)
        ceilings = problem.capabilities.ceilings
        efficiency = _ON_CPU / 2 if problem.runs_on_cpu else _SPLIT_ON_GPU
        least = _SPLIT_ALIGNED_NS if split.aligned else _SPLIT_NS
        launches = 1 if last_adds(problem.capabilities) else 2
        return least + time_of(ceilings, flops=flops, efficiency=efficiency, nbytes=problem.moved_bytes,
                               bandwidth=_SPLIT_BANDWIDTH, launches=launches)

    def lower(self, problem: AttentionProblem, split: Split) -> Lowered:
        rows, recipe = split.rows, ALIGNED if split.aligned else USUAL
        depth, width = static((problem.depth, problem.width))
        entries = prod(static(problem.batch)) // problem.primitive.groups
        share, shares = _shares(problem, entries)
        groups, items = entries * shares, _split_items(rows)
        totals = scratch_operand(0, TensorView.dense(_F32, (groups, rows, width)))
        sums = scratch_operand(1, TensorView.dense(_F32, (groups, rows, 2)))
        constants = {**problem.constants, "ROWS": rows, "ABREAST": min(rows, _ABREAST), "KEYS": _BLOCK,
                     "QUERY_WIDTH": depth, "WIDTH": width, "IN_VECTORS": _in_vectors(problem)}
        *given, output = problem.in_place_operands()
        sink = [each for each in given if each.macro == f"INPUT{SINK}"]
        scratch, work = (groups * rows * width * 4, groups * rows * 8), Work((groups * items,), (items,))
        if last_adds(problem.capabilities):
            return Lowered((Stage("sdpa_split.cl", (*given, totals, sums, counters_operand(), output), work,
                                  {**constants, "LAST_ADDS": True}, {"keys": share, "shares": shares},
                                  recipe=recipe),), scratch)
        find = Stage("sdpa_split.cl", (*given, totals, sums), work, constants, {"keys": share}, recipe=recipe)
        elements = prod(static(problem.batch)) * problem.queries * width
        put = Stage("sdpa_split_sum.cl", (totals, sums, *sink, output), Work((elements,)), constants,
                    {"shares": shares})
        return Lowered((find, put), scratch)


def last_adds(device: Capabilities) -> bool:
    """Whether the last work-group of an entry adds what the others left, which needs memory that is in order between
    them: not a matter of course in OpenCL 1.2."""
    return device.tensor_cores


def _refusal(problem: AttentionProblem, local_bytes: Callable[[int, int], int], items: int) -> str | None:
    """What keeps groups of so many work-items from a problem, which hold so many bytes for last sizes of keys and
    values."""
    depth, width = problem.depth, problem.width
    if not isinstance(depth, int) or not isinstance(width, int) or not depth or not width or width > MOST_WIDTH:
        return "the last sizes are unknown, zero or large"
    if any(x.element_type.name == "f64" for x in problem.inputs):
        return "computes in f32"
    if problem.primitive.in_byte_rows:
        return "made for floats"
    device, needed = problem.capabilities, local_bytes(depth, width)
    if needed > device.usable_local_mem:
        return f"needs {needed} bytes of local memory"
    refusal = f"needs groups of {items}" if device.max_work_group_size < items else None
    return problem.layout_refusal() or refusal


def _split_bytes(rows: int, depth: int, width: int) -> int:
    """What a group of `SplitKernel` holds in local memory."""
    return 4 * rows * (ceil(depth / _VECTOR) * _VECTOR + _BLOCK * (_VECTOR + 3) + _BLOCK // _VECTOR + 3)


def _in_vectors(problem: AttentionProblem) -> bool:
    """Whether rows of keys and values are whole vectors of neighbouring elements."""
    return problem.rows_are_contiguous((KEY, VALUE)) and all(
        size % _VECTOR == 0 for size in static((problem.depth, problem.width)))


def _split_items(rows: int) -> int:
    """The work-items of a group of `SplitKernel`."""
    return _BLOCK * min(rows, _ABREAST)


@pure
def _keys_of_share(keys: int, entries: int, units: int) -> int:
    """Whole blocks of keys, so that there are some groups for each compute unit."""
    blocks = ceil(larger(keys, 1) / _BLOCK)
    shares = larger(smaller(_SHARES_A_UNIT * units // larger(entries, 1), blocks), 1)
    return ceil(blocks / shares) * _BLOCK


def _shares(problem: AttentionProblem, entries: int) -> tuple[int, int]:
    """The keys of a share, and how many shares each entry has."""
    keys = problem.keys
    if isinstance(keys, Dim) or isinstance(entries, Dim):
        return _BLOCK, 1
    share = computed(_keys_of_share, keys, entries, problem.capabilities.compute_units)
    return share, computed(max, ceil(keys / share), 1)


def _padded(depth: int, width: int) -> tuple[int, int]:
    return ceil(depth / 4) * 4, ceil(width / 16) * 16


def _keys(depth: int, width: int) -> int:
    return 64 if max(depth, width) <= 64 else 32


def _local_bytes(depth: int, width: int) -> int:
    """What a group holds in local memory."""
    depth, width = _padded(depth, width)
    keys = _keys(depth, width)
    return 4 * (_ROWS * (depth + 4) + keys * (max(depth, width) + 4) + _ROWS * (keys + 4))
