"""The contract of plans on the cases that break simpler designs."""
from __future__ import annotations

import threading

import numpy as np
import pytest
from openvino import opset13 as ops

from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.network import Network
from clinfer.runtime.engine import Engine
from tests.network.running import check, network_of
from tests.ops.case_runner import execute
from tests.oracle import CpuPlugin, ov


def _floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def test_the_same_shapes_with_other_reshape_values(engine: Engine, rng: np.random.Generator) -> None:
    x, pattern = ops.parameter([-1, -1], np.float32), ops.parameter([3], np.int64)
    model = ov.Model([ops.relu(ops.reshape(x, pattern, False))], [x, pattern])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    for shape in ([2, 3, 4], [4, 3, 2], [1, 24, 1], [2, 3, 4], [24, 1, -1]):
        check(network, oracle, [_floats(rng, 4, 6), np.array(shape, np.int64)])
    assert network.plans_made == 4


def test_plans_keep_nothing_of_the_caller_s_values(engine: Engine, rng: np.random.Generator) -> None:
    x, pattern = ops.parameter([24], np.float32), ops.parameter([2], np.int64)
    same = ops.squeeze(ops.unsqueeze(pattern, ops.constant([0], np.int64)), ops.constant([0], np.int64))
    model = ov.Model([ops.relu(ops.reshape(x, same, False)), ops.convert(same, "f32")], [x, pattern])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    x_name, pattern_name = network.program.inputs
    given = _floats(rng, 24)
    memories = [engine.allocate_bytes(96), engine.allocate_bytes(16)]
    network.stream.write(memories[0], given, blocking=True)
    network.set_input(x_name, memories[0], (24,))
    first, second = np.array([4, 6], np.int64), np.array([4, 6], np.int64)
    for values in (first, second):
        network.stream.write(memories[1], values, blocking=True)
        network.set_input(pattern_name, memories[1], (2,), values)
        got = [output.to_numpy() for output in network.execute().values()]
        for actual, wanted in zip(got, oracle([given, values]), strict=True):
            np.testing.assert_allclose(actual, wanted, atol=1e-6, strict=True)
        values[:] = [12, 2]
    assert (network.plans_made, network.plans_reused) == (1, 1)


def test_a_value_computed_on_the_device_decides_a_shape(engine: Engine, rng: np.random.Generator) -> None:
    x = ops.parameter([-1, -1], np.float32)
    count = ops.convert(ops.reduce_sum(ops.convert(ops.greater(x, np.float32(0)), "i32"), [0, 1], True), "i64")
    end = ops.reshape(count, ops.constant([1], np.int64), False)
    flat = ops.reshape(x, ops.constant([-1], np.int64), False)
    kept = ops.slice(flat, ops.constant([0], np.int64), end, ops.constant([1], np.int64))
    model = ov.Model([ops.multiply(kept, np.float32(2))], [x])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    assert len(network.program.segments) > 1
    for shape in ((4, 6), (3, 3), (4, 6), (1, 40)):
        check(network, oracle, [_floats(rng, *shape)])


def test_nonzero_followed_by_gather(engine: Engine, rng: np.random.Generator) -> None:
    x = ops.parameter([-1], np.float32)
    where = ops.reshape(ops.non_zero(ops.greater(x, np.float32(0.2)), "i64"), ops.constant([-1], np.int64), False)
    model = ov.Model([ops.multiply(ops.gather(x, where, np.int64(0)), np.float32(3)), where], [x])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    for length in (50, 7, 50, 1, 200):
        check(network, oracle, [_floats(rng, length)])
    check(network, oracle, [np.zeros(5, np.float32)])
    check(network, oracle, [_floats(rng, 50)])


def _if_model() -> ov.Model:
    condition, x = ops.parameter([1], bool), ops.parameter([-1, 4], np.float32)
    then_x, else_x = ops.parameter([-1, 4], np.float32), ops.parameter([-1, 4], np.float32)
    then_result = ops.result(ops.concat([then_x, ops.exp(then_x)], 0))
    else_result = ops.result(ops.reduce_sum(else_x, ops.constant([0], np.int64), True))
    chosen = ops.if_op(condition)
    chosen.set_then_body(ov.Model([then_result], [then_x]))
    chosen.set_else_body(ov.Model([else_result], [else_x]))
    chosen.set_input(x.output(0), then_x, else_x)
    return ov.Model([ops.multiply(chosen.set_output(then_result, else_result), np.float32(2))], [condition, x])


def test_branches_of_an_if_with_different_shapes(engine: Engine, rng: np.random.Generator) -> None:
    model = _if_model()
    network, oracle = network_of(engine, model), CpuPlugin(model)
    for condition, rows in ((True, 3), (False, 3), (True, 3), (True, 5), (False, 1)):
        check(network, oracle, [np.array([condition]), _floats(rng, rows, 4)])


def test_an_input_buffer_replaced_between_inferences(engine: Engine, rng: np.random.Generator) -> None:
    x = ops.parameter([2, 8], np.float32)
    model = ov.Model([ops.softmax(ops.relu(x), 1)], [x])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    name = next(iter(network.program.inputs))
    layout = Layout.planar((2, 8), network.program.inputs[name].element_type)
    memories = [engine.allocate_memory(layout) for _ in range(3)]
    for turn in range(6):
        array, memory = _floats(rng, 2, 8), memories[turn % 3]
        network.stream.write(memory, array, blocking=True)
        network.set_input(name, memory, (2, 8))
        got = next(iter(network.execute().values())).to_numpy()
        assert np.allclose(got, oracle([array])[0], atol=1e-5)
    assert network.plans_made == 1


