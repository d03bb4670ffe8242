"""Fused tails: how kernels see what they read, and the OpenCL C of what they do.

The tails of a primitive are computed on each element of its result, in registers and in the arithmetic type,
before it is rounded and stored. See include/tails.cl for what a kernel does to take part.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.format import Format
from clinfer.base.layout import NO_PADDING, Layout
from clinfer.base.shape import show
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import BufferRef, KernelParams, Operand, Stage
from clinfer.topology.primitive import Before, Primitive, Tail

_NAMES = "abcde"
_NAME = re.compile(rf"\b[{_NAMES}]\b")


def like_output(view: Callable[[Layout], TensorView]) -> Callable[[KernelParams, int], TensorView]:
    """A `tail_view` for kernels that see the output through `view`, in which axes are moved and put in only."""
    def tail_view(params: KernelParams, index: int) -> TensorView:
        return view(params.tail_inputs[index]).broadcast(view(params.outputs[0]).sizes)
    return tail_view


def tail_layout(layout: Layout, output: Layout) -> Layout:
    """How a tail input must lie: like the output where it does not stretch along blocked axes, else planar."""
    follows = all((layout.shape[axis] == 1) == (output.shape[axis] == 1) for axis, _ in output.format.block_axes)
    return replace(layout, format=output.format if follows else Format.planar(layout.rank), padding=NO_PADDING)


def tail_operands(stage: Stage, params: KernelParams) -> tuple[Operand, ...]:
    """TAIL<n>: the buffers that the tails read, as the stage sees them."""
    if stage.tail_view is None:
        return ()
    check_tails(params)
    own = len(params.inputs)
    return tuple(Operand(f"TAIL{n}", BufferRef("input", own + n), stage.tail_view(params, n))
                 for n in range(len(params.tail_inputs)))


def check_tails(params: KernelParams) -> None:
    """Raise ClinferError where what a tail reads does not stretch to the result."""
    output = params.outputs[0]
    for layout in params.tail_inputs:
        if any(isinstance(have, int) and isinstance(want, int) and have not in (1, want)
               for have, want in zip(layout.shape, output.shape, strict=True)):
            fused = ", ".join(tail.primitive.id for tail in params.primitive.tails)
            raise ClinferError("shapes do not broadcast", where=params.primitive.where, values={
                "shapes": f"{show(output.shape)} {show(layout.shape)}", "fused operations": fused})


def tail_macros(stage: Stage, params: KernelParams) -> Mapping[str, str]:
    """HAS_TAILS, TAIL_CHAIN and TAILS_EACH, and for each operand whether it moves along each axis, which is an
    expression where each shape decides; nothing for a stage that applies no tails."""
    if stage.tail_view is None:
        return {}
    macros = {"HAS_TAILS": str(int(bool(params.primitive.tails))),
              "TAIL_CHAIN(T, result, FETCH, at)": _chain(params),
              "TAILS_EACH(DO, x)": " ".join(f"DO({n}, x)" for n in range(len(params.tail_inputs)))}
    for operand in tail_operands(stage, params):
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


def _chain(params: KernelParams) -> str:
    """The tails as statements that replace `result`; FETCH(n, at) reads the n-th tail input."""
    own = tuple(layout.element_type for layout in params.inputs)
    types = tuple(layout.element_type for layout in params.all_inputs)
    tails = params.primitive.tails
    read_again = {operand.tail for tail in tails for operand in tail.operands if isinstance(operand, Before)}
    results = [params.primitive.output_types(own)[0]]
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


def tails_refusal(primitive: Primitive, stages: tuple[Stage, ...]) -> str | None:
    """Why these stages cannot apply the primitive's tails, or None."""
    return "applies no fused tails" if primitive.tails and all(s.tail_view is None for s in stages) else None
