"""Loops that do not run: their states stay what they were. OpenVINO takes states away that the body does not read."""
from __future__ import annotations

import numpy as np

from clinfer.frontend.conversions import bodies_of
from clinfer.frontend.known_values import known_value
from clinfer.frontend.openvino_import import openvino as ov


def keep_idle_states(model: ov.Model) -> None:
    """Put the first values of states in the place of what loops without runs give, and let bodies of those that may
    have none read all states; in bodies too."""
    for node in model.get_ordered_ops():
        for body in bodies_of(node):
            keep_idle_states(body)
        if node.get_type_name() == "Loop":
            limits = [known_value(node.input_value(index)) for index in (0, 1)]
            known = [bool(limit.all()) for limit in limits if limit is not None]
            if not all(known):
                _pass_by(node)
            elif len(known) < 2:
                _read_states(node)


def _states(loop: ov.Node) -> list[ov.op.util.MergedInputDescription]:
    return [d for d in loop.get_input_descriptions() if isinstance(d, ov.op.util.MergedInputDescription)]


def _pass_by(loop: ov.Node) -> None:
    firsts = {d.body_value_index: loop.input_value(d.input_index) for d in _states(loop)}
    for d in loop.get_output_descriptions():
        if isinstance(d, ov.op.util.BodyOutputDescription) and d.body_value_index in firsts:
            loop.output(d.output_index).replace(firsts[d.body_value_index])


def _read_states(loop: ov.Node) -> None:
    """Those that are not read, where no run can tell."""
    body = loop.get_function()
    parameters, results = body.get_parameters(), body.get_results()
    unread = [(parameters[d.body_parameter_index], results[d.body_value_index]) for d in _states(loop)
              if not parameters[d.body_parameter_index].output(0).get_target_inputs()]
    if unread:
        count = loop.input_value(0)
        has_runs = ov.opset13.not_equal(count, np.zeros((), count.get_element_type().to_dtype()))
        inner = ov.op.Parameter(ov.Type.boolean, has_runs.get_output_partial_shape(0))
        body.add_parameters([inner])
        loop.set_invariant_input(inner, has_runs.output(0))
        # Until a source is replaced, OpenVINO keeps the order of nodes in which it has listed them before.
        loop.input(0).replace_source_output(count)
        for state, result in unread:
            result.input(0).replace_source_output(_choice(inner, result.input_value(0), state.output(0)))
        body.validate_nodes_and_infer_types()
        loop.validate_and_infer_types()


def _choice(condition: ov.Node, one: ov.Output, other: ov.Output) -> ov.Output:
    chosen = ov.opset13.if_op(condition.output(0))
    given = [ov.op.Parameter(port.get_element_type(), port.get_partial_shape()) for port in (one, other)]
    results = [ov.op.Result(each.output(0)) for each in given]
    chosen.set_then_body(ov.Model(results[:1], given[:1]))
    chosen.set_else_body(ov.Model(results[1:], given[1:]))
    chosen.set_input(one, given[0], None)
    chosen.set_input(other, None, given[1])
    return chosen.set_output(*results)
