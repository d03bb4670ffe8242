"""The kernels of recurrent networks."""
from __future__ import annotations

from dataclasses import replace
from math import ceil

from clinfer.base.element_type import ElementType
from clinfer.base.format import Format
from clinfer.base.shape import ANY
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import (
    Formats,
    Kernel,
    KernelTable,
    Lowered,
    Operand,
    Stage,
    Work,
    planar_formats,
    scratch_operand,
)
from clinfer.kernels.cost import time_of
from clinfer.ops.recurrent.problem import WEIGHTS, RecurrenceProblem, bytes_of
from clinfer.ops.shared.targets import cpu_only
from clinfer.ops.shared.views import static
from clinfer.runtime.capabilities import Capabilities
from clinfer.symbolic.symbols import computed, larger, pure, smaller

_F32, _I32 = ElementType.of("f32"), ElementType.of("i32")
_STATES = 4
_LANES = {"lstm": 2, "gru": 3, "rnn": 1}
_PRODUCT_ON_GPU, _PRODUCT_ON_CPU = 10.0, 2.0
"""Nanoseconds of a product of the reference within a step, which waits for what it loads, in one of its lanes."""
_UNITS = 16
"""Hidden units of a block of the weights."""
_LEAST_ROWS = 8
"""Sequences that are worth walking through side by side."""
_LEAST_SHARE = 1 << 15
"""Products of a step that are worth waiting for others at its end."""
_MOST_SHARES = 8
_PATIENCE = 64
"""Products in the time of which a group looks once whether others are done."""
_LINE = 16
"""Whole numbers of a cache line."""
_SHARE_OF_PEAK = 0.3
_MEETING = 300.0
"""Nanoseconds in which work-groups learn that all have done their share of a step."""


class Reference(Kernel[RecurrenceProblem, None]):
    """One work-group per sequence."""

    name = "recurrent_ref"

    def cost(self, problem: RecurrenceProblem, config: None) -> float:
        product, side_by_side = _PRODUCT_ON_GPU, problem.batch * problem.primitive.directions
        if problem.runs_on_cpu:
            product, side_by_side = _PRODUCT_ON_CPU, smaller(side_by_side, problem.capabilities.compute_units)
        waiting = product * problem.steps * problem.step_products / _lanes(problem)
        return waiting * problem.batch * problem.primitive.directions / larger(side_by_side, 1) + time_of(
            problem.capabilities.ceilings, flops=problem.flops, efficiency=self.efficiency, nbytes=problem.moved_bytes)

    def lower(self, problem: RecurrenceProblem, config: None) -> Lowered:
        cell, lanes = problem.primitive, _lanes(problem)
        states = TensorView.dense(_F32, (problem.batch, cell.directions, _STATES, cell.hidden_size))
        work = Work((problem.batch * cell.directions * lanes,), (lanes,))
        return Lowered((Stage("recurrent_ref.cl", (*problem.operands, scratch_operand(0, states)), work,
                              {**problem.constants, "LANES": lanes}),), (bytes_of(states),))


def _lanes(problem: RecurrenceProblem) -> int:
    """Work-items of a sequence: enough for the hidden units, a power of two."""
    most = min(16 if problem.runs_on_cpu else 256, problem.capabilities.max_work_group_size)
    return 1 << (min(most, problem.primitive.hidden_size).bit_length() - 1)


