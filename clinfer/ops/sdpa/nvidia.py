"""Attention of f16 on NVIDIA's tensor cores."""
from __future__ import annotations

from functools import partial
from math import ceil, prod

from clinfer.kernels.spec import Constant, Dispatch, KernelParams, KernelSpec, Stage
from clinfer.ops.sdpa.operands import (
    KEY,
    QUERY,
    VALUE,
    common_constants,
    formats_of,
    in_place_operands,
    rows_are_contiguous,
    width_of,
)
from clinfer.ops.shared.parts import seen_input, seen_result
from clinfer.ops.shared.tensor_cores import CHUNK, is_aligned, tensor_core_refusal
from clinfer.ops.shared.views import static

THREADS, ROWS, KEYS = 128, 64, 64
WIDTHS = (32, 64, 128)
"""Halves of a row in local memory."""


def _widths(params: KernelParams) -> tuple[int, int] | None:
    """The rows of queries and keys, and those of values, in local memory; None where they are unknown or large."""
    sizes = seen_input(params, QUERY).sizes[-1], width_of(params)
    if not all(isinstance(size, int) and 0 < size <= WIDTHS[-1] for size in sizes):
        return None
    depth, width = (min(w for w in WIDTHS if w >= size) for size in static(sizes))
    return depth, width


def _refusal(params: KernelParams) -> str | None:
    if params.outputs[0].rank > 4:
        return "more than two batch axes"
    widths = _widths(params)
    if widths is None:
        return f"last sizes that are unknown, zero or above {WIDTHS[-1]}"
    if not rows_are_contiguous(params, (QUERY, KEY, VALUE)):
        return "the last axis of a part does not lie last in memory"
    if any(not params.inputs[i].format.is_planar for i in (QUERY, KEY, VALUE)):
        return "made for planar formats"
    if any(x.element_type.name == "f64" for x in params.inputs):
        return "computes in f32"
    depth, width = widths
    return tensor_core_refusal(params, (QUERY, KEY, VALUE), 2 * (ROWS * depth + 2 * KEYS * (depth + width)))


def _shapes_refusal(params: KernelParams) -> str | None:
    aligned = all(is_aligned(seen_input(params, i), -1) for i in (QUERY, KEY, VALUE))
    return None if aligned else f"rows that do not start at multiples of {CHUNK} elements"


def _constants(aligned: bool, params: KernelParams) -> dict[str, Constant]:
    widths = _widths(params)
    assert widths is not None
    depth, width = static((seen_input(params, QUERY).sizes[-1], width_of(params)))
    return {**common_constants(params), "KEYS": KEYS, "QUERY_WIDTH": widths[0], "VALUE_WIDTH": widths[1],
            "QUERY_STEPS": ceil(depth / 16), "VALUE_STEPS": ceil(width / 16), "ALIGNED": aligned}


def _dispatch(params: KernelParams) -> Dispatch:
    *batch, queries, _ = static(seen_result(params).sizes)
    return Dispatch((ceil(queries / ROWS) * THREADS, prod(batch)), (THREADS, 1))


def _stage(aligned: bool) -> Stage:
    return Stage("sdpa_mma.cl", "sdpa_mma", _dispatch, in_place_operands, partial(_constants, aligned), bake=False)


MMA_KERNELS = (
    KernelSpec("sdpa_mma", (_stage(True),), _refusal, lambda params: 20.0, formats_of, check_shapes=_shapes_refusal),
    KernelSpec("sdpa_mma_anywhere", (_stage(False),), _refusal, lambda params: 19.5, formats_of),
)
