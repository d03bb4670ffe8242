"""Fused operations: how kernels see what they read, and the OpenCL C of what they do.

The fused operations of a primitive are computed on each element of its result, in registers and in the arithmetic type,
before it is rounded and stored; between them, what is made by a primitive that `rounds` is rounded to its type. See
include/epilogue.cl for what a kernel does to take part.
"""
from __future__ import annotations

import re
from collections.abc import Mapping

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import is_one, show
from clinfer.kernels.contract import BufferRef, Operand, Problem, Stage
from clinfer.topology.primitive import Before, FusedOp, Primitive

_NAMES = "abcde"
_NAME = re.compile(rf"\b[{_NAMES}]\b")


def epilogue_operands(stage: Stage, problem: Problem) -> tuple[Operand, ...]:
    """FUSED<n>: the buffers that the fused operations read, as the stage sees them."""
    own = len(problem.inputs)
    return tuple(Operand(f"FUSED{n}", BufferRef("input", own + n), view)
                 for n, view in enumerate(stage.epilogue_views or ()))


def check_epilogue(problem: Problem) -> None:
    """Raise ClinferError where what a fused operation reads does not stretch to the result."""
    output = problem.outputs[0]
    for layout in problem.fused_inputs:
        if any(isinstance(have, int) and isinstance(want, int) and not is_one(have) and have not in (want, 1)
               for have, want in zip(layout.shape, output.shape, strict=True)):
            fused = ", ".join(fused.primitive.id for fused in problem.primitive.fused_ops)
            raise ClinferError("shapes do not broadcast", where=problem.primitive.where, values={
                "shapes": f"{show(output.shape)} {show(layout.shape)}", "fused operations": fused})


def epilogue_macros(stage: Stage, problem: Problem) -> Mapping[str, str]:
    """HAS_EPILOGUE, EPILOGUE and FUSED_EACH, and for each operand whether it moves along each axis, which is an
    expression where each shape decides; nothing for a stage that applies no fused operations."""
    if stage.epilogue_views is None:
        return {}
    macros = {"HAS_EPILOGUE": str(int(bool(problem.primitive.fused_ops))),
              "EPILOGUE(T, result, FETCH, at)": _chain(problem),
              "FUSED_EACH(DO, x)": " ".join(f"DO({n}, x)" for n in range(len(problem.fused_inputs)))}
    for operand in epilogue_operands(stage, problem):
        moves = [_moves(operand, axis) for axis in range(operand.view.rank)]
        macros |= {f"{operand.macro}_MOVES_{axis}": text for axis, text in enumerate(moves)}
        macros[f"{operand.macro}_MOVES_LAST"] = moves[-1] if moves else "0"
    return macros


def _moves(operand: Operand, axis: int) -> str:
    """Blocked axes are never those that a shape may stretch."""
    pitch = operand.view.pitches[axis]
    if pitch is None and operand.view.blocks[axis] is None:
        return f"({operand.macro}_PITCH_{axis} != 0)"
    return str(int(pitch != 0))


def _chain(problem: Problem) -> str:
    """The fused operations as statements that replace `result`; FETCH(n, at) reads the n-th fused input."""
    own = tuple(layout.element_type for layout in problem.inputs)
    types = tuple(layout.element_type for layout in problem.all_inputs)
    fused_ops = problem.primitive.fused_ops
    read_again = {operand.fused for fused in fused_ops for operand in fused.operands if isinstance(operand, Before)}
    results, maker, read = [problem.primitive.output_types(own)[0]], problem.primitive, own
    parts = []
    for number, fused in enumerate(fused_ops):
        rounded = _rounding(maker, read, results[-1])
        kept = f"const T result_{number} = result; " if number in read_again else ""
        maker, read = fused.primitive, fused.types(results, types)
        parts.append(rounded + kept + _statements(fused, read, len(own)))
        results.append(fused.output_type(results, types))
    return f"{{ {' '.join(parts)} }}" if read_again else " ".join(parts)


def _rounding(maker: Primitive, read: tuple[ElementType, ...], made: ElementType) -> str:
    """What rounds a result that is not stored to its type, where that is narrower than what it is made of."""
    if not maker.rounds or not made.is_float or made.bits > 16 or made.bits > read[0].bits:
        return ""
    return f"result = ROUNDED({made}, T, result); "


def _statements(fused: FusedOp, types: tuple[ElementType, ...], own: int) -> str:
    text = fused.primitive.fused_text(types)
    assert text is not None
    names = _NAMES[:len(fused.operands)]
    loads = " ".join(f"const T fused_{name} = {_value(operand, own)};"
                     for name, operand in zip(names, fused.operands, strict=True))
    return f"{{ {loads} result = {_NAME.sub(lambda match: f'fused_{match.group()}', text)}; }}"


def _value(operand: int | Before | None, own: int) -> str:
    if isinstance(operand, int):
        return f"FETCH({operand - own}, at)"
    return "result" if operand is None else f"result_{operand.fused}"
