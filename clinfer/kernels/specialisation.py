"""Which kernels to try for shapes that come again and again, beside the one that serves every shape.

A specialised implementation is either another kernel of the table, which the selector would have taken had it known
the sizes, or a build in which every size that the model fixes (channels, filters, depths) is a constant in the source.
Sizes that vary stay arguments, so one build serves all shapes for which it is the faster one.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from clinfer.base.layout import Layout
from clinfer.kernels.implementation import Implementation, generate, holds_for
from clinfer.kernels.selector import in_formats
from clinfer.kernels.spec import KernelParams, KernelSpec, stages_of
from clinfer.kernels.tails import tails_refusal
from clinfer.topology.primitive import attributes_of

MOST_KERNELS = 3
"""Kernels of the table that are tried for one shape."""
ALIGNMENT = 8
"""Neighbouring sizes along a primitive's `aligned_axis` are rounded up to a multiple of it."""


@dataclass(frozen=True)
class Question:
    """Which implementation is fastest for these static layouts?

    `present`: the one that serves every shape, made for `present.params`. `table`: the room's kernels. `scratch`: how
    many scratch buffers the program has for the primitive. `repack`: gives what brings the weights into another
    layout (None: nothing need be done); without it they stay in the one that they have.
    """

    present: Implementation
    params: KernelParams
    table: Sequence[KernelSpec]
    scratch: int
    repack: Callable[[Layout], Implementation | None] | None = None


def key_of(present: Implementation, params: KernelParams) -> object:
    """Equal for questions that have the same answer; may be unhashable, as attributes are."""
    primitive = params.primitive
    aligned = _aligned(params)
    return (type(primitive), attributes_of(primitive), primitive.output_padding,
            tuple((type(tail.primitive), attributes_of(tail.primitive), tail.operands) for tail in primitive.tails),
            present.spec.name, tuple(stage.code.kernel_id for stage in present.stages), present.params.all_inputs,
            aligned.all_inputs, aligned.outputs,
            tuple((index, value.dtype.str, value.shape, value.tobytes()) for index, value in params.values.items()))


def _aligned(params: KernelParams) -> KernelParams:
    """The parameters with the size along the aligned axis rounded up; what tails read with it, unless it is 1."""
    axis = params.primitive.aligned_axis
    if axis is None or params.inputs[0].rank < -axis or params.outputs[0].rank < -axis:
        return params
    rows = params.outputs[0].static_shape[axis]
    if rows <= 1 or params.inputs[0].shape[axis] != rows:
        return params
    rounded = -(-rows // ALIGNMENT) * ALIGNMENT

    def at(shape: tuple[int, ...]) -> tuple[int, ...]:
        place = len(shape) + axis
        return tuple(rounded if i == place and size == rows else size for i, size in enumerate(shape))

    return replace(params, inputs=(params.inputs[0].with_shape(at(params.inputs[0].static_shape)), *params.inputs[1:]),
                   outputs=tuple(x.with_shape(at(x.static_shape)) for x in params.outputs),
                   tail_inputs=tuple(x.with_shape(at(x.static_shape)) for x in params.tail_inputs))


def contestants(question: Question) -> tuple[Implementation, ...]:
    """The present implementation, then others that may be faster, those that need no build of their own first."""
    present = question.present
    chosen = [spec for spec in _ranked(question) if spec is not present.spec][:MOST_KERNELS - 1]
    built_for = present.params
    others = [generate(spec, params_of(spec, built_for)) for spec in chosen]
    baked = [generate(spec, params_of(spec, built_for), bake=True) for spec in (present.spec, *chosen)]
    found: dict[tuple[str, ...], Implementation] = {}
    for implementation in (present, *others, *baked):
        if holds_for(implementation, params_of(implementation.spec, question.params)):
            found.setdefault(tuple(stage.code.kernel_id for stage in implementation.stages), implementation)
    return tuple(found.values())


def _ranked(question: Question) -> list[KernelSpec]:
    """The kernels that work on the tensors as they lie, best first for these sizes."""
    scored = []
    for spec in question.table:
        if _serves(spec, question):
            scored.append((spec.score(params_of(spec, question.params)), spec))
    return [spec for _, spec in sorted(scored, key=lambda entry: -entry[0])]


def params_of(spec: KernelSpec, params: KernelParams) -> KernelParams:
    """The parameters with the weights in the format that a kernel wants."""
    return in_formats(params, spec.formats(params))


def _serves(spec: KernelSpec, question: Question) -> bool:
    """Whether a kernel can compute static layouts in their present formats, by code made for open ones."""
    for given in (question.params, question.present.params):
        wanted = params_of(spec, given)
        if not _is_as_given(given, wanted, question.repack is not None) or spec.supports(wanted) is not None:
            return False
    scratch = spec.scratch(params_of(spec, question.params))
    return (tails_refusal(wanted.primitive, stages_of(spec, wanted)) is None
            and accepts(spec, question.params) and len(scratch) <= question.scratch)


def _is_as_given(given: KernelParams, wanted: KernelParams, any_weights: bool) -> bool:
    """Whether all tensors lie as wanted; the weights may lie elsewhere, if so said."""
    free = given.primitive.weights_input if any_weights else None
    return given.outputs == wanted.outputs and all(
        have == want or index == free
        for index, (have, want) in enumerate(zip(given.all_inputs, wanted.all_inputs, strict=True)))


def accepts(spec: KernelSpec, params: KernelParams) -> bool:
    """Whether a kernel accepts these static layouts."""
    return spec.check_shapes is None or spec.check_shapes(params_of(spec, params)) is None
