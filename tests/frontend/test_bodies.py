"""How bodies are joined to their operations: ports of loops, names of results, types of Parameters."""
from __future__ import annotations

import numpy as np
from openvino import opset13 as op

from clinfer.frontend.bodies import typed
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.reader import to_topology
from clinfer.frontend.transformations import prepare
from clinfer.topology import Constant, Joining, Port, Slicing
from tests.frontend.models import parameter, result


def test_loops_say_how_their_runs_hang_together() -> None:
    trips, x, start = parameter("trips", [], "i64"), parameter("x", [-1, 6]), parameter("start", [-1, 1])
    counter, part, state = op.parameter([], np.int64), op.parameter([-1, 2]), op.parameter([-1, 1])
    new = op.add(state, op.reduce_sum(part, np.array([1]), True))
    body = ov.Model([op.constant(np.array([True])), new, new, op.exp(part)], [part, counter, state])
    loop = op.loop(trips, op.constant(np.array([True])))
    loop.set_function(body)
    loop.set_special_body_ports([1, 0])
    loop.set_sliced_input(part, x.output(0), -1, -2, 2, 0, 1)
    loop.set_merged_input(state, start.output(0), body.results[2].output(0))
    loop.set_output_descriptions([ov.op.util.BodyOutputDescription(2, 0, -1),
                                  ov.op.util.ConcatOutputDescription(3, 1, -1, -2, 2, 0, 1)])
    loop.validate_and_infer_types()
    loop.set_friendly_name("loop")
    model = to_topology(ov.Model([result(loop.output(k), f"y{k}") for k in range(2)], [trips, x, start]))
    node = model.topology["loop"]
    (source,) = node.bodies
    ports = source.loop
    slice_name, counter_name, state_name = (p.id for p in source.topology.inputs)
    assert [node.inputs[source.inputs[name]] for name in (slice_name, state_name)] == [Port("x"), Port("start")]
    assert set(source.inputs) == {slice_name, state_name}
    assert ports.sliced == {slice_name: Slicing(1, -1, 0, 2, True)} and ports.joined == {1: Joining(1, True)}
    assert ports.carried == {state_name: source.outputs[0]} and ports.counter == counter_name
    outputs = source.topology.outputs
    assert source.outputs[0] == next(n for n, p in outputs.items() if p == outputs[source.outputs[0]])
    assert isinstance(source.topology[outputs[ports.condition].primitive], Constant)


def test_bodies_without_types_get_those_of_their_inputs() -> None:
    x = parameter("x", [4, 2])
    part = ov.op.Parameter(ov.Type.dynamic, ov.PartialShape([1, 2]))
    loop = op.tensor_iterator()
    body = ov.Model([op.result(op.negative(part))], [part])
    loop.set_function(body)
    loop.set_sliced_input(part, x.output(0), 0, 1, 1, -1, 0)
    y = loop.get_concatenated_slices(body.results[0].output(0), 0, 1, 1, -1, 0)
    model = ov.Model([result(y, "y")], [x])
    assert model.outputs[0].get_element_type().is_dynamic()
    assert typed(model).outputs[0].get_element_type() == ov.Type.f32
    assert prepare(model).outputs[0].get_element_type() == ov.Type.f32
    assert model.outputs[0].get_element_type().is_dynamic()
    assert part.get_element_type().is_dynamic() and typed(typed(model)) is not model
