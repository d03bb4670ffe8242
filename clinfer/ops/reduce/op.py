"""The reductions (OpenVINO ReduceSum-1, ReduceMean-1, ReduceL2-4 and so on): one primitive, one table."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import ANY, Shape, show
from clinfer.ops.shared.reduction import HIGHEST, LOWEST
from clinfer.ops.shared.shape_rules import without_axes
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive, SourceNode


@dataclass(frozen=True)
class Reduction:
    """One kind: the values combined start at `initial` and pass `value` before and `finish` after.

    The texts are OpenCL C for scalars and vectors alike; N is the number of values. `initial` may
    differ by arithmetic type. `evaluate` is the same in NumPy: (array, axes, keepdims) -> array.
    """

    combine: str
    initial: str | dict[str, str]
    evaluate: Callable[..., Any]
    value: str = "(x)"
    finish: str = "(x)"
    opset: str = "opset1"

    def initial_for(self, kind: ElementType) -> str:
        """The initial value for inputs of that type, in its arithmetic type."""
        if isinstance(self.initial, str):
            return self.initial
        narrow = not kind.is_float and kind.storage.itemsize < 4
        return str(self.ends(kind.storage)) if narrow else self.initial[kind.cl_compute]

    def ends(self, storage: np.dtype) -> int:
        """The initial value that is an end of an integer type."""
        limits = np.iinfo(storage)
        return int(limits.min if self.initial is LOWEST else limits.max)


def _mean(x: np.ndarray, axes: tuple[int, ...], keepdims: bool) -> np.ndarray:
    if np.issubdtype(x.dtype, np.floating):
        return np.mean(x, axes, keepdims=keepdims)
    total = np.sum(x, axes, dtype=np.int64, keepdims=keepdims)
    count = int(np.prod([x.shape[a] for a in axes], dtype=np.int64))
    return np.sign(total) * (np.abs(total) // max(count, 1))


_INFINITIES = {"min": -np.inf, "max": np.inf}


def _extreme(compute: Callable[..., Any], end: str) -> Callable[..., Any]:
    """The largest or smallest, by NumPy; of nothing the `end` of the type's numbers, "min" or "max"."""
    def evaluate(x: np.ndarray, axes: tuple[int, ...], keepdims: bool) -> Any:
        if x.size:
            return compute(x, axes, keepdims=keepdims)
        is_float = np.issubdtype(x.dtype, np.floating)
        initial = _INFINITIES[end] if is_float else getattr(np.iinfo(x.dtype), end)
        return compute(x, axes, keepdims=keepdims, initial=initial)
    return evaluate


LARGER = "((a) < (b)) | ((b) != (b)) ? (b) : (a)"
SMALLER = "((a) > (b)) | ((b) != (b)) ? (b) : (a)"
"""Of two, what is not a number where one is none, unlike fmax and fmin."""

REDUCTIONS: dict[str, Reduction] = {
    "Sum": Reduction("(a) + (b)", "0", lambda x, axes, keepdims: np.sum(x, axes, keepdims=keepdims)),
    "Mean": Reduction("(a) + (b)", "0", _mean, finish="(x) / N"),
    "Max": Reduction(LARGER, LOWEST, _extreme(np.max, "min")),
    "Min": Reduction(SMALLER, HIGHEST, _extreme(np.min, "max")),
    "Prod": Reduction("(a) * (b)", "1", lambda x, axes, keepdims: np.prod(x, axes, keepdims=keepdims)),
    "L1": Reduction("(a) + (b)", "0", lambda x, axes, keepdims: np.sum(np.abs(x), axes, keepdims=keepdims),
                    value="MAGNITUDE(x)", opset="opset4"),
    "L2": Reduction("(a) + (b)", "0", lambda x, axes, keepdims: np.sqrt(np.sum(x * x, axes, keepdims=keepdims)),
                    value="(x) * (x)", finish="ROOT(x)", opset="opset4"),
    "LogicalAnd": Reduction("(a) & (b)", "1", lambda x, axes, keepdims: np.all(x, axes, keepdims=keepdims)),
    "LogicalOr": Reduction("(a) | (b)", "0", lambda x, axes, keepdims: np.any(x, axes, keepdims=keepdims)),
}


@dataclass(frozen=True)
class Reduce(Primitive):
    """Combines the elements of input 0 along the axes in input 1 as `mode` (a key of REDUCTIONS) says."""

    mode: str = "Sum"
    keep_dims: bool = False

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (1,)

    @property
    def takes_fused_ops(self) -> bool:
        return True

    @property
    def can_evaluate(self) -> bool:
        return True

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        data = shapes[0]
        if data is None or 1 not in values:
            return (data and (ANY,) * len(data) if self.keep_dims else without_axes(shapes),)
        named, rank = values[1].reshape(-1).tolist(), max(len(data), 1)
        if any(not -rank <= axis < rank for axis in named):
            raise ClinferError("an axis to reduce does not exist", where=self.where,
                               values={"data": show(data), "axes": named})
        axes = {int(axis) % rank for axis in named}
        kept = (1 if axis in axes else size for axis, size in enumerate(data))
        return (tuple(size for axis, size in enumerate(kept) if self.keep_dims or axis not in axes),)

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        data = values[0]
        axes = tuple({int(axis) % data.ndim for axis in values[1].reshape(-1)}) if data.ndim else ()
        result = REDUCTIONS[self.mode].evaluate(data, axes, keepdims=self.keep_dims)
        return (np.asarray(result).astype(data.dtype),)


def convert_reduce(node: SourceNode) -> Reduce:
    """The primitive of any Reduce operation."""
    attributes: Any = node.attributes
    return Reduce(node.id, node.inputs, origin=node.name, mode=node.type_name.removeprefix("Reduce"),
                  keep_dims=bool(attributes["keep_dims"]))
