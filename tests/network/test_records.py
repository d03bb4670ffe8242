"""What executions tell about themselves: models, sequences of inputs, and the records that are expected."""
from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict

import numpy as np
import pytest
from openvino import opset13 as ops

from clinfer.base.errors import ClinferError
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.network import Network
from clinfer.network.reports import execution_log
from clinfer.network.reports.record import NOTHING, ExecutionRecord, NodeRecord
from clinfer.runtime.engine import Engine
from tests.network.loop_models import loop_of, running_sums
from tests.network.running import network_of, run_once
from tests.oracle import ov

Arrays = Sequence[np.ndarray]
SKIPPED = ("static output", "not changed", "shape_of not changed", "shape_of subgraph not changed")


@pytest.fixture
def own_engine(engine: Engine) -> Engine:
    """An engine of this test alone, so that nothing else moves its ledger."""
    return Engine(engine.device, engine.capabilities)


def _zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def _rows(*counts: int) -> list[np.ndarray]:
    return [_zeros(count, 8) for count in counts]


def _named(node: ov.Node, name: str) -> ov.Node:
    node.set_friendly_name(name)
    return node


def _node(record: ExecutionRecord, layer: str) -> NodeRecord:
    found = [node for node in record.nodes if node.layer == layer]
    assert len(found) == 1, f"{layer} in {[node.layer for node in record.nodes]}"
    return found[0]


# -- update_shape: model, inputs one after the other, what becomes of the shapes of some layers ----------------


def _branches() -> ov.Model:
    x, y = ops.parameter([-1, 8], np.float32), ops.parameter([-1, 8], np.float32)
    left, right = _named(ops.softmax(x, 1), "left"), _named(ops.softmax(y, 1), "right")
    return ov.Model([_named(ops.softmax(left, 0), "below left"), _named(ops.softmax(right, 0), "below right")], [x, y])


def _shapes_of() -> ov.Model:
    x, y = ops.parameter([-1, 8], np.float32), ops.parameter([-1, 8], np.float32)
    sizes = _named(ops.shape_of(x, "i64"), "sizes")
    rows = _named(ops.gather(sizes, [0], 0), "rows")
    columns = _named(ops.divide(rows, np.int64([100])), "columns")
    pattern = _named(ops.concat([ops.add(columns, np.int64([8])), np.array([-1], np.int64)], 0), "pattern")
    return ov.Model([_named(ops.softmax(ops.reshape(y, pattern, False), 1), "turned"),
                     ops.convert(rows, "f32")], [x, y])


def _static_output() -> ov.Model:
    x = ops.parameter([-1, 8], np.float32)
    total = _named(ops.reduce_sum(x, [0], False), "sum")
    return ov.Model([_named(ops.softmax(total, 0), "behind")], [x])


def _tail() -> ov.Model:
    x = ops.parameter([-1, 8], np.float32)
    weights = ops.constant(np.ones((8, 8), np.float32))
    return ov.Model([ops.add(_named(ops.matmul(x, weights, False, False), "product"),
                              ops.cum_sum(x, np.int64(1)))], [x])


def _several_outputs() -> ov.Model:
    x, lengths = ops.parameter([-1, 8], np.float32), ops.parameter([2], np.int64)
    parts = _named(ops.variadic_split(x, np.int64(0), lengths), "parts")
    return ov.Model([_named(ops.softmax(parts.output(0), 1), "first"),
                     _named(ops.softmax(parts.output(1), 1), "second")], [x, lengths])


def _lengths(*rows: int) -> list[np.ndarray]:
    return [_zeros(sum(rows), 8), np.array(rows, np.int64)]


