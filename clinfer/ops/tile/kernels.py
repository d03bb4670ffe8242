"""Kernels of the tile room."""
from __future__ import annotations

from clinfer.base.format import Format
from clinfer.base.tensor_view import Pitch, TensorView
from clinfer.kernels.spec import (
    BufferRef,
    Constant,
    Formats,
    KernelParams,
    KernelSpec,
    Operand,
    Stage,
    input_operand,
    output_operand,
)
from clinfer.ops.shared.copying import copy_kernels, local_items
from clinfer.ops.shared.view_copy import ViewCopy, raw_view
from clinfer.ops.shared.views import open_view


def _formats(params: KernelParams) -> Formats:
    """The data as it comes unless it is blocked; everything else planar."""
    data, *others = params.inputs
    kept = Format.planar(data.rank) if data.format.blocks else data.format
    return Formats((kept, *(Format.planar(x.rank) for x in others)), (Format.planar(params.outputs[0].rank),))


def _lifted(params: KernelParams) -> TensorView:
    """The data with as many axes as the output."""
    data = TensorView.of(params.inputs[0])
    return data.insert_axes(tuple(range(params.outputs[0].rank - data.rank)), pitch=1)


# -- repeated rows ----------------------------------------------------------------------------------


def _copy(params: KernelParams, number: int) -> ViewCopy:
    """A copy in which every axis of the output is two: the repetition and the place within the data."""
    buffers = BufferRef("input", 0), BufferRef("output", 0)
    data, output = _lifted(params), TensorView.of(params.outputs[0])
    if not params.is_static:
        return ViewCopy(*buffers, open_view(data.element_type, data.rank), open_view(output.element_type, output.rank))
    sizes: list[int] = []
    source: list[Pitch] = []
    target: list[Pitch] = []
    for axis, (length, whole) in enumerate(zip(data.sizes, output.sizes, strict=True)):
        pitch = output.pitches[axis]
        sizes += [whole // length if length else 0, length]  # type: ignore[operator, list-item]
        source += [0, data.pitches[axis]]
        target += [pitch * length, pitch]  # type: ignore[operator]
    blocks = (None,) * len(sizes)
    return ViewCopy(*buffers, TensorView(data.element_type, tuple(sizes), tuple(source), data.offset, blocks),
                    TensorView(output.element_type, tuple(sizes), tuple(target), output.offset, blocks))


_ROWS = copy_kernels("tile", _copy, lambda params: 1, _formats)[0]


# -- one element per work-item ----------------------------------------------------------------------


def _operands(params: KernelParams) -> tuple[Operand, ...]:
    return (input_operand(params, 0, raw_view(_lifted(params))),
            output_operand(params, 0, raw_view(TensorView.of(params.outputs[0]))))


def _constants(params: KernelParams) -> dict[str, Constant]:
    wrapped = " ".join(f"(c)[{axis}] %= INPUT0_SIZE_{axis};" for axis in range(params.outputs[0].rank))
    return {"WRAP(c)": f"do {{ {wrapped} }} while (0)"}


_REF = KernelSpec("tile_ref", (Stage("tile_ref.cl", "tile_ref", lambda params: local_items(params.outputs[0].count),
                                     _operands, _constants, bake=False),), _ROWS.supports, formats=_formats,
                  moves=_ROWS.moves)

KERNELS = (_ROWS, _REF)
