"""Graphs in the making: every step is computed at once, for every setting of the sizes, by the node-by-node oracle.

So an operation that is tried knows the shapes and values of what it reads in all settings, and one that does not fit
is refused and leaves nothing behind.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clinfer.ops.winograd_convolution import tiles_of
from tests.fuzz.graph import Dims, Graph, Input, Operand, Ref, Step, build, dtype_of, node_of
from tests.node_by_node import NodeByNode, NodeError
from tests.oracle import ov, ov_type

LARGEST = 1e4
"""Floating-point values beyond this are refused: what cancels would show differences of rounding."""
MOST_ELEMENTS = 6000
MOST_AXES = 8
"""Tensors of more have no place on a device."""
COMPARING = {
    "Greater", "GreaterEqual", "Less", "LessEqual", "Equal", "NotEqual", "Floor", "Ceiling", "Round", "Sign", "Mod",
    "FloorMod", "TopK", "NonZero", "Unique", "NonMaxSuppression", "IsFinite", "FakeQuantize", "DetectionOutput",
    "MatrixNms", "MulticlassNms", "Bucketize", "SearchSorted", "FakeConvert", "CTCGreedyDecoder",
    "CTCGreedyDecoderSeqLen", "NMSRotated", "BinaryConvolution", "Multinomial", "Proposal", "GenerateProposals",
    "ExperimentalDetectronGenerateProposalsSingleImage", "ExperimentalDetectronTopKROIs",
    "ExperimentalDetectronDetectionOutput"}
"""Operations that make much of the smallest difference: they read only what is computed without rounding."""
PRECISE = {
    "Abs", "Add", "BinaryConvolution", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Broadcast", "Ceiling",
    "Clamp", "Col2Im", "Concat", "Convert", "Convolution", "CumSum", "DepthToSpace", "Floor", "FloorMod", "Gather",
    "GatherElements", "GatherND", "GroupConvolution", "Identity", "If", "Loop", "MatMul", "MaxPool", "Maximum",
    "Minimum", "Mod", "Multiply", "Negative", "OneHot", "Pad", "Range", "ReduceL1", "ReduceMax", "ReduceMin",
    "ReduceSum", "Relu", "Reshape", "Reverse", "ReverseSequence", "Round", "ScatterElementsUpdate", "ScatterNDUpdate",
    "ScatterUpdate", "Select", "Sign", "Slice", "SpaceToDepth", "Split", "SquaredDifference", "Squeeze",
    "StridedSlice", "Subtract", "TensorIterator", "Tile", "TopK", "Transpose", "Unique", "Unsqueeze", "VariadicSplit"}
"""Operations without rounding, as long as all values are multiples of a step and not too large (`_on_grid`). Of
convolutions those by small filters are left out: CPUs transform such filters, which rounds them."""


class Refused(Exception):
    """An operation that does not fit what it was tried on."""


@dataclass
class Tensor:
    """A tensor with its arrays, one for each setting. `exact`: computed without rounding."""

    ref: Ref
    type: str
    values: list[np.ndarray]
    port: ov.Output
    exact: bool

    @property
    def rank(self) -> int:
        return self.values[0].ndim

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        return [value.shape for value in self.values]

    def size(self, axis: int) -> int | None:
        """The size of an axis where it is the same in all settings."""
        sizes = {shape[axis] for shape in self.shapes}
        return sizes.pop() if len(sizes) == 1 else None

    def least(self, axis: int) -> int:
        return min(shape[axis] for shape in self.shapes)

    @property
    def is_real(self) -> bool:
        return self.type in ("f16", "f32", "f64")

    @property
    def is_integer(self) -> bool:
        return self.type[0] in "iu"

    @property
    def elements(self) -> int:
        return max(value.size for value in self.values)


@dataclass
class Draft:
    """A graph in the making, or a body in the making (`depth` above 0)."""

    rng: np.random.Generator
    settings: int
    depth: int = 0
    inputs: list[Input] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    tensors: list[Tensor] = field(default_factory=list)
    names: list[int] = field(default_factory=lambda: [0])

    # -- choosing -------------------------------------------------------------------------------

    def integer(self, low: int, high: int) -> int:
        """Between both, the ends included."""
        return int(self.rng.integers(low, high + 1))

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def one(self, options: Sequence[Any]) -> Any:
        """Any of them; refused where there are none."""
        if not len(options):
            raise Refused("nothing to choose from")
        return options[self.integer(0, len(options) - 1)]

    def pick(self, fits: Callable[[Tensor], bool] = lambda t: True) -> Tensor:
        """A tensor that fits, the latest ones rather than old ones."""
        found = [t for t in self.tensors if fits(t)]
        if not found:
            raise Refused("no tensor fits")
        if self.chance(0.65):
            return found[-1]
        return self.one(found[-4:] if self.chance(0.5) else found)

    def signed(self, axis: int, rank: int) -> int:
        """An axis, counted from either end."""
        return axis - rank if self.chance(0.4) else axis

    def weights(self, *shape: int, kind: str = "f32") -> np.ndarray:
        """Multiples of 1/4, so that sums of products are exact."""
        return np.asarray(self.rng.integers(-2, 3, shape) / 4).astype(dtype_of(kind))

    # -- making ---------------------------------------------------------------------------------

    def name(self, prefix: str) -> str:
        self.names[0] += 1
        return f"{prefix}{self.names[0]}"

    def input(self, kind: str, dims: Dims | None, values: list[np.ndarray], exact: bool = True) -> Tensor:
        """A new Parameter."""
        made = Input(self.name("x"), kind, dims)
        self.inputs.append(made)
        port = ov.op.Parameter(ov_type(kind), made.shape).output(0)
        tensor = Tensor(Ref(made.name), kind, values, port, exact)
        self.tensors.append(tensor)
        return tensor

    def step(self, op: str, *operands: Tensor | np.ndarray, bodies: tuple[Graph, ...] = (),
             wiring: tuple[tuple[Any, ...], ...] = (), open_rank: bool = False, **attributes: Any) -> list[Tensor]:
        """A new operation and its outputs. Errors: Refused, also for an unknown rank unless `open_rank`."""
        read = [o for o in operands if isinstance(o, Tensor)]
        exact = all(t.exact for t in read)
        if op in COMPARING and not exact:
            raise Refused(f"{op} of rounded values")
        names = tuple(o.ref if isinstance(o, Tensor) else np.asarray(o) for o in operands)
        made = Step(self.name("t"), op, names, attributes, bodies, wiring)
        node = self._node(made, read)
        if not open_rank and any(port.get_partial_shape().rank.is_dynamic for port in node.outputs()):
            raise Refused("an unknown rank")
        outputs = self._outputs(made, node, read, exact and _is_precise(node))
        self.steps.append(made)
        self.tensors.extend(outputs)
        return outputs

    def op(self, op: str, *operands: Tensor | np.ndarray, **attributes: Any) -> Tensor:
        """The first output of a new operation."""
        return self.step(op, *operands, **attributes)[0]

    def _node(self, made: Step, read: Sequence[Tensor]) -> ov.Node:
        try:
            return node_of(made, {t.ref: t.port for t in read})
        except RuntimeError as error:
            raise Refused(f"OpenVINO: {error}") from None

    def _outputs(self, made: Step, node: ov.Node, read: Sequence[Tensor], precise: bool) -> list[Tensor]:
        runs = [evaluate(made, {t.ref: t.values[s] for t in read}, {t.ref: t.type for t in read})
                for s in range(self.settings)]
        outputs = []
        for number, port in enumerate(node.outputs()):
            values = [run[number] for run in runs]
            kind = port.get_element_type().get_type_name()
            if kind == "dynamic":
                raise Refused("an unknown type")
            _check(values, kind)
            rank = port.get_partial_shape().rank
            if made.op == "If" and ((rank.is_static and rank.get_length() != values[0].ndim)
                                    or (any(v.ndim == 0 for v in values) and _ranks(node, number) - {0})):
                raise Refused("a scalar beside a vector, which OpenVINO makes a vector")
            if made.op == "Loop" and not all(v.size for v in values) and port.get_partial_shape()[1:].is_dynamic:
                raise Refused("results of no run, whose sizes nobody knows")
            is_real = kind.startswith("f")
            if not is_real and made.op != "ShapeOf" and not all(t.exact for t in read):
                raise Refused("integers made of rounded values")
            exact = not is_real or (precise and all(_on_grid(v, kind) for v in values))
            outputs.append(Tensor(Ref(made.name, number), kind, values, port, exact))
        return outputs

    def attempt(self, make: Callable[[Draft], None]) -> bool:
        """Whether it fitted; what it made goes where it did not."""
        inputs, steps, tensors = len(self.inputs), len(self.steps), len(self.tensors)
        try:
            make(self)
        except Refused:
            del self.inputs[inputs:], self.steps[steps:], self.tensors[tensors:]
            return False
        return len(self.steps) > steps

    def body(self, given: Sequence[Tensor]) -> Draft:
        """A body in the making, whose inputs are these tensors."""
        inner = Draft(self.rng, self.settings, self.depth + 1, names=self.names)
        for tensor in given:
            shape = tensor.port.get_partial_shape()
            inner.input(tensor.type, dims_of(shape), tensor.values, tensor.exact)
        return inner


def dims_of(shape: ov.PartialShape) -> Dims | None:
    """The dimensions as plain data."""
    if shape.rank.is_dynamic:
        return None
    return tuple(_dim_of(shape[axis]) for axis in range(len(shape)))


def _dim_of(size: ov.Dimension) -> int | tuple[int, int]:
    if size.is_static:
        return size.get_length()
    least, most = size.get_min_length(), size.get_max_length()
    return -1 if (least, most) == (0, -1) else (least, most)


def _is_precise(node: ov.Node) -> bool:
    op = node.get_type_name()
    if op == "Convolution":
        window = [*node.get_input_partial_shape(1)][2:]
        return all(size.is_static for size in window) and not tiles_of([size.get_length() for size in window])
    return op in PRECISE


def evaluate(step: Step, values: dict[Ref, np.ndarray], types: dict[Ref, str]) -> list[np.ndarray]:
    """The outputs of one step on these values. Errors: Refused."""
    refs = list(values)
    names = {ref: Input(f"{ref.name}_{ref.port}", types[ref], values[ref].shape) for ref in refs}
    operands: tuple[Operand, ...] = tuple(Ref(names[o].name) if isinstance(o, Ref) else o for o in step.operands)
    alone = Step(step.name, step.op, operands, step.attributes, step.bodies, step.wiring)
    inputs = tuple(names.values())
    try:
        ports = {Ref(i.name): ov.op.Parameter(ov_type(i.type), i.shape).output(0) for i in inputs}
        count = node_of(alone, ports).get_output_size()
        outputs = tuple(Ref(step.name, port) for port in range(count))
        return NodeByNode(build(Graph(inputs, (alone,), outputs)))([values[ref] for ref in refs])
    except (RuntimeError, NodeError) as error:
        raise Refused(f"{step.op}: {error}") from None


def _ranks(node: ov.Node, output: int) -> set[int]:
    """The ranks that the bodies of an If declare for one of its outputs; -1 for one that is open."""
    found = set()
    for branch in (0, 1):
        results = node.get_function(branch).get_results()
        index, = (d.body_value_index for d in node.get_output_descriptions(branch) if d.output_index == output)
        rank = results[index].get_output_partial_shape(0).rank
        found.add(rank.get_length() if rank.is_static else -1)
    return found


def _check(values: Sequence[np.ndarray], kind: str) -> None:
    """Refuse what is too large, not a number, or of another rank in another setting."""
    for value in values:
        if value.size > MOST_ELEMENTS:
            raise Refused("too many elements")
        if value.ndim > MOST_AXES or value.ndim != values[0].ndim:
            raise Refused("rank")
        if kind != "boolean" and value.size and not np.abs(value.astype(np.float64)).max() <= LARGEST:
            raise Refused("too large, or not finite")


def _on_grid(values: np.ndarray, kind: str) -> bool:
    """Whether products of few such values, and sums of them, are exact."""
    step, most = (16, 32) if kind == "f16" else (256, 512)
    scaled = values.astype(np.float64) * step
    return bool(np.array_equal(scaled, np.round(scaled)) and (not values.size or np.abs(values).max() <= most))
