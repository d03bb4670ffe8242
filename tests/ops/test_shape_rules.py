"""Operations that bring their own shape rule must agree with OpenVINO's, for bounded and open dimensions too."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import UNBOUNDED, Dim, Shape
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.ops.convolution import Convolution, GroupConvolution
from clinfer.ops.interpolate.op import Interpolate, Interpolate4
from clinfer.ops.matmul import MatMul
from clinfer.ops.reshape.op import Squeeze
from clinfer.symbolic.dimensions import NamedDim, broadcast_shapes
from clinfer.symbolic.trace import Trace
from clinfer.topology import Primitive
from clinfer.topology.shape_rules import signature_of
from tests.seeds import SEED
from tests.traced import function_of

from openvino.utils.node_factory import NodeFactory  # isort: skip

ROUNDS = 150


def _partial(shape: Shape) -> ov.PartialShape:
    bounds = [(d.low, -1 if d.high >= UNBOUNDED else d.high) if isinstance(d, Dim) else (d, d) for d in shape]
    return ov.PartialShape([ov.Dimension(low, high) for low, high in bounds])


def _bounds(shape: ov.PartialShape) -> list[tuple[int, int]]:
    return [(d.get_min_length(), d.get_max_length()) for d in shape]


def _expected(op: str, attributes: dict, shapes: tuple[Shape, ...]) -> list[tuple[int, int]] | None:
    """OpenVINO's bounds of the output, or None where it refuses the inputs."""
    parameters = [ov.op.Parameter(ov.Type.f32, _partial(s)) for s in shapes]
    try:
        node = NodeFactory("opset1").create(op, [p.output(0) for p in parameters], attributes)
    except RuntimeError:
        return None
    return _bounds(node.output(0).get_partial_shape())


def _opened(rng: np.random.Generator, size: int) -> int | Dim:
    """The size, an interval around it, or nothing known."""
    choice = rng.integers(0, 4)
    if choice == 0:
        return Dim(max(size - int(rng.integers(0, 3)), 1), size + int(rng.integers(0, 5)))
    return Dim() if choice == 1 else size


def _compare(primitive: Convolution | MatMul, attributes: dict, shapes: tuple[Shape, ...]) -> bool:
    """Whether both accept the shapes; they must agree on that and on the sizes that both know."""
    expected = _expected(primitive.op_type, attributes, shapes)
    what = f"{primitive} {shapes} seed {SEED}"
    try:
        (found,) = primitive.infer_shapes(shapes, {})
    except ClinferError:
        assert expected is None, what
        return False
    if expected is None:
        return False
    assert found is not None and len(found) == len(expected), what
    for size, (low, high) in zip(found, expected, strict=True):
        mine = (size.low, size.high) if isinstance(size, Dim) else (size, size)
        assert mine[0] <= (high if high >= 0 else UNBOUNDED) and low <= mine[1], f"{what}: {mine} {low, high}"
        if low == high:
            assert mine == (low, high), f"{what}: {mine} {low, high}"
    return True


@pytest.mark.parametrize("cls", [Convolution, GroupConvolution])
def test_convolution_rule(cls: type[Convolution]) -> None:
    rng = np.random.default_rng(SEED)
    accepted = 0
    for _ in range(ROUNDS):
        rank = int(rng.integers(1, 4))
        groups, outputs, inputs = (int(n) for n in rng.integers(1, 5, 3))
        filters = tuple(int(n) for n in rng.integers(1, 5, rank))
        weights = (groups, outputs, inputs, *filters) if cls.is_grouped else (outputs, inputs, *filters)
        attributes = {name: [int(n) for n in rng.integers(low, high, rank)] for name, low, high in (
            ("strides", 1, 4), ("dilations", 1, 4), ("pads_begin", 0, 3), ("pads_end", 0, 3))}
        attributes["auto_pad"] = str(rng.choice(["explicit", "same_upper", "same_lower", "valid"]))
        reach = [(size - 1) * step + 1 for size, step in zip(filters, attributes["dilations"], strict=True)]
        data = (2, inputs * (groups if cls.is_grouped else 1), *(r + int(rng.integers(0, 20)) for r in reach))
        primitive = cls("node", ("a", "b"), **{k: v if isinstance(v, str) else tuple(v) for k, v in attributes.items()})
        accepted += _compare(primitive, attributes, (tuple(_opened(rng, d) for d in data), weights))
    assert accepted > ROUNDS // 3


def test_matmul_rule() -> None:
    rng = np.random.default_rng(SEED)
    accepted = 0
    for _ in range(ROUNDS):
        m, k, n = (int(x) for x in rng.integers(1, 6, 3))
        batch = tuple(int(x) for x in rng.integers(1, 4, int(rng.integers(0, 3))))
        flags = {name: bool(rng.integers(0, 2)) for name in ("transpose_a", "transpose_b")}
        left = batch + ((k, m) if flags["transpose_a"] else (m, k))
        right = tuple(1 if rng.integers(0, 2) else b for b in batch) + ((n, k) if flags["transpose_b"] else (k, n))
        left, right = ((k,) if rng.integers(0, 8) == 0 else s for s in (left, right))
        shapes = tuple(tuple(_opened(rng, d) for d in s) for s in (left, right))
        accepted += _compare(MatMul("node", ("a", "b"), **flags), flags, shapes)
    assert accepted > ROUNDS // 2


