"""Loops whose conditions compare counters with limits, as TensorFlow writes every loop: how often they run is known
before the first run, and nobody waits for the condition behind each."""
from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clinfer.frontend.conversions import bodies_of, identity_of, sources_of
from clinfer.frontend.known_values import known_value
from clinfer.frontend.openvino_import import openvino as ov

# What limits are made of: sizes, numbers, and arithmetic on them.
_OF_SIZES = {"Parameter", "Constant", "ShapeOf", "Gather", "Slice", "StridedSlice", "Squeeze", "Unsqueeze", "Reshape",
             "Convert", "Add", "Subtract", "Multiply", "Divide", "Minimum", "Maximum"}
_ONE_ELEMENT = (ov.PartialShape([]), ov.PartialShape([1]))


class _Comparison(NamedTuple):
    """A counter that goes in this direction is compared with a limit, which it may reach or not."""

    direction: int
    is_limit_in: bool


_COMPARISONS = {"Less": _Comparison(1, False), "LessEqual": _Comparison(1, True),
                "Greater": _Comparison(-1, False), "GreaterEqual": _Comparison(-1, True)}


@dataclass(frozen=True)
class _Count:
    """A loop runs until `first`, to which each run adds `step`, reaches `limit` (`is_limit_in`: leaves it behind)."""

    first: ov.Output
    step: int
    limit: ov.Output
    is_limit_in: bool


def count_loops(model: ov.Model) -> None:
    """Put the number of runs in the place of conditions that follow from it, in bodies too."""
    for node in model.get_ordered_ops():
        for body in bodies_of(node):
            count_loops(body)
        if node.get_type_name() == "Loop":
            _count(node)


def _count(loop: ov.Node) -> None:
    body, place = loop.get_function(), loop.get_special_body_ports()[1]
    result, trips = body.get_results()[place], known_value(loop.input_value(0))
    if trips is None or _is_read(loop, place):
        return
    counts = [_counted(loop, term) for term in _terms(result.input_value(0))]
    if None in counts:
        return
    number = _least([_runs(each) for each in counts if each is not None],
                    int(trips.reshape(-1)[0]) if trips.size == 1 else -1)
    condition = ov.op.Constant(ov.Type.boolean, result.get_output_shape(0), [True])
    result.input(0).replace_source_output(condition.output(0))
    loop.input(0).replace_source_output(number)
    body.validate_nodes_and_infer_types()
    loop.validate_and_infer_types()


def _is_read(loop: ov.Node, place: int) -> bool:
    """Whether a result of the body is a state or an output, too."""
    descriptions = [*loop.get_input_descriptions(), *loop.get_output_descriptions()]
    return any(getattr(each, "body_value_index", None) == place for each in descriptions)


def _terms(condition: ov.Output) -> list[ov.Output]:
    """What must all be true."""
    node = condition.get_node()
    if node.get_type_name() == "LogicalAnd" and condition.get_partial_shape() in _ONE_ELEMENT:
        return [term for value in node.input_values() for term in _terms(value)]
    return [condition]


def _counted(loop: ov.Node, term: ov.Output) -> _Count | None:
    """How a part of the condition counts; None if it does not."""
    comparison = _COMPARISONS.get(term.get_node().get_type_name())
    if comparison is None or term.get_partial_shape() not in _ONE_ELEMENT:
        return None
    following, limit = term.get_node().input_values()
    first, bound = _first(loop, following), _outside(loop, limit)
    step = 0 if first is None else _step(following)
    if first is None or bound is None or step * comparison.direction <= 0:
        return None
    return _Count(first, step, bound, comparison.is_limit_in)


def _step(following: ov.Output) -> int:
    """What is added to the counter; 0 if that is not known."""
    value = known_value(following.get_node().input_value(1))
    if value is None or value.size != 1 or not following.get_element_type().is_integral_number():
        return 0
    return int(value.reshape(-1)[0])


def _first(loop: ov.Node, following: ov.Output) -> ov.Output | None:
    """What a counter is at first, if this is what it is in the next run: itself and something."""
    if following.get_node().get_type_name() != "Add":
        return None
    parameters, results = loop.get_function().get_parameters(), loop.get_function().get_results()
    counter = identity_of(following.get_node().input_value(0))
    for each in loop.get_input_descriptions():
        if (isinstance(each, ov.op.util.MergedInputDescription)
                and identity_of(parameters[each.body_parameter_index].output(0)) == counter
                and identity_of(results[each.body_value_index].input_value(0)) == identity_of(following)):
            return loop.input_value(each.input_index)
    return None


def _outside(loop: ov.Node, limit: ov.Output) -> ov.Output | None:
    """A value of the body as one outside of it, if it is the same in all runs."""
    sources = list(sources_of(limit.get_node(), lambda node: False))
    if any(source.get_type_name() not in _OF_SIZES for source in sources):
        return None
    body = loop.get_function()
    given = {identity_of(body.get_parameters()[each.body_parameter_index].output(0)): loop.input_value(each.input_index)
             for each in loop.get_input_descriptions() if isinstance(each, ov.op.util.InvariantInputDescription)}
    if any(source.get_type_name() == "Parameter" and identity_of(source.output(0)) not in given for source in sources):
        return None
    alone = ov.Model([ov.op.Result(limit)], body.get_parameters()).clone()
    for inner, outer in zip(body.get_parameters(), alone.get_parameters(), strict=True):
        if identity_of(inner.output(0)) in given:
            outer.output(0).replace(given[identity_of(inner.output(0))])
    return alone.get_results()[0].input_value(0)


def _runs(count: _Count) -> ov.Output:
    """The runs behind which the counter has reached its limit: one at least, since it is looked at behind each."""
    first, limit, step = _as_number(count.first), _as_number(count.limit), abs(count.step)
    way = ov.opset13.subtract(limit, first) if count.step > 0 else ov.opset13.subtract(first, limit)
    rounded_up = ov.opset13.add(way, np.int64(step if count.is_limit_in else step - 1))
    return ov.opset13.maximum(ov.opset13.divide(rounded_up, np.int64(step)), np.int64(1)).output(0)


def _as_number(port: ov.Output) -> ov.Node:
    return ov.opset13.reshape(ov.opset13.convert(port, ov.Type.i64), np.zeros(0, np.int64), False)


def _least(runs: list[ov.Output], trips: int) -> ov.Output:
    """The least of numbers, and of a trip count that is not negative; a constant if it is known."""
    if trips >= 0:
        runs = [*runs, ov.opset13.constant(np.int64(trips)).output(0)]
    least = runs[0]
    for other in runs[1:]:
        least = ov.opset13.minimum(least, other).output(0)
    value = known_value(least)
    return least if value is None else ov.opset13.constant(value).output(0)