FIRST = {"inferred"}
NEW = {"inferred", "traced"}
RULES: dict[str, tuple[Callable[[], ov.Model], list[tuple[Arrays, dict[str, set[str]]]]]] = {
    "only what depends on the changed input": (_branches, [
        (_rows(2, 3), {"left": FIRST, "below left": FIRST, "right": FIRST, "below right": FIRST}),
        (_rows(4, 3), {"left": NEW, "below left": NEW, "right": {"not changed"}, "below right": {"not changed"}}),
        (_rows(4, 6), {"left": {"not changed"}, "below left": {"not changed"}, "right": NEW, "below right": NEW}),
        (_rows(7, 7), {"left": NEW, "below left": NEW, "right": NEW, "below right": NEW}),
    ]),
    "shape_of with an unchanged input, and its subgraph": (_shapes_of, [
        (_rows(2, 3), {"sizes": FIRST, "rows": FIRST, "turned": FIRST}),
        (_rows(2, 5), {"sizes": {"shape_of not changed"}, "rows": {"shape_of subgraph not changed"},
                       "columns": {"shape_of subgraph not changed"}, "turned": NEW}),
        (_rows(4, 5), {"sizes": NEW, "rows": NEW, "columns": NEW,
                       "pattern": {"shape_of subgraph not changed"}, "turned": {"not changed"}}),
    ]),
    "outputs that are static": (_static_output, [
        (_rows(2), {"sum": {"static output"}, "behind": {"static output"}}),
        (_rows(5), {"sum": {"static output"}, "behind": {"static output"}}),
    ]),
    "several outputs": (_several_outputs, [
        (_lengths(2, 4), {"parts": FIRST, "first": FIRST, "second": FIRST}),
        (_lengths(3, 4), {"parts": NEW, "first": NEW, "second": {"not changed"}}),
        (_lengths(3, 5), {"parts": NEW, "first": {"not changed"}, "second": NEW}),
        (_lengths(5, 3), {"parts": NEW, "first": NEW, "second": NEW}),
    ]),
}


@pytest.mark.parametrize("rule", RULES)
def test_what_becomes_of_shapes(engine: Engine, rule: str) -> None:
    build, steps = RULES[rule]
    network = network_of(engine, build())
    for arrays, expected in steps:
        record = run_once(network, arrays)
        for layer, updates in expected.items():
            node = _node(record, layer)
            assert node.shape in updates, f"{[a.shape for a in arrays]}: {node}"
            assert node.shape == "static output" or (node.shape in SKIPPED) != bool(
                node.changed_shapes or node.changed_values)
        assert run_once(network, arrays) is NOTHING, "a repeated shape"
    for arrays, _ in steps:
        assert run_once(network, arrays) is NOTHING, "shapes that were seen before"


@pytest.mark.parametrize("rule", RULES)
def test_plans_made_node_by_node_tell_the_same(engine: Engine, rule: str) -> None:
    build, steps = RULES[rule]
    network = network_of(engine, build())
    other = Network(network.program, engine.create_stream(), OpenVinoShapeInference(), parametric=False)
    for arrays, _ in steps:
        traced, by_nodes = ([
            (n.name, n.changed_shapes, n.changed_values, n.kernel, n.launches, n.shape if n.shape in SKIPPED else "")
            for n in run_once(each, arrays).nodes] for each in (network, other))
        assert traced == by_nodes


def test_a_fused_operation_s_input_counts_as_its_host_s(engine: Engine) -> None:
    network = network_of(engine, _tail())
    for rows in (4, 9):
        product = _node(run_once(network, _rows(rows)), "product")
        assert product.changed_shapes == (0, 2) and product.shape in NEW
    assert len(network.page.tell().nodes) == 2


def test_values_that_shapes_depend_on(engine: Engine) -> None:
    x, pattern = ops.parameter([-1, 8], np.float32), ops.parameter([2], np.int64)
    network = network_of(engine, ov.Model([ops.relu(_named(ops.reshape(x, pattern, False), "reshape"))], [x, pattern]))
    told = []
    for shape in ([4, 8], [4, 8], [2, 16], [4, 8], [-1, 2]):
        record = run_once(network, [_zeros(4, 8), np.array(shape, np.int64)])
        told.append([(s.reason, _node(record, "reshape").changed_values) for s in record.segments])
    assert told == [[("first sight", (1,))], [], [("other values", (1,))], [], [("other values", (1,))]]


# -- bodies ------------------------------------------------------------------------------------------------------


def _loop() -> ov.Model:
    """Adds up the rows of x."""
    x, start = ops.parameter([-1, -1], np.float32), ops.parameter([1, -1], np.float32)
    joined, last = running_sums(x, start, 0, 1, (False, False))
    return ov.Model([joined, last], [x, start])


