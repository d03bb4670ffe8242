"""The kernel of the range room."""
from __future__ import annotations

import struct

from clinfer.kernels.spec import KernelParams, KernelSpec, Operand, Stage, output_operand
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.view_copy import whole_bytes


def _operands(params: KernelParams) -> tuple[Operand, ...]:
    return (output_operand(params, 0),)


def _arguments(params: KernelParams) -> dict[str, int]:
    """Start and step: the bits of a float in the low half, or of a double or long in both."""
    start, step = (0, 0)
    if all(i in params.values for i in params.primitive.value_inputs):
        start, _, step = params.primitive.bounds(params.values)
    kind = params.outputs[0].element_type
    code = "q" if not kind.is_float else "d" if kind.name == "f64" else "fi"
    return {f"{name}_{half}": word for name, number in (("start", start), ("step", step))
            for half, word in zip(("low", "high"), _words(code, number), strict=True)}


def _words(code: str, number: float) -> tuple[int, int]:
    raw = struct.pack(f"<{code}", *((number, 0) if code == "fi" else (number,)))
    return struct.unpack("<2i", raw)


KERNELS = (
    KernelSpec("range_ref", (Stage("range_ref.cl", "range_ref", lambda params: local_items(params.outputs[0].count),
                                   _operands, arguments=_arguments, bake=False),), whole_bytes),
)
