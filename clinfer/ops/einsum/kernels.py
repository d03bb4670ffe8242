"""The kernel of the einsum room."""
from __future__ import annotations

import math

from clinfer.base.layout import Layout
from clinfer.base.shape import Size
from clinfer.base.tensor_view import Pitch, TensorView
from clinfer.kernels.spec import Constant, KernelParams, KernelSpec, Operand, Stage, input_operand, output_operand
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.views import at_least_one_axis

# Stands where the output has no axis: a label of size 1 that no input has.
_NOTHING = "-"


def _labels(params: KernelParams) -> str:
    primitive = params.primitive
    return (primitive.result or _NOTHING) + primitive.summed


def _sizes(params: KernelParams) -> dict[str, Size]:
    return {_NOTHING: 1, **params.primitive.sizes(tuple(x.shape for x in params.inputs))}


def _over_labels(params: KernelParams, layout: Layout, term: str) -> TensorView:
    """The view over all labels; a label that occurs twice walks along a diagonal."""
    view, sizes, labels = TensorView.of(layout), _sizes(params), _labels(params)
    pitches = tuple(_pitch(view, term, label, sizes[label]) for label in labels)
    return TensorView(view.element_type, tuple(sizes[label] for label in labels), pitches, view.offset,
                      (None,) * len(labels))


def _pitch(view: TensorView, term: str, label: str, size: Size) -> Pitch:
    if size == 1:
        return 1
    total: Pitch = 0
    for axis, other in enumerate(term):
        if other != label or view.sizes[axis] == 1:
            continue
        pitch = view.pitches[axis] if isinstance(view.sizes[axis], int) else None
        total = None if total is None or pitch is None else total + pitch
    return total


def _operands(params: KernelParams) -> tuple[Operand, ...]:
    inputs = tuple(input_operand(params, i, _over_labels(params, x, term))
                   for i, (x, term) in enumerate(zip(params.inputs, params.primitive.terms, strict=True)))
    return (*inputs, output_operand(params, 0, at_least_one_axis(TensorView.of(params.outputs[0]))))


def _constants(params: KernelParams) -> dict[str, Constant]:
    labels, kept = _labels(params), len(params.primitive.result or _NOTHING)
    steps = [f"(c)[{axis}] = m_ % INPUT0_SIZE_{axis}; m_ /= INPUT0_SIZE_{axis};"
             for axis in reversed(range(kept, len(labels)))]
    return {"INPUTS": len(params.inputs), "LABELS": len(labels),
            "UNRAVEL_SUMMED(m, c)": f"do {{ int m_ = (m); {' '.join(steps)} }} while (0)"}


def _arguments(params: KernelParams) -> dict[str, int]:
    if not params.is_static:
        return {"summed": 0}
    sizes = _sizes(params)
    return {"summed": math.prod(sizes[label] for label in params.primitive.summed)}  # type: ignore[misc]


KERNELS = (
    KernelSpec("einsum_ref", (Stage("einsum_ref.cl", "einsum_ref", lambda params: local_items(params.outputs[0].count),
                                    _operands, _constants, _arguments, bake=False),)),
)
