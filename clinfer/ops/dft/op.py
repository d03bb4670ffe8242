"""The Fourier transform along one axis, of which OpenVINO's DFT-7, IDFT-7, RDFT-9 and IRDFT-9 are made."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.errors import ClinferError, OpenRankError
from clinfer.base.shape import ANY, Shape, Size
from clinfer.ops.operation import constant_input
from clinfer.symbolic.dimensions import differ
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Port, Primitive, SourceNode


@dataclass(frozen=True)
class FourierTransform(Primitive):
    """The transform of input 0 along `axis` (not negative), with the sum divided by its length if `inverse`.

    Complex tensors have one more axis, the last, of size 2. `reads_real`: input 0 is real, and the output ends
    with the frequency in the middle; `writes_real`: the other way round. Where the axis is None, the last input is a
    row of axes, of which that at `position` is meant. Input 1 besides, where present, is a row whose entry `position`
    is the length of the signal (-1: that of the input; of a real result twice that of the input less 1): the input is
    cut or filled up with zeros.
    """

    axis: int | None = 0
    position: int = 0
    inverse: bool = False
    reads_real: bool = False
    writes_real: bool = False

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return tuple(range(1, len(self.inputs)))

    @property
    def has_lengths(self) -> bool:
        """Whether the lengths of signals are an input."""
        return len(self.inputs) > (2 if self.axis is None else 1)

    def axis_of(self, values: Values, rank: int) -> int | None:
        """The axis of a tensor of that rank (without the axis of parts), or None while it is unknown."""
        if self.axis is not None:
            return self.axis
        given = values.get(len(self.inputs) - 1)
        if given is None:
            return None
        axes = [int(axis) for axis in given.reshape(-1).tolist()]
        found = {axis % rank for axis in axes if -rank <= axis < rank}
        if len(found) != len(axes):
            raise ClinferError("these are no different axes of the tensor", where=self.where,
                               values={"axes": axes, "rank": rank})
        return axes[self.position] % rank

    def length(self, data: Size, values: Values) -> Size:
        """The length of the signal for an input of this size along the axis."""
        if self.has_lengths:
            if 1 not in values:
                return ANY
            wanted = int(values[1].reshape(-1)[self.position])
            if wanted >= 0:
                return wanted
        if not isinstance(data, int):
            return ANY
        return 2 * (data - 1) if self.writes_real else data

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        data = shapes[0]
        if data is None:
            return (None,)
        if not self.reads_real and differ(data[-1], 2):
            raise ClinferError("the last axis of complex numbers has real and imaginary parts", where=self.where,
                               values={"shape": data})
        sizes = list(data if self.reads_real else data[:-1])
        axis = self.axis_of(values, len(sizes))
        if axis is None:
            return ((*(ANY,) * len(sizes), *(() if self.writes_real else (2,))),)
        length = self.length(data[axis], values)
        if isinstance(length, int) and length < 0:
            raise ClinferError("a real signal needs one element at least", where=self.where,
                               values={"axis": axis, "shape": data, "length": length})
        sizes[axis] = length // 2 + 1 if self.reads_real and isinstance(length, int) and length > 0 else length
        return (tuple(sizes) if self.writes_real else (*sizes, 2),)


def convert_dft(node: SourceNode) -> tuple[Primitive, ...]:
    """One primitive per axis: a real input's last axis comes first, a real output's last axis last."""
    shape = node.input_shapes[0]
    if shape is None:
        raise OpenRankError(f"{node.type_name} needs an input of known rank", where=f"layer {node.name!r}",
                            hint="give the model's inputs a rank")
    reads_real, writes_real = node.type_name == "RDFT", node.type_name == "IRDFT"
    rank = len(shape) if reads_real else len(shape) - 1
    order = list(enumerate(_axes(node, rank)))
    if reads_real:
        order.reverse()
    rows = node.inputs[2:] if 1 in node.constants else (*node.inputs[2:], node.inputs[1])
    primitives: list[Primitive] = []
    data = node.inputs[0]
    for step, (position, axis) in enumerate(order):
        is_last = step == len(order) - 1
        id = node.id if is_last else f"{node.id}/{step}"
        primitives.append(FourierTransform(
            id, (data, *rows), origin=node.name, axis=axis, position=position,
            inverse=node.type_name.startswith("I"), reads_real=reads_real and step == 0,
            writes_real=writes_real and is_last))
        data = Port(id)
    return tuple(primitives)


def _axes(node: SourceNode, rank: int) -> list[int] | list[None]:
    """The axes; None for each that is known at run time only."""
    count = (node.input_shapes[1] or (ANY,))[0]
    if 1 not in node.constants and isinstance(count, int):
        return [None] * count
    return [int(axis) % rank for axis in constant_input(node, 1).reshape(-1)]
