"""What OpenVINO's transformations misread: `prepare` keeps its meaning, believes no contradiction, and says so."""
from __future__ import annotations

import gc
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openvino import opset13 as op
from openvino import opset15
from openvino._offline_transformations import apply_moc_transformations

from clinfer.frontend import transformations
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.partitions import Partition
from clinfer.frontend.transformations import prepare
from tests.frontend.models import OnlyStatic, Rng, normal, parameter, result
from tests.node_by_node import NodeByNode
from tests.oracle import assert_close

PAGE = Path(__file__).resolve().parents[2] / "docs" / "conformance.md"


def opened(rank: int) -> ov.op.Parameter:
    return parameter("x", [-1] * rank)


def gathered(x: ov.Node) -> ov.Node:
    """The transformations lose the indices' axes."""
    return op.gather(op.unsqueeze(x, np.array([0])), np.array([0, -1, 0]), np.array(0))


def gathered_and_made_an_axis(x: ov.Node) -> ov.Node:
    """One index becomes a vector of one, and then they lose its axis."""
    vector = op.unsqueeze(op.reduce_sum(x, np.array([0]), False), np.array([0]))
    return op.unsqueeze(op.gather(vector, np.array(-1), np.array(0)), np.array([0]))


def counted_from_the_end(x: ov.Node) -> ov.Node:
    """They count the axis from the end of the smaller rank."""
    return op.reduce_mean(op.unsqueeze(x, np.array([2])), np.array([-2]), False)


def counted_beyond_the_rank(x: ov.Node) -> ov.Node:
    """As before, and there is no such axis: they throw."""
    return op.reduce_max(op.unsqueeze(x, np.array([-3])), np.array([1]), False)


def turned(x: ov.Node) -> ov.Node:
    """They take a Reshape behind a Reduce for none."""
    kept = op.reduce_max(x, np.array([2]), True)
    return op.reduce_mean(op.transpose(kept, np.array([0, 2, 1])), np.array([0]), False)


def permuted_nothing(x: ov.Node) -> ov.Node:
    """They take 0 elements for "copy the size"."""
    return op.transpose(op.gather(op.reshape(x, np.array([3, 1, 1]), False), np.array([], np.int64), np.array(-2)),
                        np.array([2, 0, 1]))


def permuted_at_run_time(x: ov.Node) -> ov.Node:
    """As before, where a size turns out to be 0."""
    return op.transpose(op.unsqueeze(x, np.array([0])), np.array([1, 2, 0]))


def reversed_axes(x: ov.Node) -> ov.Node:
    """They look the axis up in an order that is empty."""
    return op.reduce_max(op.transpose(x, np.array([], np.int64)), np.array([0]), True)


def joined_with_nothing(x: ov.Node) -> ov.Node:
    """They leave out what has no elements, although it has a size along the axis."""
    return op.concat([x, op.constant(np.zeros((0, 2), np.float32))], 1)


def flattened(x: ov.Node) -> ov.Node:
    """They take the Reshape for none, as its rank is that of the mean, and 0 of its axes are reduced."""
    return op.reshape(op.reduce_sum(op.reshape(x, np.array([2, 3, 1]), False), np.array([0]), False),
                      np.array([1, -1]), False)


def behind_a_new_axis(x: ov.Node) -> ov.Node:
    """They put the new axis where it would be without the one that stays."""
    return op.reduce_max(op.reshape(op.reshape(x, np.array([3, 2]), False), np.array([3, 2, 1]), False),
                         np.array([0]), True)


def stretched_to_nothing(x: ov.Node) -> ov.Node:
    """They stretch behind the division, to the larger of two sizes, of which one is 0."""
    sums = op.reduce_sum(x, np.array([0]), True)
    return op.divide(op.broadcast(sums, op.shape_of(x)), op.constant(np.array([[2]], np.float32)))


def convolved_in_another_order(x: ov.Node) -> ov.Node:
    """They take the first convolution for that of the first part."""
    parts = op.split(op.reshape(x, np.array([1, 2, 3]), False), np.array(1), 2)
    first, second = (op.convolution(parts.output(i), op.constant(np.full((1, 1, 1), 2 + i, np.float32)),
                                    [1], [0], [0], [1]) for i in (0, 1))
    return op.concat([second, first], 1)


