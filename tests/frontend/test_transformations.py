"""What `prepare` keeps, what it folds, and where f16 must not go."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from openvino import opset13 as op
from openvino._offline_transformations import apply_moc_transformations

import clinfer
from clinfer.base.errors import ClinferError
from clinfer.frontend.conversions import bodies_of
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.transformations import prepare
from tests.frontend.models import (
    OnlyStatic,
    Rng,
    compressed,
    convolution_model,
    if_model,
    normal,
    parameter,
    result,
)
from tests.oracle import CpuPlugin

PRECISIONS = ("f32", "f16", "bf16")


def serialized(model: ov.Model, folder: Path) -> tuple[bytes, bytes]:
    ov.serialize(model, folder / "m.xml", folder / "m.bin")
    return (folder / "m.xml").read_bytes(), (folder / "m.bin").read_bytes()


def all_nodes(model: ov.Model) -> list[ov.Node]:
    nodes = model.get_ordered_ops()
    return nodes + [inner for node in nodes for body in bodies_of(node) for inner in all_nodes(body)]


def types_of(model: ov.Model, type_name: str) -> set[str]:
    return {n.get_output_element_type(0).get_type_name() for n in all_nodes(model) if n.get_type_name() == type_name}


def ports(model: ov.Model) -> list[tuple[set[str], str, str]]:
    return [(p.get_names(), p.get_element_type().get_type_name(), str(p.get_partial_shape()))
            for p in model.inputs + model.outputs]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("make", [convolution_model, if_model])
def test_the_users_model_stays_as_it_is(make: object, precision: str, rng: Rng, tmp_path: Path) -> None:
    model = make(rng)  # type: ignore[operator]
    before = serialized(model, tmp_path)
    infos = [set(n.get_rt_info()) for n in all_nodes(model)]
    prepared = prepare(model, precision)
    assert serialized(model, tmp_path) == before
    assert [set(n.get_rt_info()) for n in all_nodes(model)] == infos
    assert [p[:2] for p in ports(prepared)] == [p[:2] for p in ports(model)]
    assert [p[2] for p in ports(prepared)[:1]] == [p[2] for p in ports(model)[:1]]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_prepared_model_computes_the_same(precision: str, rng: Rng) -> None:
    model = convolution_model(rng)
    inputs = [rng.normal(size=(2, 8, 5, 7)).astype(np.float32)]
    tolerance = 1e-4 if precision == "f32" else 2e-2
    for actual, expected in zip(CpuPlugin(prepare(model, precision))(inputs), CpuPlugin(model)(inputs), strict=True):
        assert actual.dtype == np.float32
        np.testing.assert_allclose(actual, expected, atol=tolerance * np.abs(expected).max(), rtol=0)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("condition", [True, False])
def test_a_prepared_if_computes_the_same(precision: str, condition: bool, rng: Rng) -> None:
    model = if_model(rng)
    inputs = [np.array(condition), normal(rng, 3, 64), normal(rng, 5, 64)]
    tolerance = 1e-4 if precision == "f32" else 2e-2
    for actual, expected in zip(CpuPlugin(prepare(model, precision))(inputs), CpuPlugin(model)(inputs), strict=True):
        np.testing.assert_allclose(actual, expected, atol=tolerance * np.abs(expected).max(), rtol=0)


def weights_of(kind: str, rng: Rng) -> np.ndarray:
    if kind in ("f16", "bf16", "f8e4m3", "f8e5m2"):
        return normal(rng, 64, 8, 3, 3).astype(np.float16 if kind == "f16" else np.float32)
    low, high = {"u8": (0, 255), "i8": (-128, 127), "u4": (0, 15), "i4": (-8, 7)}[kind]
    return rng.integers(low, high, (64, 8, 3, 3)).astype(np.int8 if low else np.uint8)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("kind", ["f16", "bf16", "u8", "i8", "u4", "i4", "f8e4m3", "f8e5m2"])
def test_large_weights_keep_their_type(kind: str, precision: str, rng: Rng) -> None:
    model = convolution_model(rng, compressed(weights_of(kind, rng), kind))
    kept = [n for n in prepare(model, precision).get_ordered_ops() if n.get_friendly_name() == f"weights_{kind}"]
    assert [n.get_element_type().get_type_name() for n in kept] == [kind]
    assert not any(n.get_type_name() == "Convert" and n.get_input_element_type(0) == n.get_output_element_type(0)
                   for n in prepare(model, precision).get_ordered_ops())


def test_without_protection_weights_would_be_blown_up(rng: Rng) -> None:
    """What `prepare` works against; where this no longer holds, the protection can go."""
    model = convolution_model(rng, compressed(weights_of("f16", rng), "f16"))
    apply_moc_transformations(model, False)
    assert types_of(model, "Constant") == {"f32", "i64"}


@pytest.mark.parametrize("precision", PRECISIONS)
def test_weights_in_bodies_keep_their_type(precision: str, rng: Rng) -> None:
    prepared = prepare(if_model(rng), precision)
    large = [n for n in all_nodes(prepared) if n.get_type_name() == "Constant" and n.data.size == 64 * 64]
    assert [n.get_element_type().get_type_name() for n in large] == ["f16", "f16"]


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 1, 1), (1, 1), (1,), (), (1, 2), (0, 3)])
@pytest.mark.parametrize("kind", [np.bool_, np.float32, np.int64])
def test_places_of_constants_are_folded_whole(shape: tuple[int, ...], kind: type, rng: Rng) -> None:
    """OpenVINO sets one row alone of the places of a single element."""
    for data in (rng.integers(0, 2, shape).astype(kind), np.ones(shape, kind)):
        flat = ov.op.Constant(data.reshape(-1))
        known = op.non_zero(op.reshape(flat, op.constant(np.array(shape, np.int64)), False), "i64")
        x = op.parameter([2], ov.Type.f32)
        prepared = prepare(ov.Model([known, op.relu(x)], [x], "m"))
        folded = prepared.get_results()[0].input_value(0).get_node()
        assert folded.get_type_name() == "Constant"
        assert np.array_equal(folded.data, np.nonzero(np.atleast_1d(data)))


def test_places_of_what_open_sizes_decide_are_folded() -> None:
    """Of 3 in [-1,3] is known that it is more than 0, although the other size is not."""
    x = parameter("x", [-1, 3])
    size = op.gather(op.shape_of(x), op.constant(np.array([-1])), op.constant(np.array(0)))
    is_any = op.greater(size, op.constant(np.array([0])))
    places = op.transpose(op.non_zero(is_any, "i64"), op.constant(np.array([1, 0])))
    prepared = prepare(ov.Model([result(op.gather_nd(size, places), "y"), result(op.relu(x), "z")], [x]))
    assert types_of(prepared, "NonZero") == set()


def test_small_constants_are_folded(rng: Rng) -> None:
    x = parameter("x", [-1, 4])
    y = op.multiply(x, compressed(np.float16([1, 2, 3, 4]), "f16"))
    assert types_of(prepare(ov.Model([result(y, "y")], [x])), "Convert") == set()


def test_f16_is_used_inside_and_in_bodies(rng: Rng) -> None:
    assert types_of(prepare(convolution_model(rng), "f16"), "Convolution") == {"f16"}
    assert types_of(prepare(if_model(rng), "f16"), "MatMul") == {"f16"}
    assert types_of(prepare(if_model(rng), "f32"), "MatMul") == {"f32"}


def test_one_convert_serves_all_readers(rng: Rng) -> None:
    x = parameter("x", [-1, 4])
    y = op.concat([op.relu(x), op.tanh(x), op.sigmoid(x)], 0)
    prepared = prepare(ov.Model([result(y, "y"), result(op.exp(y), "z")], [x]), "f16")
    assert sum(n.get_type_name() == "Convert" for n in prepared.get_ordered_ops()) == 3


def narrowed_before(model: ov.Model, reader: str, first_input: int = 0) -> list[str]:
    """The f16 tensors that some input of the nodes of a type depends on."""
    waiting = [p.get_node() for n in model.get_ordered_ops() if n.get_type_name() == reader
               for p in n.input_values()[first_input:]]
    seen: dict[int, ov.Node] = {}
    while waiting:
        node = waiting.pop()
        if node.get_instance_id() not in seen:
            seen[node.get_instance_id()] = node
            waiting += [p.get_node() for p in node.input_values()] if node.get_type_name() != "ShapeOf" else []
    assert seen
    return [str(n) for n in seen.values() if n.get_output_element_type(0) == ov.Type.f16]


def test_f16_does_not_change_shapes(rng: Rng) -> None:
    """Sizes above 2048 are no f16 numbers, and 1.1 is another number in f16."""
    x = parameter("x", [1, 1, -1, -1])
    sizes = op.convert(op.shape_of(op.relu(x)), "f32")
    scaled = op.convert(op.floor(op.multiply(sizes, op.constant(np.float32([1, 1, 1.1, 1.1])))), "i64")
    wanted = op.strided_slice(scaled, op.constant([2]), op.constant([4]), op.constant([1]), [0], [0])
    bent = op.interpolate(x, wanted, "nearest", "sizes", axes=op.constant([2, 3]))
    scale = op.constant(np.float32([1.1, 1.1]))
    stretched = op.interpolate(x, scale, "nearest", "scales", axes=op.constant([2, 3]))
    last = op.gather(sizes, op.constant(3), op.constant(0))
    counted = op.range(op.constant(np.float32(0)), last, op.constant(np.float32(1)), "f32")
    model = ov.Model([result(bent, "bent"), result(stretched, "stretched"), result(counted, "counted")], [x])
    assert types_of(prepare(model, "f16"), "Interpolate") == {"f16"}
    for height, width in rng.integers(1000, 60000, (5, 2)):
        expected, actual = model.clone(), prepare(model, "f16")
        for each in (expected, actual):
            each.reshape([1, 1, int(height), int(width)])
            each.validate_nodes_and_infer_types()
        assert [p.get_partial_shape() for p in actual.outputs] == [p.get_partial_shape() for p in expected.outputs]
        assert actual.outputs[0].get_partial_shape().is_static


def test_sizes_given_as_inputs_stay_exact() -> None:
    x, factor, length = parameter("x", [1, 1, -1, -1]), parameter("factor", [2]), parameter("length", [])
    scale = op.multiply(factor, op.constant(np.float32(1.1)))
    stretched = op.interpolate(x, scale, "nearest", "scales", axes=op.constant([2, 3]))
    counted = op.range(op.constant(np.float32(0)), op.floor(length), op.constant(np.float32(1)), "f32")
    model = ov.Model([result(stretched, "stretched"), result(counted, "counted")], [x, factor, length])
    prepared = prepare(model, "f16")
    assert narrowed_before(prepared, "Interpolate", 1) == narrowed_before(prepared, "Range") == []


def test_indices_given_as_floats_stay_exact(rng: Rng) -> None:
    x = parameter("x", [-1, -1])
    index = op.convert(op.add(x, op.constant(np.float32(1))), "i64")
    y = op.gather(op.constant(normal(rng, 50000, 2)), index, op.constant(0))
    prepared = prepare(ov.Model([result(y, "y")], [x]), "f16")
    assert types_of(prepared, "Gather") == {"f16"}
    assert narrowed_before(prepared, "Gather", 1) == []


def test_counts_stay_exact() -> None:
    """The number of elements of a picture may exceed what f16 can hold, and so may their sum."""
    x = parameter("x", [1, -1])
    count = op.convert(op.reduce_prod(op.shape_of(x), op.constant([0]), True), "f32")
    mean = op.divide(op.reduce_sum(op.relu(x), op.constant([1]), True), count)
    prepared = prepare(ov.Model([result(op.exp(mean), "y")], [x]), "f16")
    assert [types_of(prepared, kind) for kind in ("Relu", "ReduceSum", "Divide", "Exp")] == \
        [{"f16"}, {"f32"}, {"f32"}, {"f16"}]
    assert len(narrowed_before(prepared, "Divide")) == 2


def test_computed_shapes_keep_no_data_in_f32() -> None:
    x = parameter("x", [-1, -1, 4])
    first = op.gather(op.shape_of(x), op.constant([0]), op.constant(0))
    flat = op.reshape(op.tanh(x), op.concat([first, op.constant(np.array([-1]))], 0), False)
    prepared = prepare(ov.Model([result(op.exp(flat), "y")], [x]), "f16")
    assert types_of(prepared, "Reshape") == types_of(prepared, "Exp") == {"f16"}


def test_positions_stay_exact() -> None:
    """Rotary positions: the sine of a large angle is nothing like the sine of its f16."""
    positions, x = parameter("positions", [-1], "i64"), parameter("x", [-1, 3])
    column = op.unsqueeze(op.convert(positions, "f32"), op.constant([1]))
    angles = op.matmul(column, op.constant(np.float32([[1, 0.7, 0.3]])), False, False)
    y = op.multiply(op.multiply(x, op.sin(angles)), op.cos(x))
    prepared = prepare(ov.Model([result(y, "y")], [positions, x]), "f16")
    assert types_of(prepared, "Multiply") == types_of(prepared, "Cos") == {"f16"}
    assert narrowed_before(prepared, "Sin") == []


@pytest.mark.parametrize("squared", ["Power", "Multiply"])
def test_means_of_squares_do_not_overflow(squared: str, rng: Rng) -> None:
    """Root mean square normalisation of activations whose squares f16 cannot hold."""
    x = parameter("x", [-1, 256])
    square = op.power(x, op.constant(np.float32(2))) if squared == "Power" else op.multiply(x, x)
    mean = op.reduce_mean(square, op.constant([-1]), True)
    y = op.divide(x, op.sqrt(op.add(mean, op.constant(np.float32(1e-9)))))
    y = op.multiply(op.tanh(y), op.reduce_mean(op.relu(x), op.constant([-1]), True))
    prepared = prepare(ov.Model([result(y, "y")], [x]), "f16")
    assert narrowed_before(prepared, "Sqrt") == narrowed_before(prepared, "Divide") == []
    assert types_of(prepared, "Tanh") == {"f16"}
    assert types_of(prepared, "ReduceMean") == {"f16", "f32"}


def test_constants_keep_their_meaning_in_f16(rng: Rng) -> None:
    x = parameter("x", [-1, 4])
    tiny, row = np.float32(1e-12), np.float32([1e9, -1e9, np.inf, 1e-12])
    y = op.add(op.maximum(x, op.constant(-tiny)), op.constant(row))
    prepared = prepare(ov.Model([result(y, "y")], [x]), "f16")
    values = [n.data.reshape(-1) for n in prepared.get_ordered_ops() if n.get_type_name() == "Constant"]
    assert [v.dtype for v in values] == [np.float16] * 2
    scalar, vector = sorted(values, key=len)
    assert scalar[0] == np.float16(-2.0**-24)
    np.testing.assert_array_equal(vector, np.float16([65504, -65504, np.inf, 0]))


def test_states_keep_their_type(rng: Rng) -> None:
    x = parameter("x", [2, 4])
    state = op.read_value(op.constant(np.zeros((2, 4), np.float32)), "memory", ov.Type.f32, ov.PartialShape([2, 4]))
    total = op.add(state, x)
    model = ov.Model([result(total, "y")], [op.assign(total, "memory")], [x], "state")
    prepared = prepare(model, "f16")
    assert types_of(prepared, "ReadValue") == {"f32"}
    assert types_of(prepared, "Add") == {"f16"}


class OnlyF32(ov.Op):  # type: ignore[misc]
    """An operation that refuses other types."""

    def __init__(self, inputs: list[ov.Output] | None = None) -> None:
        super().__init__(self)
        if inputs is not None:
            self.set_arguments(inputs)
            self.constructor_validate_and_infer_types()

    def validate_and_infer_types(self) -> None:
        if self.get_input_element_type(0) != ov.Type.f32:
            raise RuntimeError("f32 only")
        self.set_output_type(0, self.get_input_element_type(0), self.get_input_partial_shape(0))

    def clone_with_new_inputs(self, new_inputs: list[ov.Output]) -> OnlyF32:
        return OnlyF32(new_inputs)


def test_an_operation_that_refuses_f16_keeps_f32() -> None:
    x = parameter("x", [-1, 4])
    y = op.tanh(OnlyF32([op.sigmoid(x).output(0)]))
    prepared = prepare(ov.Model([result(y, "y")], [x]), "f16")
    assert [types_of(prepared, kind) for kind in ("Sigmoid", "OnlyF32", "Tanh")] == [{"f16"}, {"f32"}, {"f16"}]


def test_an_unused_input_stays(rng: Rng) -> None:
    x, unused = parameter("x", [-1, 4]), parameter("unused", [3])
    model = ov.Model([result(op.relu(x), "y")], [x, unused])
    for precision in PRECISIONS:
        assert ports(prepare(model, precision)) == ports(model)


def test_a_model_that_cannot_be_transformed_is_taken_as_it_is() -> None:
    x = parameter("x", [2, 4])
    model = ov.Model([result(OnlyStatic([op.negative(x).output(0)]), "y")], [x])
    with pytest.raises(RuntimeError, match="static shapes only"):
        apply_moc_transformations(model.clone(), False)
    for precision in PRECISIONS:
        prepared = prepare(model, precision)
        assert ports(prepared) == ports(model)
        assert "OnlyStatic" in [n.get_type_name() for n in prepared.get_ordered_ops()]


def test_an_unknown_precision_is_an_error(rng: Rng) -> None:
    with pytest.raises(ClinferError, match=r"unknown inference precision 'f8'\n.*f32, f16"):
        prepare(convolution_model(rng), "f8")


@pytest.mark.parametrize("axis", [1, -2])
def test_a_reduction_along_a_scalar_axis_may_be_squeezed(axis: int) -> None:
    x = parameter("x", [-1, 3, 4])
    mean = op.reduce_mean(x, op.constant(np.int64(axis)), True)
    model = ov.Model([result(op.squeeze(mean, op.constant(np.int64(axis))), "mean")], [x], "squeezed")
    assert prepare(model).output(0).get_partial_shape() == ov.PartialShape([-1, 4])


def test_quotients_that_are_rounded_towards_zero() -> None:
    """As imports of TruncateDiv of TensorFlow and `rounding_mode="trunc"` of PyTorch write it; others round down."""
    a, b = op.parameter([-1], np.int64), op.parameter([-1], np.int64)
    quotient, alone = op.divide(a, b), op.divide(a, b)
    cut = op.select(op.less(quotient, np.int64(0)), op.ceiling(quotient), op.floor(quotient))
    there_and_back = op.convert(op.convert(op.divide(a, b), "i32"), "i64")
    divides = [[node.get_attributes()["m_pythondiv"] for node in all_nodes(prepare(ov.Model([made], [a, b])))
                if node.get_type_name() == "Divide"]
               for made in (cut, there_and_back, alone, op.convert(op.divide(a, b), "i32"))]
    assert divides == [[False], [False], [True], [True]]


def test_quotients_that_are_rounded_in_both_ways() -> None:
    """As imports of PyTorch give them: one Divide whose readers round it down, and towards zero."""
    a, b = op.parameter([-1], np.int64, "a"), op.parameter([-1], np.int64, "b")
    quotient = op.divide(a, b)
    down, towards_zero = op.floor(quotient), op.convert(op.convert(quotient, "i32"), "i64")
    prepared = prepare(ov.Model([result(down, "down"), result(towards_zero, "towards_zero")], [a, b]))
    divides = {reader.get_node().get_type_name(): node.get_attributes()["m_pythondiv"] for node in all_nodes(prepared)
               if node.get_type_name() == "Divide" for reader in node.output(0).get_target_inputs()}
    assert divides == {"Floor": True, "Convert": False}


@pytest.mark.parametrize("shape", [(1, 1, 4), (1, 1, 1, 1)])
def test_bounds_of_more_axes_than_what_they_quantise(shape: tuple[int, ...]) -> None:
    x = parameter("x", [-1, 4])
    bounds = [np.full(shape, bound, np.float32) for bound in (-1, 1, -2, 2)]
    model = ov.Model([result(op.fake_quantize(x, *bounds, 5), "y")], [x])
    request = clinfer.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
    for rows in (3, 1):
        given = np.tile(np.array([-7, -0.4, 0.6, 7], np.float32), (rows, 1))
        given_back = request.infer([given])[0]
        assert np.array_equal(given_back, np.tile(np.array([-2, -1, 1, 2], np.float32), (rows, 1)))


# -- weights that stand aside -----------------------------------------------------------------------


def _product(weights: np.ndarray) -> ov.Model:
    x = parameter("x", [-1, weights.shape[0]])
    return ov.Model([result(op.matmul(x, op.constant(weights, shared_memory=True), False, False), "y")], [x])


def _weights_of(model: ov.Model) -> np.ndarray:
    found = next(node for node in model.get_ops() if node.get_type_name() == "MatMul")
    weights: np.ndarray = found.input_value(1).get_node().data
    return weights


def test_large_weights_are_read_as_they_are(rng: Rng) -> None:
    weights = normal(rng, 512, 512)
    prepared = prepare(_product(weights))
    assert [node.get_friendly_name() for node in prepared.get_parameters()] == ["x"]
    assert np.shares_memory(_weights_of(prepared), weights)


def test_numbers_of_large_weights_that_are_not_normal_become_zeros(rng: Rng) -> None:
    """They slow processors down; a table as large as this is looked at in parts."""
    weights = normal(rng, 512, 512)
    weights[-1, -3:] = 1e-40, -1e-41, 0
    before = weights.copy()
    found = _weights_of(prepare(_product(weights)))
    assert not found[-1, -3:].any()
    found = found.copy()
    found[-1, -3:] = before[-1, -3:]
    assert np.array_equal(found, before) and np.array_equal(weights, before)