def test_bodies_tell_by_their_path(engine: Engine) -> None:
    network = network_of(engine, _loop())
    record = run_once(network, [_zeros(3, 5), _zeros(1, 5)])
    outer = [node for node in record.nodes if node.primitive == "TensorIterator"]
    assert len(outer) == 1 and outer[0].shape == "inferred"
    inner = [segment for segment in record.segments if segment.within]
    assert {segment.within for segment in inner} == {f"{outer[0].name}/body0"}
    assert [segment.reason for segment in inner].count("first sight") == 1, "one plan for all runs"
    assert all(node.name.startswith(f"{outer[0].name}/body0/") for segment in inner for node in segment.nodes)
    assert run_once(network, [_zeros(3, 5), _zeros(1, 5)]) is NOTHING
    longer = run_once(network, [_zeros(9, 5), _zeros(1, 5)])
    assert not any(segment.reason for segment in longer.segments if segment.within), "a known slice"
    assert [segment.reason for segment in longer.segments if not segment.within] == ["first sight"]
    assert run_once(network, [_zeros(3, 5), _zeros(1, 5)]) is NOTHING


def test_a_loop_whose_runs_all_differ(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution_log, "MOST_NOTES", 4)
    number, state = ops.parameter([], np.int64), ops.parameter([-1], np.float32)
    longer = ops.concat([state, np.ones(1, np.float32)], 0)
    body = ov.Model([ops.constant(np.array(True)), longer], [number, state])
    x = ops.parameter([-1], np.float32)
    loop = loop_of(ops.constant(np.array(9, np.int64)), ops.constant(np.array(True)), body, 0)
    loop.set_merged_input(state, x.output(0), longer.output(0))
    network = network_of(engine, ov.Model([loop.get_iter_value(longer.output(0), -1)], [x]))
    record = run_once(network, [np.ones(2, np.float32)])
    assert len(record.segments) == 4 and record.left_out >= 6
    assert [(node.memory, node.shape) for node in record.nodes if node.primitive == "Loop"] == [
        ("body", "after the run")]
    assert run_once(network, [np.ones(2, np.float32)]) is NOTHING


# -- memory ------------------------------------------------------------------------------------------------------


def _chain() -> ov.Model:
    x = ops.parameter([-1, 8], np.float32)
    return ov.Model([ops.softmax(_named(ops.softmax(x, 0), "middle"), 1)], [x])


def test_growth_is_what_the_engine_counts(own_engine: Engine, rng: np.random.Generator) -> None:
    network = network_of(own_engine, _branches())
    inputs = [own_engine.allocate_bytes(1000 * 32) for _ in range(2)]
    grown = []
    for rows in [(2, 3), (2, 3), (80, 3), (1, 1), *rng.integers(1, 1000, (10, 2)).tolist(), (80, 3)]:
        before = own_engine.ledger.current
        for name, memory, count in zip(network.program.inputs, inputs, rows, strict=True):
            network.set_input(name, memory, (count, 8))
        network.execute()
        grown.append(network.page.tell().grown_bytes)
        assert grown[-1] == max(own_engine.ledger.current - before, 0), rows
    assert grown[0] and not grown[1] and grown[2] and not grown[3] and not grown[-1]


def test_where_outputs_lie(engine: Engine) -> None:
    network = network_of(engine, _chain())
    told = []
    for rows in (40, 90, 60):
        record = run_once(network, _rows(rows))
        told.append([(node.layer == "middle", node.memory) for node in record.nodes])
    assert told == [[(True, "grown"), (False, "grown")]] * 2 + [[(True, "reused"), (False, "reused")]]
    network.set_output(next(iter(network.program.outputs)), engine.allocate_bytes(70 * 32))
    assert [node.memory for node in run_once(network, _rows(70)).nodes] == ["reused", "external"]


def test_what_the_host_holds_and_what_is_only_seen_otherwise(engine: Engine) -> None:
    x = ops.parameter([-1, 8], np.float32)
    flat = _named(ops.reshape(x, ops.concat([ops.shape_of(x, "i64"), np.array([1], np.int64)], 0), False), "flat")
    record = run_once(network_of(engine, ov.Model([ops.relu(flat)], [x])), _rows(3))
    assert _node(record, "flat").memory == "view" and _node(record, "flat").launches == 0
    assert {node.memory for node in record.nodes} == {"view", "host", "grown"}