class StepsKernel(Kernel[RecurrenceProblem, None]):
    """All steps in one launch, whose work-groups share the units of each step among them, and which states are kept
    in whole vectors; a launch before it makes these states. A single step that need not wait within is one launch."""

    name = "recurrent_steps"

    def targets(self, device: Capabilities) -> str | None:
        return cpu_only(device)

    def formats(self, problem: RecurrenceProblem) -> Formats:
        planar = planar_formats(problem)
        inputs = list(planar.inputs)
        inputs[WEIGHTS] = Format.of("d_us_kg_usv16")
        return replace(planar, inputs=tuple(inputs))

    def supports(self, problem: RecurrenceProblem, config: None) -> str | None:
        if any(x.element_type.name == "f64" for x in problem.inputs):
            return "computes in f32"
        return None

    def cost(self, problem: RecurrenceProblem, config: None) -> float:
        _, tiles, shares = _parts(problem)
        meeting = _MEETING * problem.steps if shares > 1 else 0.0
        return meeting + _time(problem, tiles * shares, launches=1 if _is_direct(problem) else 2)

    def lower(self, problem: RecurrenceProblem, config: None) -> Lowered:
        rows, tiles, shares = _parts(problem)
        arguments = {"rows": rows, "shares": shares, "slots": tiles * shares,
                     "patience": rows * problem.step_products // (shares * _PATIENCE)}
        if _is_direct(problem):
            work = Work((tiles * shares,), (1,))
            return Lowered((_steps(problem, (), work, arguments, DIRECT=True),))
        states, turns = _states(problem), TensorView.dense(_I32, (tiles, shares, 2, _LINE))
        scratch = scratch_operand(0, states), scratch_operand(1, turns)
        start = Stage("recurrent_start.cl", (*problem.operands_named(_STARTING), *scratch),
                      Work((problem.batch * problem.primitive.directions,), (1,)),
                      {**problem.constants, "DIRECTIONS": problem.primitive.directions}, {"rows": rows})
        work = Work((_groups(problem, tiles, shares),), (1,))
        return Lowered((start, _steps(problem, scratch, work, arguments)), (bytes_of(states), bytes_of(turns)))


class AloneKernel(StepsKernel):
    """All steps of a tile in one work-group, which waits for no other one: of layers whose steps are so short that
    sharing them takes longer. One launch."""

    name = "recurrent_alone"

    def supports(self, problem: RecurrenceProblem, config: None) -> str | None:
        if _is_direct(problem):
            return "a single step waits for nothing anyway"
        return super().supports(problem, config)

    def cost(self, problem: RecurrenceProblem, config: None) -> float:
        _, tiles, _ = _parts(problem)
        return _time(problem, tiles)

    def lower(self, problem: RecurrenceProblem, config: None) -> Lowered:
        rows, tiles, _ = _parts(problem)
        states = _states(problem)
        steps = _steps(problem, (scratch_operand(0, states),), Work((tiles,), (1,)),
                       {"rows": rows, "shares": 1, "slots": tiles}, ALONE=True)
        return Lowered((steps,), (bytes_of(states),))


def _steps(problem: RecurrenceProblem, scratch: tuple[Operand, ...], work: Work, arguments: dict[str, int],
           **how: bool) -> Stage:
    constants = {**problem.constants, "DIRECTIONS": problem.primitive.directions,
                 "DIRECT": False, "ALONE": False, **how}
    return Stage("recurrent_steps.cl", (*problem.operands, *scratch), work, constants, arguments)


def _time(problem: RecurrenceProblem, groups: int, launches: int = 1) -> float:
    """Nanoseconds of all steps in so many work-groups at once."""
    units = problem.capabilities.compute_units
    return time_of(problem.capabilities.ceilings, flops=problem.flops, nbytes=problem.moved_bytes, launches=launches,
                   efficiency=_SHARE_OF_PEAK * larger(smaller(groups, units), 1) / units)


def _states(problem: RecurrenceProblem) -> TensorView:
    cell = problem.primitive
    return TensorView.dense(_F32, (problem.batch * cell.directions, problem.steps + 1, _LANES[cell.cell],
                                   _blocks(problem) * _UNITS))


def _blocks(problem: RecurrenceProblem) -> int:
    return ceil(problem.primitive.hidden_size / _UNITS)


_STARTING = ("INPUT3", "INPUT4", "INPUT5", "OUTPUT0", "OUTPUT1", "OUTPUT2")


def _parts(problem: RecurrenceProblem) -> tuple[int, int, int]:
    """The sequences of a tile, all tiles, and the shares of each; open where the problem is."""
    if not problem.is_static:
        return static((ANY, ANY, ANY))  # type: ignore[return-value]
    directions, units = problem.primitive.directions, problem.capabilities.compute_units
    rows = computed(rows_of_tile, problem.batch, directions, units)
    return (rows, ceil(problem.batch / rows) * directions,
            computed(shares_of_tile, rows * problem.step_products, _blocks(problem), units))


def _groups(problem: RecurrenceProblem, tiles: int, shares: int) -> int:
    return computed(groups, tiles, shares, problem.capabilities.compute_units) if problem.is_static else tiles


def _is_direct(problem: RecurrenceProblem) -> bool:
    """Whether it is one step, whose units wait for no others: those of a GRU that resets its state first do."""
    cell = problem.primitive
    return cell.is_step and (cell.cell != "gru" or cell.linear_before_reset)


@pure
def rows_of_tile(batch: int, directions: int, units: int) -> int:
    """Sequences that go side by side, so that they share the weights in a core's cache: all, unless there are enough
    to keep several cores busy."""
    tiles = smaller(larger(batch // _LEAST_ROWS, 1), ceil(units / directions))
    return larger(ceil(batch / tiles), 1)


@pure
def shares_of_tile(products: int, blocks: int, units: int) -> int:
    """Into how many shares the `blocks` of a step are parted that takes so many products in all."""
    return larger(smaller(smaller(units, products // _LEAST_SHARE), smaller(blocks, _MOST_SHARES)), 1)


@pure
def groups(tiles: int, shares: int, units: int) -> int:
    """Work-groups for all shares: some more than there are threads, because drivers may give one thread several groups
    in a row, and leave another one without."""
    return max(tiles * shares, 2 * units) if shares > 1 else tiles


KERNELS = KernelTable((StepsKernel(), AloneKernel(), Reference()), RecurrenceProblem)