def gathered_in_each_batch(x: ov.Node) -> ov.Node:
    """They take the indices of the batches for an order of channels, and put the weights in it."""
    channel = opset15.gather(op.reshape(x, np.array([2, 2, 3]), False), np.array([[1], [0]]), np.array(1), 1)
    return op.convolution(channel, op.constant(np.array([3, 2], np.float32).reshape(2, 1, 1)), [1], [0], [0], [1])


def by_one_head(x: ov.Node) -> ov.Node:
    """They take the rows of attention for a batch of one row each."""
    parts, turned = op.variadic_split(x, np.array(-1), np.array([4, 4, 4])).outputs(), np.array([1, 0, 2])
    query, key, value = (op.transpose(op.reshape(part, np.array([0, 1, -1]), True), turned) for part in parts)
    weights = op.softmax(op.multiply(op.matmul(query, op.transpose(key, [0, 2, 1]), False, False), np.float32(0.5)), -1)
    return op.transpose(op.matmul(weights, value, False, False), turned)


def taken_from_the_start(x: ov.Node) -> ov.Node:
    """They fold a StridedSlice whose begin is masked and whose axis is dropped as if it were not masked."""
    number = op.strided_slice(op.constant(np.array([3, 2], np.float32)), np.array([-1]), np.array([-1]), np.array([1]),
                              [1], [1], [], [1], [])
    return op.add(x, number)


def made_positive_for_all(x: ov.Node) -> ov.Node:
    """They let Abs go ahead of the Concat, whoever else reads that."""
    both = op.concat([x, op.negative(x)], 0)
    return op.add(op.abs(both), both)


def sized_as_written(x: ov.Node) -> ov.Node:
    """They take the constant sizes of a Reshape for its shape, the zeros among them, too."""
    zero, one = np.array([0]), np.array([1])
    last = op.slice(op.slice(x, one, np.array([9]), one, zero), np.array([-1]), np.array([2]), np.array([3]), zero)
    return op.add(x, op.convert(op.shape_of(op.reshape(last, zero, True)), "f32"))


Wanted = Callable[[np.ndarray], np.ndarray]
MISREAD: list[tuple[Callable[[ov.Node], ov.Node], tuple[int, ...], Wanted]] = [
    (gathered, (2,), lambda x: np.stack([x, x, x])),
    (gathered_and_made_an_axis, (3,), lambda x: x.sum(0, keepdims=True)),
    (counted_from_the_end, (2, 3), lambda x: x.mean(1, keepdims=True)),
    (counted_beyond_the_rank, (2, 3), lambda x: x.max(0, keepdims=True)),
    (turned, (2, 3, 4), lambda x: x.max(2).mean(0)[None]),
    (permuted_nothing, (3,), lambda x: np.zeros((1, 3, 0), np.float32)),
    (permuted_at_run_time, (0, 2), lambda x: x[:, :, None]),
    (reversed_axes, (2, 3), lambda x: x.max(1)[None]),
    (joined_with_nothing, (0, 3), lambda x: np.zeros((0, 5), np.float32)),
    (flattened, (2, 3), lambda x: x.sum(0)[None]),
    (stretched_to_nothing, (0, 2), lambda x: x),
    (convolved_in_another_order, (2, 3), lambda x: x[None, ::-1] * [[[3], [2]]]),
    (gathered_in_each_batch, (12,), lambda x: x.reshape(2, 2, 3)[[0, 1], [1, 0]][:, None] * [[3], [2]]),
    (by_one_head, (3, 12), lambda x: (w := np.exp(x[:, None, :4] @ x[:, 4:8].T / 2)) / w.sum(2)[..., None] @ x[:, 8:]),
    (behind_a_new_axis, (2, 3), lambda x: x.reshape(3, 2, 1).max(0, keepdims=True)),
    (taken_from_the_start, (3,), lambda x: x + 3),
    (sized_as_written, (2,), lambda x: x + 1),
    (made_positive_for_all, (2,), lambda x: 2 * np.maximum(np.concatenate([x, -x]), 0)),
]