def test_empty_tensors_launch_nothing(engine: Engine) -> None:
    network = network_of(engine, _chain())
    assert run_once(network, _rows(3)).segments[0].launches >= 2
    empty = run_once(network, _rows(0))
    assert empty.segments[0].launches == 0 and {node.kernel for node in empty.nodes} == {""}


# -- plans and the record itself ---------------------------------------------------------------------------------


def test_a_plan_that_had_to_be_given_up(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clinfer.network.plans.plan_cache.PLAN_CAPACITY", 2)
    network = network_of(engine, _chain())
    told = [[segment.reason for segment in run_once(network, _rows(rows)).segments] for rows in (1, 2, 3, 1, 1, 3, 2)]
    assert told == [["first sight"]] * 3 + [["evicted"], [], [], ["evicted"]]


def test_kernels_and_launches_are_those_thatrun_once(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    network = network_of(engine, _branches())
    launched: list[str] = []
    enqueue_all = network.stream.enqueue_all

    def counted(launches: list[object]) -> None:
        launched.extend(kernel.entry for kernel, _ in launches)  # type: ignore[attr-defined,misc]
        enqueue_all(launches)  # type: ignore[arg-type]
    monkeypatch.setattr(network.stream, "enqueue_all", counted)
    for rows in ((2, 3), (40, 3), (0, 5)):
        record = run_once(network, _rows(*rows))
        assert sum(node.launches for node in record.nodes) == len(launched)
        names = [node.kernel for node in record.nodes for _ in range(node.launches)]
        assert all(entry.startswith(name) for entry, name in zip(launched, names, strict=True)), (launched, names)
        assert {node.form for node in record.nodes if node.kernel} <= {"agnostic"}
        launched.clear()


def test_kernels_for_the_only_shape_that_there_is(engine: Engine) -> None:
    x = ops.parameter([3, 8], np.float32)
    record = run_once(network_of(engine, ov.Model([ops.softmax(x, 1)], [x])), _rows(3))
    assert {(node.form, node.shape) for node in record.nodes} == {("static", "static output")}


def test_a_record_is_plain_data(engine: Engine) -> None:
    record = run_once(network_of(engine, _shapes_of()), _rows(2, 3))
    assert json.loads(json.dumps(asdict(record)))["segments"][0]["reason"] == "first sight"
    assert record and not NOTHING and record.plans_made == 1


def test_an_inference_that_failed_leaves_true_records_behind(engine: Engine) -> None:
    x, y = ops.parameter([-1, 8], np.float32), ops.parameter([-1, 8], np.float32)
    network = network_of(engine, ov.Model([ops.softmax(ops.add(x, y), 1)], [x, y]))
    run_once(network, _rows(2, 2))
    with pytest.raises(ClinferError):
        run_once(network, _rows(2, 3))
    assert run_once(network, _rows(2, 2)) is NOTHING
    assert _node(run_once(network, _rows(5, 5)), network.program.nodes[-1].primitive.origin).changed_shapes


def test_lines_of_the_ladder(engine: Engine, monkeypatch: pytest.MonkeyPatch,
                             capsys: pytest.CaptureFixture[str]) -> None:
    network = network_of(engine, _branches())
    run_once(network, _rows(2, 3))
    capsys.readouterr()
    monkeypatch.setenv("CLINFER_DEBUG", "1")
    run_once(network, _rows(4, 3))
    lines = [line for line in capsys.readouterr().err.splitlines() if "segment" in line]
    assert len(lines) == 1 and "planned (first sight), 2 of 4 primitives changed, 4 launches, " in lines[0]
    run_once(network, _rows(4, 3))
    assert "segment" not in capsys.readouterr().err
    monkeypatch.setenv("CLINFER_DEBUG", "3")
    run_once(network, _rows(4, 5))
    told = capsys.readouterr().err
    assert "Softmax left; shape not changed; inputs: changed nothing; memory " in told
    assert "inputs: changed shape of 0; memory " in told
