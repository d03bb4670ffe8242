"""The kernel of the col2im room."""
from __future__ import annotations

from clinfer.kernels.spec import Constant, KernelParams, KernelSpec, Stage
from clinfer.ops.col2im.op import Col2Im
from clinfer.ops.shared.copying import local_items


def _constants(params: KernelParams) -> dict[str, Constant]:
    primitive = params.primitive
    assert isinstance(primitive, Col2Im)
    return {f"{name}_{side}": value for name, pair in (
        ("STRIDE", primitive.strides), ("DILATION", primitive.dilations), ("PAD", primitive.pads_begin))
        for side, value in zip("HW", pair, strict=True)}


def _arguments(params: KernelParams) -> dict[str, int]:
    """The size of a block and how many blocks there are along each side."""
    primitive = params.primitive
    assert isinstance(primitive, Col2Im)
    arguments: dict[str, int] = {}
    for axis, side in enumerate("hw"):
        size, kernel = (int(params.values[i].reshape(-1)[axis]) if i in params.values else 1 for i in (1, 2))
        reach = primitive.dilations[axis] * (kernel - 1) + 1
        room = size + primitive.pads_begin[axis] + primitive.pads_end[axis] - reach
        arguments |= {f"kernel_{side}": kernel, f"blocks_{side}": room // primitive.strides[axis] + 1}
    return arguments


KERNELS = (
    KernelSpec("col2im_ref", (Stage("col2im_ref.cl", "col2im_ref",
                                    lambda params: local_items(params.outputs[0].count),
                                    constants=_constants, arguments=_arguments, bake=False),)),
)