def in_a_branch(build: Callable[[ov.Node], ov.Node], rank: int) -> ov.Model:
    x, condition = opened(rank), parameter("condition", [], "boolean")
    inner, unused = opened(rank), opened(rank)
    node = op.if_op(condition)
    taken = ov.Model([op.result(build(inner))], [inner], "taken")
    other = ov.Model([op.result(op.negative(unused))], [unused], "other")
    node.set_then_body(taken)
    node.set_else_body(other)
    node.set_input(x.output(0), inner, unused)
    y = node.set_output(taken.results[0], other.results[0])
    return ov.Model([result(y, "y")], [condition, x])


def in_a_loop(build: Callable[[ov.Node], ov.Node], rank: int) -> ov.Model:
    x, inner = opened(rank), opened(rank)
    goes_on = op.constant(np.array([True]))
    loop = op.loop(parameter("trips", [], "i64"), op.constant(np.array([True])))
    loop.set_function(ov.Model([goes_on, build(inner)], [inner], "body"))
    loop.set_special_body_ports([-1, 0])
    loop.set_invariant_input(inner, x.output(0))
    y = loop.get_iter_value(loop.get_function().results[1].input_value(0), -1)
    return ov.Model([result(y, "y")], [loop.input_value(0).get_node(), x])


def in_an_iterator(build: Callable[[ov.Node], ov.Node], rank: int) -> ov.Model:
    """A TensorIterator over one step of another input."""
    x, inner, steps, step = opened(rank), opened(rank), parameter("steps", [1]), parameter("step", [1])
    iterator = op.tensor_iterator()
    y = op.add(build(inner), step)
    iterator.set_function(ov.Model([op.result(y)], [inner, step], "body"))
    iterator.set_sliced_input(step, steps.output(0), 0, 1, 1, -1, 0)
    iterator.set_invariant_input(inner, x.output(0))
    return ov.Model([result(iterator.get_iter_value(y.output(0), -1), "y")], [steps, x])


def alone(build: Callable[[ov.Node], ov.Node], rank: int) -> ov.Model:
    return ov.Model([result(build(x := opened(rank)), "y")], [x])


