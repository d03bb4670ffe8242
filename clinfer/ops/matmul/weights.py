"""The right side of a product as an operand: as it is, or compressed with scales and zero points."""
from __future__ import annotations

from clinfer.base.element_type import ElementType
from clinfer.base.format import Format
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.spec import BufferRef, KernelParams, Operand

COMPRESSED_TYPES = tuple(map(ElementType.of, ("u8", "i8", "u4", "i4")))
FLOAT_TYPES = tuple(map(ElementType.of, ("f32", "f16", "bf16")))


def weights_operands(params: KernelParams) -> tuple[Operand, ...]:
    """SCALE and ZERO_POINT, where the right side has them: both [groups, N]."""
    names = {"SCALE": params.primitive.scale_input, "ZERO_POINT": params.primitive.zero_point_input}
    return tuple(Operand(name, BufferRef("input", index), TensorView.of(params.inputs[index]))
                 for name, index in names.items() if index is not None)


def weights_constants(params: KernelParams) -> dict[str, int]:
    """What `weights.h` must know of the right side."""
    primitive = params.primitive
    if primitive.scale_input is None:
        return {"COMPRESSED": 0, "HAS_ZERO_POINT": 0, "GROUP_SIZE": 0, "SHARED_BYTES": 0, "LOWEST": 0}
    weights, (groups, _) = params.inputs[1], params.inputs[primitive.scale_input].static_shape
    depth = weights.static_shape[1 if primitive.transpose_b else 0]
    return {"COMPRESSED": 1, "HAS_ZERO_POINT": int(primitive.zero_point_input is not None),
            "GROUP_SIZE": 0 if groups == 1 else depth // groups,
            "SHARED_BYTES": int(weights.element_type.is_packed),
            "LOWEST": -8 if weights.element_type.name == "i4" else 0}


def formats_of_others(params: KernelParams) -> tuple[Format, ...]:
    """The formats of what stands behind both sides: scales and zero points in panels of 32 columns like the packed
    right side, the bias in blocks of 16."""
    bias = params.primitive.bias_input
    return tuple(Format.of("o_osv16" if index == bias else "ks_n_nsv32") for index in range(2, len(params.inputs)))


def types_refusal(params: KernelParams) -> str | None:
    """What keeps kernels from these types that compute in f32 on both sides."""
    compressed = params.primitive.scale_input is not None
    floats = [x for i, x in enumerate(params.inputs + params.outputs)
              if not (compressed and i in (1, params.primitive.zero_point_input))]
    if any(x.element_type not in FLOAT_TYPES for x in floats):
        return "element types other than f32, f16, bf16"
    return None