def _agrees(primitive: Primitive, shape: Shape, *values: np.ndarray) -> bool:
    """Whether both accept a shape, and values as the inputs behind it; they must agree on that and what both know."""
    shapes, known = (shape, *(value.shape for value in values)), dict(enumerate(values, 1))
    types = (ElementType.of("f32"), *(ElementType.of_numpy(value.dtype) for value in values))
    told, what = primitive.infer_shapes(shapes, known), f"{primitive} {shapes} {values} seed {SEED}"
    try:
        expected, = OpenVinoShapeInference().rule(signature_of(primitive), types)(shapes, known)
    except ClinferError:
        assert told is None, what
        return False
    if told is None:
        return False
    (mine,) = told
    assert mine is not None and expected is not None and len(mine) == len(expected), f"{what}: {mine}, not {expected}"
    for size, wanted in zip(mine, expected, strict=True):
        low, high = (wanted.low, wanted.high) if isinstance(wanted, Dim) else (wanted, wanted)
        lower, upper = (size.low, size.high) if isinstance(size, Dim) else (size, size)
        assert low <= lower and upper <= high, f"{what}: {mine}, not {expected}"
    return True


def test_the_batch_of_a_product_is_named() -> None:
    """After those of both sides, to which it stretches."""
    one, other, rows = (NamedDim(0, 9, name) for name in "abc")
    product, = MatMul("product", ("left", "right")).infer_shapes(((one, rows, 4), (other, 4, 2)), {})
    batch, _ = broadcast_shapes(((one, 1), (other, 1)))
    assert product == (batch, rows, 2)


@pytest.mark.parametrize("cls", [Interpolate, Interpolate4])
def test_interpolate_rule(cls: type[Interpolate]) -> None:
    """Sizes by scales that are not whole are those of single precision."""
    rng = np.random.default_rng(SEED)
    accepted = 0
    for _ in range(ROUNDS):
        sizes = tuple(int(n) for n in (1, *rng.integers(0, 300, 2)))
        axes = np.array([(1,), (2,), (1, 2), (2, 1)][rng.integers(0, 4)], np.int64)
        scales = np.array([rng.choice([rng.uniform(0, 4), rng.integers(1, 99) / 10, rng.integers(0, 99) / max(sizes)])
                           for _ in axes], rng.choice([np.float16, np.float32]))
        pads = tuple(int(n) for n in rng.integers(0, 4, 3)) if rng.random() < 0.4 else ()
        inputs = (axes[::-1].copy(), scales, axes) if cls is Interpolate4 else (scales, axes)
        primitive = cls("node", ("data", *(f"input{i}" for i in range(len(inputs)))), shape_calculation_mode="scales",
                        pads_begin=pads, pads_end=pads[::-1])
        opened = tuple(_opened(rng, size) if size else size for size in sizes)
        accepted += _agrees(primitive, sizes, *inputs) + _agrees(primitive, opened, *inputs)
        _follows(primitive, sizes, inputs)
    assert accepted > ROUNDS


def _follows(primitive: Primitive, sizes: tuple[int, ...], inputs: tuple[np.ndarray, ...]) -> None:
    """What the rule tells of symbols, as a function, gives what it tells of other sizes."""
    trace, known, rest = Trace(), dict(enumerate(inputs, 1)), tuple(value.shape for value in inputs)
    told = primitive.infer_shapes((tuple(map(trace.free, sizes)), *rest), known)
    function = function_of(trace, told, None)
    for other in (sizes, tuple(size + 1 for size in sizes), tuple(2 * size + 7 for size in sizes)):
        found = function(*other)
        assert found is None or found == primitive.infer_shapes((other, *rest), known), f"{primitive} {other} {SEED}"
    assert function(*sizes) is not None


def test_squeeze_rule() -> None:
    """Axes of other sizes stay where that is allowed; no axes are all of size 1."""
    rng = np.random.default_rng(SEED)
    accepted = 0
    for _ in range(ROUNDS):
        sizes = tuple(int(n) for n in rng.integers(0, 4, int(rng.integers(1, 5))))
        axes = rng.permutation(len(sizes))[:int(rng.integers(0, len(sizes) + 1))]
        axes = np.array(axes - len(sizes) * (rng.random(axes.shape) < 0.3), np.int64)
        primitive = Squeeze("node", ("data", "axes"), allow_axis_skip=bool(rng.integers(0, 2)))
        opened = tuple(_opened(rng, size) if size else size for size in sizes)
        agrees = _agrees(primitive, sizes, axes)
        assert agrees or not primitive.allow_axis_skip, f"{primitive} {sizes} {axes} seed {SEED}"
        accepted += agrees + _agrees(primitive, opened, axes)
    assert accepted > ROUNDS // 2