PLACES: dict[str, tuple[Callable[..., ov.Model], list[np.ndarray]]] = {
    "alone": (alone, []), "branch": (in_a_branch, [np.array(True)]), "loop": (in_a_loop, [np.array(1)]),
    "iterator": (in_an_iterator, [np.zeros(1, np.float32)])}


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the transformations log."""
    lines: list[str] = []
    monkeypatch.setattr(transformations, "log", lambda level, text: lines.append(text))
    return lines


# Of bf16 the oracle's Gather divides by zero where nothing is gathered.
@pytest.mark.parametrize("precision", ["f32", "f16"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("build", "shape", "wanted"), MISREAD)
def test_what_the_transformations_misread_keeps_its_meaning(
        build: Callable[[ov.Node], ov.Node], shape: tuple[int, ...], wanted: Wanted, place: str, precision: str,
        told: list[str], rng: Rng) -> None:
    put, others = PLACES[place]
    array = rng.integers(-8, 8, shape).astype(np.float32)
    (actual,) = NodeByNode(prepare(put(build, len(shape)), precision))([*others, array])
    assert_close(actual, wanted(array), 1e-2)
    assert told == []


@pytest.mark.parametrize(("build", "shape", "wanted"), MISREAD)
def test_alone_the_transformations_misread_it(
        build: Callable[[ov.Node], ov.Node], shape: tuple[int, ...], wanted: Wanted, rng: Rng) -> None:
    """What `prepare` works against; where one of these no longer holds, what mends it can go."""
    model = alone(build, len(shape))
    array = rng.normal(size=shape).astype(np.float32)
    with pytest.raises((RuntimeError, AssertionError)):
        apply_moc_transformations(model, False)
        assert_close(NodeByNode(model)([array])[0], wanted(array), 1e-4)


def test_sizes_are_not_taken_as_written_where_they_are_known() -> None:
    x = parameter("x", [2])
    (shape,) = NodeByNode(prepare(ov.Model([sized_as_written(x)], [x])))([np.zeros(2, np.float32)])
    assert shape.tolist() == [1, 1]


def test_no_indices_behind_parts_of_one_element_do_not_end_the_process(told: list[str]) -> None:
    """The transformations alone end it."""
    x = opened(2)
    one = op.reshape(x, np.array([1, 1]), False)
    model = ov.Model([result(op.gather(op.concat([one, one], 0), np.array([], np.int64), np.array(0)), "y")], [x])
    assert NodeByNode(prepare(model))([np.ones((1, 1), np.float32)])[0].shape == (0, 1)
    assert told == []


def test_the_page_lists_them() -> None:
    page = PAGE.read_text(encoding="utf-8")
    table = page.split("<!-- misread -->")[1].split("<!-- end of misread -->")[0]
    assert set(re.findall(r"^\| `(\w+)`", table, re.M)) == {build.__name__ for build, _, _ in MISREAD}


def test_results_that_are_declared_otherwise_are_not_believed(
        told: list[str], monkeypatch: pytest.MonkeyPatch, rng: Rng) -> None:
    """Only what moves elements is left as it was: other fusions stay."""
    monkeypatch.setattr(transformations, "inputs_joined_wrongly", lambda node: ())
    x = opened(1)
    y = op.multiply(gathered(x), op.sigmoid(gathered(x)))
    prepared = prepare(ov.Model([result(y, "y"), result(op.relu(x), "z")], [x]))
    array = normal(rng, 2)
    assert_close(NodeByNode(prepared)([array])[0], np.stack([array * (1 / (1 + np.exp(-array)))] * 3), 1e-5)
    (line,) = told
    assert "result 0 of the model was f32 [3,?], became f32 [?]" in line and "operations that move elements" in line


def test_results_of_bodies_are_compared(told: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transformations, "inputs_joined_wrongly", lambda node: ())
    prepare(in_a_branch(lambda x: op.unsqueeze(gathered(x), np.array([0])), 1))
    (line,) = told
    assert "result 0 of body 0 of" in line and "was f32 [1,3,?], became f32 [1,?]" in line


def test_a_failure_of_the_transformations_is_told(told: list[str]) -> None:
    x = parameter("x", [2, 4])
    prepare(ov.Model([result(OnlyStatic([op.negative(x).output(0)]), "y")], [x], "stiff"))
    assert len(told) == 2
    assert "model 'stiff'" in told[1] and "all are left out" in told[1] and "static shapes only" in told[1]


def test_a_mean_without_kept_axes_is_one_operation_again() -> None:
    """The two operations that it is for the time of the transformations are one, under the layer's name."""
    x = parameter("x", [-1, 8, -1, -1])
    pooled = op.reduce_mean(x, np.array([-2, -1]), False)
    pooled.set_friendly_name("pool")
    model = ov.Model([op.result(pooled), result(op.exp(pooled), "y")], [x])
    prepared = prepare(model)
    (mean,) = [node for node in prepared.get_ordered_ops() if node.get_type_name() == "ReduceMean"]
    assert mean.get_friendly_name() == "pool" and not mean.get_attributes()["keep_dims"]
    assert not {node.get_type_name() for node in prepared.get_ordered_ops()} & {"Squeeze", "Reshape", "Partition"}
    assert [port.get_names() for port in prepared.outputs] == [port.get_names() for port in model.outputs]


def test_a_reduction_along_an_axis_that_is_a_scalar(rng: Rng) -> None:
    x = parameter("x", [-1, 3, 4])
    dropped = op.squeeze(op.reduce_sum(x, np.array(1), True), np.array(1))
    model = ov.Model([result(op.add(dropped, op.reduce_max(x, np.array(1), False)), "y")], [x])
    inputs = [normal(rng, 2, 3, 4)]
    assert_close(NodeByNode(prepare(model))(inputs)[0], NodeByNode(model)(inputs)[0], 1e-6)


