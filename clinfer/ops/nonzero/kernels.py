"""Kernels of the nonzero room."""
from __future__ import annotations

from clinfer.base.format import Format
from clinfer.kernels.spec import (
    Constant,
    Dispatch,
    Formats,
    KernelParams,
    KernelSpec,
    Operand,
    Stage,
    input_operand,
    output_operand,
)
from clinfer.ops.nonzero.op import CHUNK
from clinfer.ops.shared.copying import local_items

SCAN_GROUP = 64


def _formats(params: KernelParams) -> Formats:
    """The data as it comes; everything else planar."""
    data, *others = params.inputs
    return Formats((data.format, *(Format.planar(x.rank) for x in others)),
                   tuple(Format.planar(x.rank) for x in params.outputs))


def _advance(rank: int) -> str:
    """A statement that moves coordinates to the next element in row-major order."""
    text = "(c)[0] += 1;" if rank else ""
    for axis in range(1, rank):
        text = f"if (++(c)[{axis}] == INPUT0_SIZE_{axis}) {{ (c)[{axis}] = 0; {text} }}"
    return f"do {{ {text} }} while (0)"


def _walk(params: KernelParams) -> dict[str, Constant]:
    return {"CHUNK": CHUNK, "ADVANCE(c)": _advance(params.inputs[0].rank)}


# -- counting ---------------------------------------------------------------------------------------


def _count_operands(params: KernelParams) -> tuple[Operand, ...]:
    return input_operand(params, 0), output_operand(params, 1)


def _scan_operands(params: KernelParams) -> tuple[Operand, ...]:
    return output_operand(params, 0), output_operand(params, 1)


def _each_chunk(params: KernelParams) -> Dispatch:
    return local_items(params.outputs[1].count)


COUNT_KERNELS = (
    KernelSpec("count_nonzero_ref", formats=_formats, stages=(
        Stage("count_nonzero_ref.cl", "count_nonzero_ref", _each_chunk, _count_operands, _walk, bake=False),
        Stage("count_nonzero_scan.cl", "count_nonzero_scan", lambda params: Dispatch((SCAN_GROUP,), (SCAN_GROUP,)),
              _scan_operands, lambda params: {"GROUP": SCAN_GROUP}, bake=False))),
)


# -- coordinates ------------------------------------------------------------------------------------


KERNELS = (
    KernelSpec("nonzero_ref", formats=_formats, stages=(
        Stage("nonzero_ref.cl", "nonzero_ref", lambda params: local_items(params.inputs[2].count),
              constants=_walk, bake=False),)),
)
