"""The element-wise primitive."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import Shape, show
from clinfer.kernels.jitter import literal
from clinfer.ops.convert.op import Convert
from clinfer.ops.eltwise.modes import FLAGS, MODES, Mode, whole_number
from clinfer.ops.operation import constant_input
from clinfer.ops.reshape import Reshape
from clinfer.symbolic.dimensions import broadcast_shapes, differ
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Constant, Port, Primitive, SourceNode

_NEVER_FUSED = ("Select", "Power")
"""Select reads a condition of another type; the kernels have helpers of their own for Power."""


@dataclass(frozen=True)
class Eltwise(Primitive):
    """`mode`, a row of the table in modes.py, on inputs that broadcast by NumPy's rule.

    `parameters` are the numbers that the row calls P0 and P1. Select reads its condition first.
    """

    mode: str = "Add"
    parameters: tuple[float, ...] = ()

    @property
    def row(self) -> Mode:
        """The row of the table."""
        return MODES[self.mode]

    @property
    def can_evaluate(self) -> bool:
        return self.row.evaluate is not None

    @property
    def takes_fused_ops(self) -> bool:
        return not self.row.boolean

    @property
    def fused_ops_stretch(self) -> bool:
        return True

    def fused_text(self, types: tuple[ElementType, ...]) -> str | None:
        row = self.row
        if row.boolean or not row.on_float or self.mode in _NEVER_FUSED or not all(kind.is_float for kind in types):
            return None
        text = row.on_half if row.on_half and all(kind.name == "f16" for kind in types) else row.on_float
        for index, value in enumerate(self.parameters):
            text = text.replace(f"P{index}", literal(float(value)))
        return text

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return (ElementType.of("boolean") if self.row.boolean else input_types[-1 if self.mode == "Select" else 0],)

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        if self.mode == "PRelu":
            data, both = shapes[0], broadcast_shapes(shapes[:2])
            if data is not None and both is not None and (len(both) > len(data) or any(map(differ, both, data))):
                raise ClinferError("slopes must stretch to the data", where=self.where,
                                   values={"data": show(data), "slopes": show(shapes[1])})
        return (broadcast_shapes(shapes),)

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        assert self.row.evaluate is not None
        kind = next((value.dtype for value in values if value.dtype == object), values[-1].dtype)
        is_float = np.issubdtype(kind, np.floating)
        if self.row.on_int == "a" and not is_float:
            return (values[0],)
        parameters = self.parameters if is_float or self.mode != "Clamp" else tuple(
            whole_number(bound, kind, rounds_up=i == 0) for i, bound in enumerate(self.parameters))
        with np.errstate(all="ignore"):
            result = np.asarray(self.row.evaluate(*values, *parameters))
        return (result.astype(np.bool_ if self.row.boolean else kind, copy=False),)


def is_add(primitive: Primitive) -> bool:
    """Whether a primitive adds two tensors."""
    return isinstance(primitive, Eltwise) and primitive.mode == "Add"


def is_multiply(primitive: Primitive) -> bool:
    """Whether a primitive multiplies two tensors."""
    return isinstance(primitive, Eltwise) and primitive.mode == "Multiply"


def convert_eltwise(node: SourceNode) -> Primitive | tuple[Primitive, ...]:
    """Every operation of the table, with its attributes or constant inputs as parameters."""
    _check_broadcast(node)
    mode = _mode(node)
    row, kind = MODES[mode], node.output_types[0]
    operands = len(node.inputs)
    given: list[float] = []
    if row.parameter_inputs:
        operands = 1
        given = [float(constant_input(node, i).reshape(-1)[0]) for i in range(1, len(node.inputs))]
    elif row.parameters:
        defaults = row.defaults or (0.0,) * len(row.parameters)
        given = [_number(node.attributes.get(name, default))
                 for name, default in zip(row.parameters, defaults, strict=True)]
    made = Eltwise(node.id, node.inputs[:operands], origin=node.name, mode=mode,
                   parameters=tuple(given) or tuple(row.defaults))
    if not row.boolean or kind.name == "boolean":
        return made
    # Of numbers OpenVINO declares some such results (LogicalNot) as 0 and 1 of their type.
    truth = replace(made, id=f"{node.id}/truth")
    return truth, Convert(node.id, (Port(truth.id),), origin=node.name, destination_type=kind.name)


def _check_broadcast(node: SourceNode) -> None:
    """"pdpd" aligns shapes at an axis that is not told; with equal ranks it is NumPy's rule."""
    kind = str(node.attributes.get("auto_broadcast", "numpy")).lower()
    ranks = {None if shape is None else len(shape) for shape in node.input_shapes}
    if kind in ("numpy", "none") or (kind == "pdpd" and len(ranks) == 1 and None not in ranks):
        return
    raise ClinferError(f"{node.type_name} broadcasts in a way that is not supported", where=f"layer {node.name!r}",
                       values={"auto_broadcast": node.attributes["auto_broadcast"]},
                       hint="reshape the smaller input so that NumPy's rule applies")


def _mode(node: SourceNode) -> str:
    if node.type_name == "BitwiseNot" and node.input_types[0].name == "boolean":
        return "LogicalNot"
    return "LogicalXor" if node.type_name == "Xor" else node.type_name


def convert_prelu(node: SourceNode) -> Sequence[Primitive]:
    """PRelu, behind a reshape of the slope where that holds one value per channel (axis 1), or belongs to a scalar."""
    data, slope = node.input_shapes[:2]
    if data is not None and _is_per_channel(slope, data):
        sizes = [-1] + [1] * (len(data) - 2)
    elif data == () and slope:
        sizes = []
    else:
        return (Eltwise(node.id, node.inputs, origin=node.name, mode="PRelu"),)
    pattern = Constant(f"{node.id}/pattern", value=np.array(sizes, np.int64), element_type=ElementType.of("i64"))
    slopes = Reshape(f"{node.id}/slope", (node.inputs[1], Port(pattern.id)), origin=node.name)
    return pattern, slopes, Eltwise(node.id, (node.inputs[0], Port(slopes.id)), origin=node.name, mode="PRelu")


def _is_per_channel(slope: Shape | None, data: Shape) -> bool:
    """OpenVINO's rule: a vector as long as axis 1, even where the last axis is as long."""
    if slope is None or len(slope) != 1 or len(data) < 3:
        return False
    channels = data[1]
    return slope[0] == channels or (not isinstance(channels, int) and slope[0] not in (1, data[-1]))


def _number(value: object) -> float:
    return FLAGS[value.lower()] if isinstance(value, str) else float(value)  # type: ignore[arg-type]