@pytest.mark.parametrize("size", [3, -1])
def test_slices_that_only_count_the_runs_of_a_loop_stay(size: int, rng: Rng) -> None:
    """The transformations take them away, and with them how often the loop runs."""
    x, start = parameter("x", [size, 2]), parameter("start", [1, 2])
    taken, state = parameter("taken", [1, 2]), parameter("state", [1, 2])
    new = op.multiply(state, np.float32(0.5))
    loop = op.tensor_iterator()
    loop.set_function(ov.Model([new], [taken, state]))
    loop.set_sliced_input(taken, x.output(0), 0, 1, 1, -1, 0)
    loop.set_merged_input(state, start.output(0), new.output(0))
    last = loop.get_iter_value(new.output(0), -1)
    model = ov.Model([result(last, "y")], [x, start])
    inputs = [normal(rng, 3, 2), normal(rng, 1, 2)]
    (actual,), (wanted,) = NodeByNode(prepare(model))(inputs), NodeByNode(model)(inputs)
    assert_close(actual, wanted, 1e-6)


def test_a_scalar_constant_that_is_repeated_along_no_axis() -> None:
    """Its folding ends the process."""
    repeated = op.tile(op.subtract(np.int64(5), np.int64(2)), op.constant(np.zeros(0, np.int64)))
    x = parameter("x", [2])
    assert NodeByNode(prepare(ov.Model([op.result(repeated), result(op.exp(x), "y")], [x])))([np.ones(2)])[0] == 3


def test_nothing_is_known_of_what_a_partition_passes_on() -> None:
    """An operation in Python that cannot be evaluated must say so, or memory is read that nobody wrote: here for how
    long a Range is, and of a NonZero behind it, whose bounds are filled in, that takes all memory there is."""
    for value in range(1, 20):
        passed = Partition([op.constant(np.int64(value)).output(0)])
        assert op.range(np.int64(0), passed, np.int64(1), "i64").get_output_partial_shape(0) == ov.PartialShape([-1])
    scalar = op.constant(np.int64(3))
    for _ in range(2):
        scalar = op.transpose(scalar, np.array([], np.int64))
    places = op.non_zero(op.range(np.int64(1), scalar, np.int64(1), "i64"), "i64")
    assert NodeByNode(prepare(ov.Model([op.result(places)], [])))([])[0].tolist() == [[0, 1]]


