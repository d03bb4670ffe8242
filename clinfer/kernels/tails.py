"""Fused tails: how kernels see what they read, and the OpenCL C of what they do.

The tails of a primitive are computed on each element of its result, in registers and in the arithmetic type,
before it is rounded and stored. See include/tails.cl for what a kernel does to take part.
"""
from __future__ import annotations

import re
from collections.abc import Mapping

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import show
from clinfer.kernels.contract import BufferRef, Operand, Problem, Stage
from clinfer.topology.primitive import Before, Tail

_NAMES = "abcde"
_NAME = re.compile(rf"\b[{_NAMES}]\b")


def tail_operands(stage: Stage, problem: Problem) -> tuple[Operand, ...]:
    """TAIL<n>: the buffers that the tails read, as the stage sees them."""
    own = len(problem.inputs)
    return tuple(Operand(f"TAIL{n}", BufferRef("input", own + n), view)
                 for n, view in enumerate(stage.tail_views or ()))


def check_tails(problem: Problem) -> None:
    """Raise ClinferError where what a tail reads does not stretch to the result."""
    output = problem.outputs[0]
    for layout in problem.tail_inputs:
        if any(isinstance(have, int) and isinstance(want, int) and have not in (1, want)
               for have, want in zip(layout.shape, output.shape, strict=True)):
            fused = ", ".join(tail.primitive.id for tail in problem.primitive.tails)
            raise ClinferError("shapes do not broadcast", where=problem.primitive.where, values={
                "shapes": f"{show(output.shape)} {show(layout.shape)}", "fused operations": fused})


def tail_macros(stage: Stage, problem: Problem) -> Mapping[str, str]:
    """HAS_TAILS, TAIL_CHAIN and TAILS_EACH, and for each operand whether it moves along each axis, which is an
    expression where each shape decides; nothing for a stage that applies no tails."""
    if stage.tail_views is None:
        return {}
    macros = {"HAS_TAILS": str(int(bool(problem.primitive.tails))),
              "TAIL_CHAIN(T, result, FETCH, at)": _chain(problem),
              "TAILS_EACH(DO, x)": " ".join(f"DO({n}, x)" for n in range(len(problem.tail_inputs)))}
    for operand in tail_operands(stage, problem):
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
    """The tails as statements that replace `result`; FETCH(n, at) reads the n-th tail input."""
    own = tuple(layout.element_type for layout in problem.inputs)
    types = tuple(layout.element_type for layout in problem.all_inputs)
    tails = problem.primitive.tails
    read_again = {operand.tail for tail in tails for operand in tail.operands if isinstance(operand, Before)}
    results = [problem.primitive.output_types(own)[0]]
    parts = []
    for number, tail in enumerate(tails):
        kept = f"const T result_{number} = result; " if number in read_again else ""
        parts.append(kept + _statements(tail, tail.types(results, types), len(own)))
        results.append(tail.output_type(results, types))
    return f"{{ {' '.join(parts)} }}" if read_again else " ".join(parts)


def _statements(tail: Tail, types: tuple[ElementType, ...], own: int) -> str:
    text = tail.primitive.tail_text(types)
    assert text is not None
    names = _NAMES[:len(tail.operands)]
    loads = " ".join(f"const T tail_{name} = {_value(operand, own)};"
                     for name, operand in zip(names, tail.operands, strict=True))
    return f"{{ {loads} result = {_NAME.sub(lambda match: f'tail_{match.group()}', text)}; }}"


def _value(operand: int | Before | None, own: int) -> str:
    if isinstance(operand, int):
        return f"FETCH({operand - own}, at)"
    return "result" if operand is None else f"result_{operand.tail}"
