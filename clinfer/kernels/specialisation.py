"""Which kernels to try for shapes that come again and again, beside the one that serves every shape.

A specialised implementation is either another kernel of the table, which the selector would have taken had it known
the sizes, or a build in which every size that the model fixes (channels, filters, depths) is a constant in the source.
Sizes that vary stay arguments, so one build serves all shapes for which it is the faster one.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from clinfer.base.layout import Layout
from clinfer.kernels.contract import Candidate, Kernel, KernelTable, Problem
from clinfer.kernels.implementation import Implementation, generate, holds_for
from clinfer.kernels.kernel_cache import LoadedKernels
from clinfer.kernels.selector import is_able
from clinfer.kernels.tuned import believed, wrong_results
from clinfer.topology.primitive import attributes_of

MOST_KERNELS = 3
"""Kernels of the table that are tried for one shape."""
ALIGNMENT = 8
"""Neighbouring sizes along a primitive's `aligned_axis` are rounded up to a multiple of it."""


@dataclass(frozen=True)
class TuningTask:
    """Which implementation is fastest for these static layouts?

    `present`: the one that serves every shape, made for `present.problem`. `table`: the operation's kernels. `kernels`:
    where those of the answer are to be. `scratch`: how many scratch buffers the program has for the primitive.
    `repack`: gives what brings the weights into another layout (None: nothing need be done); without it they stay in
    the one that they have.
    """

    present: Implementation
    problem: Problem
    table: KernelTable
    kernels: LoadedKernels
    scratch: int
    repack: Callable[[Layout], Implementation | None] | None = None


def key_of(present: Implementation, problem: Problem) -> object:
    """Equal for tasks that have the same result; may be unhashable, as attributes are."""
    primitive = problem.primitive
    aligned = _aligned(problem)
    return (type(primitive), attributes_of(primitive), primitive.output_padding,
            tuple((type(fused.primitive), attributes_of(fused.primitive), fused.operands)
                  for fused in primitive.fused_ops),
            present.name, tuple(stage.code.kernel_id for stage in present.stages), present.problem.all_inputs,
            aligned.all_inputs, aligned.outputs,
            tuple((index, value.dtype.str, value.shape, value.tobytes()) for index, value in problem.values.items()))


def _aligned(problem: Problem) -> Problem:
    """The parameters with the size along the aligned axis rounded up; what fused operations read with it, unless it is
    1."""
    axis = problem.primitive.aligned_axis
    if axis is None or problem.inputs[0].rank < -axis or problem.outputs[0].rank < -axis:
        return problem
    rows = problem.outputs[0].static_shape[axis]
    if rows <= 1 or problem.inputs[0].shape[axis] != rows:
        return problem
    rounded = -(-rows // ALIGNMENT) * ALIGNMENT

    def at(shape: tuple[int, ...]) -> tuple[int, ...]:
        place = len(shape) + axis
        return tuple(rounded if i == place and size == rows else size for i, size in enumerate(shape))

    data, *others = problem.inputs
    return replace(problem, inputs=(data.with_shape(at(data.static_shape)), *others),
                   outputs=tuple(x.with_shape(at(x.static_shape)) for x in problem.outputs),
                   fused_inputs=tuple(x.with_shape(at(x.static_shape)) for x in problem.fused_inputs))


def rivals(task: TuningTask) -> tuple[Implementation, ...]:
    """The present implementation, then others that may be faster, those that need no build of their own first."""
    present = task.present
    chosen = [each for each in ranked(task) if each != present.candidate][:MOST_KERNELS - 1]
    built_for = present.problem
    others = [generate(each, each.in_own_formats(built_for)) for each in chosen]
    baked = [generate(each, each.in_own_formats(built_for), bake=True) for each in (present.candidate, *chosen)]
    found: dict[tuple[str, ...], Implementation] = {}
    for implementation in (present, *others, *baked):
        if holds_for(implementation, implementation.candidate.in_own_formats(task.problem)):
            found.setdefault(tuple(stage.code.kernel_id for stage in implementation.stages), implementation)
    return tuple(found.values())


def ranked(task: TuningTask) -> list[Candidate]:
    """What works on the tensors as they lie, each kernel in its best configuration, fastest first for these sizes."""
    def cost(candidate: Candidate) -> float:
        return believed(candidate, candidate.in_own_formats(task.problem))
    best: dict[Kernel[Any, Any], Candidate] = {}
    able = [each for each in task.table.candidates(task.present.problem) if _serves(each, task)]
    for candidate in sorted(able, key=cost):
        best.setdefault(candidate.kernel, candidate)
    return list(best.values())


def _serves(candidate: Candidate, task: TuningTask) -> bool:
    """Whether a candidate can compute static layouts in their present formats, by code made for open ones."""
    if wrong_results(candidate, task.problem, task.table.kernels[-1]) is not None:
        return False
    for given in (task.problem, task.present.problem):
        wanted = candidate.in_own_formats(given)
        if not _is_as_given(given, wanted, task.repack is not None) or not is_able(candidate, wanted):
            return False
    wanted = candidate.in_own_formats(task.problem)
    return candidate.accepts(wanted) is None and len(candidate.lower(wanted).scratch) <= task.scratch


def _is_as_given(given: Problem, wanted: Problem, any_weights: bool) -> bool:
    """Whether all tensors lie as wanted; the weights may lie elsewhere, if so said."""
    free = given.primitive.weights_input if any_weights else None
    return given.outputs == wanted.outputs and all(
        have == want or index == free
        for index, (have, want) in enumerate(zip(given.all_inputs, wanted.all_inputs, strict=True)))