@pytest.mark.parametrize("fails", [False, True])
def test_partitions_keep_nothing_of_the_model(fails: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenVINO keeps what is written in Python, and what it reads, for ever: here it would be the weights."""
    weights = np.ones((4, 8), np.float32)
    before = sys.getrefcount(weights)

    def refuse(*_: Any) -> None:
        raise RuntimeError("refused")

    if fails:
        monkeypatch.setattr("openvino._offline_transformations.apply_moc_transformations", refuse)

    def transform() -> None:
        x, shape = parameter("x", [8, -1]), op.parameter([2], np.int64)
        product = op.matmul(op.constant(weights, shared_memory=True), x, False, False)
        joined = op.gather(op.unsqueeze(product, np.int64(0)), np.array([0, 0]), np.int64(0))
        sizes = op.concat([op.gather(shape, np.array([0]), np.int64(0)), np.array([-1])], 0)
        prepare(ov.Model([result(joined, "y"), result(op.reshape(product, sizes, False), "z")], [x, shape]))

    transform()
    gc.collect()
    assert sys.getrefcount(weights) == before


def test_what_is_counted_in_constants_and_static_sizes_has_a_rank() -> None:
    """The sizes above 1, taken twice: a Gather along an axis of size 1 is kept from the transformations."""
    x = parameter("x", [2, 16, 1])
    sizes = op.reshape(op.gather(op.shape_of(x), np.array([-2]), np.array(0)), np.array([-1]), False)
    places = op.reshape(op.non_zero(op.greater(sizes, np.int64(1)), "i64"), np.array([-1]), False)
    chosen = op.gather(sizes, places, np.array(0))
    counted = opset15.squeeze(op.non_zero(op.greater(chosen, np.int64(0)), "i64").output(0))
    prepared = prepare(ov.Model([result(counted, "y"), op.result(op.exp(x))], [x]))
    assert prepared.output("y").get_partial_shape() == ov.PartialShape([])
    assert "NonZero" not in [node.get_type_name() for node in prepared.get_ordered_ops()]
    array = np.zeros((2, 16, 1), np.float32)
    assert NodeByNode(prepared)([array])[0] == 0


@pytest.mark.parametrize("is_stateful", [False, True])
def test_what_is_counted_in_data_stays(is_stateful: bool) -> None:
    x = parameter("x", [0, 4])
    source = op.read_value(x, "state", ov.Type.f32, ov.PartialShape([0, 4])) if is_stateful else x
    places = op.non_zero(op.greater(source, np.float32(1)), "i64")
    model = ov.Model([result(op.relu(op.convert(places, "f32")), "y")], [x]) if not is_stateful else ov.Model(
        [result(op.relu(op.convert(places, "f32")), "y")], [op.assign(source, "state")], [x], "stateful")
    assert NodeByNode(prepare(model))([np.zeros((0, 4), np.float32)])[0].shape == (2, 0)


def test_what_the_transformations_throw_of_another_kind(told: list[str]) -> None:
    """A state that its body does not read: they look for it beyond the end of a list."""
    numbers, start = parameter("x", [3], "i64"), parameter("start", [1], "i64")
    taken, unread = parameter("taken", [1], "i64"), parameter("unread", [1], "i64")
    new = op.reshape(op.maximum(taken, np.int64([-2])), np.array([0]), True)
    iterator = op.tensor_iterator()
    iterator.set_function(ov.Model([op.result(new)], [taken, unread]))
    iterator.set_sliced_input(taken, numbers.output(0), -1, -1, 1, 0, 0)
    iterator.set_merged_input(unread, start.output(0), new.output(0))
    iterator.get_iter_value(new.output(0), -1)
    joined = iterator.get_concatenated_slices(new.output(0), -1, -1, 1, 0, 0)
    model = ov.Model([result(joined, "y")], [numbers, start])
    with pytest.raises(IndexError):
        apply_moc_transformations(model.clone(), False)
    (actual,) = NodeByNode(prepare(model))([np.int64([5, -7, 1]), np.int64([0])])
    assert actual.tolist() == [5, -2, 1] and "are left out" in told[-1]


def test_what_is_added_to_a_size_by_a_scatter() -> None:
    """They take the sum for the size."""
    x, places = parameter("x", [-1]), parameter("places", [-1], "i64")
    size = op.gather(op.shape_of(x), np.array([0]), np.array(0))
    added = opset15.scatter_elements_update(size, np.array([0]), np.array([2]), np.array(0), "sum", True)
    counted = op.non_zero(op.not_equal(added, np.int64(1)), "i64")
    model = ov.Model([op.result(counted), result(op.gather(added, places, np.array(0)), "y")], [x, places])
    assert NodeByNode(prepare(model))([np.zeros(5, np.float32), np.array([0])])[1].tolist() == [7]


@pytest.mark.parametrize("moved", [False, True])
def test_a_distance_of_known_numbers_from_zero_stays(moved: bool) -> None:
    """The transformations leave Abs of a vector out where numbers that follow from constants are above -1."""
    stored = op.constant(np.array([6, 8, 10, 7], np.uint8).reshape((2, 2) if moved else 4))
    numbers = op.multiply(op.subtract(op.convert(stored, "f32"), np.float32(8)), np.float32(0.25))
    distance = op.abs(op.reshape(numbers, np.array([-1]), False) if moved else numbers)
    model = ov.Model([distance], [], "known")
    wanted = np.array([0.5, 0, 0.5, 0.25], np.float32)
    assert np.array_equal(NodeByNode(prepare(model))([])[0].reshape(-1), wanted)
    alone = model.clone()
    apply_moc_transformations(alone, False)
    assert not np.array_equal(NodeByNode(alone)([])[0].reshape(-1), wanted)
