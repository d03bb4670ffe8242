"""Whether requests may be computed at once: whether a model's rows do not know each other."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.serve.compiled import ServedModel
from clinfer.serve.datatypes import numpy_type
from clinfer.serve.messages import Port

_SIZES = (64, 32, 224, 16, 8, 1)
"""Tried for open sizes, until the model can be run."""
_INDEPENDENT, _ALIKE = 1e-6, 2e-2
"""Of the output's scale: how much a row may depend on its neighbour (the kernels are the same), and how much on the
number of rows (they may be others, in f16)."""


def why_unbatched(model: ServedModel) -> str:
    """Why requests to the model are not computed at once; "" if they are.

    The first size of every input and output must be open. Then it is tried on random inputs: a row's outputs must be
    the same beside any other row, and nearly those that it has alone. That finds models that mix rows (a mean, a
    softmax, a sort over the first axis), though it is no proof.
    """
    if model.has_states:
        return "the model has states"
    for port in (*model.inputs, *model.outputs):
        if port.has_open_rank or not port.shape or port.shape[0] != -1:
            return f"the first size of {port.name} is not open"
    if not model.inputs or any(port.datatype == "BYTES" for port in model.inputs):
        return "its inputs are texts" if model.inputs else "it has no inputs"
    random = np.random.default_rng(0)
    for size in _SIZES:
        a, b, c = ({port.name: _random(port, size, random) for port in model.inputs} for _ in range(3))
        try:
            alone, first, second, third = [model.compute(given) for given in (
                a, _below(a, b), _below(a, c), _below(c, a))]
        except ClinferError:
            continue
        return next(_differences(alone, first, second, third), "")
    return "no sizes were found at which it could be tried"


def _random(port: Port, size: int, random: np.random.Generator) -> np.ndarray:
    shape = (1, *(size if each == -1 else each for each in port.shape[1:]))
    dtype = numpy_type(port.datatype)
    return random.random(shape).astype(dtype) if dtype.kind == "f" else random.integers(0, 2, shape).astype(dtype)


def _below(upper: dict[str, np.ndarray], lower: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: np.concatenate([upper[name], lower[name]]) for name in upper}


def _differences(alone: dict[str, np.ndarray], first: dict[str, np.ndarray], second: dict[str, np.ndarray],
                 third: dict[str, np.ndarray]) -> Iterator[str]:
    for name, row in alone.items():
        if len(row) != 1 or any(len(both[name]) != 2 for both in (first, second, third)):
            yield f"{name} has not one row for each of the inputs'"
        elif not _is_near(first[name][0], second[name][0], _INDEPENDENT):
            yield f"a row of {name} depends on the other rows"
        elif not (_is_near(row[0], first[name][0], _ALIKE) and _is_near(row[0], third[name][1], _ALIKE)):
            yield f"a row of {name} depends on its place"


def _is_near(left: np.ndarray, right: np.ndarray, share: float) -> bool:
    if left.shape != right.shape:
        return False
    if left.dtype.kind != "f":
        return bool(np.array_equal(left, right))
    scale = float(np.max(np.abs(right), initial=0.0, where=np.isfinite(right)))
    return bool(np.allclose(left, right, rtol=0.0, atol=share * scale, equal_nan=True))