def test_growing_and_shrinking_shapes_through_one_network(engine: Engine, rng: np.random.Generator) -> None:
    x = ops.parameter([-1, -1, 5], np.float32)
    y = ops.relu(ops.add(x, np.float32(0.5)))
    model = ov.Model([ops.softmax(ops.multiply(y, ops.exp(x)), 1), y], [x])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    for rows, columns in rng.integers(1, 30, (12, 2)).tolist() * 2:
        check(network, oracle, [_floats(rng, rows, columns, 5)])


def test_shape_subgraphs_never_reach_the_device(engine: Engine, rng: np.random.Generator) -> None:
    x = ops.parameter([-1, -1, 4], np.float32)
    shape = ops.shape_of(x, "i64")
    rows = ops.gather(shape, ops.constant([0], np.int64), np.int64(0))
    columns = ops.gather(shape, ops.constant([1], np.int64), np.int64(0))
    target = ops.concat([ops.multiply(rows, columns), ops.constant([2, 2], np.int64)], 0)
    model = ov.Model([ops.relu(ops.reshape(x, target, False))], [x])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    assert len(network.program.segments) == 1
    launched = {type(n.primitive).__name__ for n in network.program.nodes if n.implementations}
    assert len(launched) == 1, f"only the activation needs a kernel, got {launched}"
    for size in ((2, 3, 4), (5, 1, 4), (2, 3, 4)):
        check(network, oracle, [_floats(rng, *size)])


def test_outputs_that_are_inputs_constants_or_the_same_tensor(engine: Engine, rng: np.random.Generator) -> None:
    x = ops.parameter([-1, 3], np.float32)
    y = ops.relu(x)
    flat = ops.reshape(y, ops.constant([-1], np.int64), False)
    model = ov.Model([ops.result(v) for v in (x, y, y, flat, ops.constant(np.arange(4, dtype=np.float32)),
                                              ops.shape_of(x, "i64"))], [x])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    for rows in (2, 7, 2):
        check(network, oracle, [_floats(rng, rows, 3)])


def test_zero_sized_tensors(engine: Engine, rng: np.random.Generator) -> None:
    x = ops.parameter([-1, 3], np.float32)
    model = ov.Model([ops.multiply(ops.relu(x), np.float32(2))], [x])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    for rows in (2, 0, 5):
        check(network, oracle, [_floats(rng, rows, 3)])


def test_events_order_an_execution(engine: Engine, rng: np.random.Generator) -> None:
    x = ops.parameter([4], np.float32)
    network = network_of(engine, ov.Model([ops.multiply(x, np.float32(2))], [x]))
    name, declared = next(iter(network.program.inputs.items()))
    memory = engine.allocate_memory(Layout.planar((4,), declared.element_type))
    writer = engine.create_stream()
    array = _floats(rng, 4)
    writer.write(memory, array)
    network.set_input(name, memory, (4,))
    output = next(iter(network.execute(dependencies=[writer.marker()]).values()))
    output.event.wait()
    assert np.allclose(output.to_numpy(), array * 2)


def test_one_program_serves_networks_in_four_threads(engine: Engine) -> None:
    x = ops.parameter([-1, 16], np.float32)
    model = ov.Model([ops.softmax(ops.relu(ops.add(x, np.float32(1))), 1)], [x])
    first, oracle = network_of(engine, model), CpuPlugin(model)
    failures: list[BaseException] = []
    lock = threading.Lock()

    def work(seed: int) -> None:
        random = np.random.default_rng(seed)
        try:
            network = Network(first.program, engine.create_stream(), OpenVinoShapeInference())
            for _ in range(10):
                array = _floats(random, int(random.integers(1, 9)), 16)
                got = execute(network, [array])[0]
                with lock:
                    wanted = oracle([array])[0]
                assert np.allclose(got, wanted, atol=1e-5)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not failures and not any(t.is_alive() for t in threads)


def test_errors_leave_the_network_usable(engine: Engine, rng: np.random.Generator) -> None:
    x = ops.parameter([ov.Dimension(1, 8), 3], np.float32)
    model = ov.Model([ops.relu(x)], [x])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    check(network, oracle, [_floats(rng, 2, 3)])
    with pytest.raises(ClinferError, match=r"outside what the model declares[^$]*1\.\.8"):
        execute(network, [_floats(rng, 9, 3)])
    with pytest.raises(ClinferError, match="no input 'nonsense'"):
        network.set_input("nonsense", engine.allocate_bytes(4), (1,))
    check(network, oracle, [_floats(rng, 8, 3)])


def test_missing_inputs_are_named(engine: Engine) -> None:
    x = ops.parameter([4], np.float32)
    x.set_friendly_name("picture")
    network = network_of(engine, ov.Model([ops.relu(x)], [x]))
    with pytest.raises(ClinferError, match=r"not every input was given[^$]*picture"):
        network.execute()


def test_values_that_only_the_host_reads_have_no_memory(engine: Engine, rng: np.random.Generator) -> None:
    """The pattern of a Reshape, computed from shapes and given by value."""
    x = ops.parameter([-1, -1, 4], np.float32)
    pattern = ops.concat([ops.gather(ops.shape_of(x, "i64"), [1], 0), np.array([-1], np.int64)], 0)
    model = ov.Model([ops.relu(ops.reshape(ops.relu(x), pattern, False))], [x])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    hosts = [tensor for node in network.program.nodes if node.kind == "host" for tensor in node.outputs]
    assert hosts and {network.program.tensors[t].storage for t in hosts} == {"host"}
    for size in ((2, 3, 4), (5, 1, 4), (2, 3, 4)):
        check(network, oracle, [_floats(rng, *size)])
