"""A loop over the slices of tensors: what recurrent operators are made of."""
from __future__ import annotations

from collections.abc import Callable, Sequence

from clinfer.frontend.onnx.values import Value, op
from clinfer.frontend.openvino_import import openvino as ov


def scan(step: Callable[[list[Value], list[Value], list[Value]], tuple[list[Value], list[Value]]],
         states: Sequence[Value], slices: Sequence[Value], fixed: Sequence[Value] = (), *,
         reverse: bool = False) -> tuple[list[Value], list[Value]]:
    """Run `step` for every slice of one element along the first axis.

    `step` gets the states, the slices and what is fixed, and gives the next states and results, which are joined along
    that axis. Returns the last states and the joined results.
    """
    places = [_parameter(value) for value in states]
    parts = [_parameter(value, is_sliced=True) for value in slices]
    constants = [_parameter(value) for value in fixed]
    new, results = step([Value(p) for p in places], [Value(p) for p in parts], [Value(p) for p in constants])
    kept, made = [op.result(value.port) for value in new], [op.result(value.port) for value in results]
    loop = op.tensor_iterator()
    loop.set_body(ov.Model([*kept, *made], [*places, *parts, *constants]))
    for place, first, last in zip(places, states, kept, strict=True):
        loop.set_merged_input(place, first.port, last.output(0))
    # Start, step, length of a part, last place, and axis.
    way = (-1, -1, 1, 0, 0) if reverse else (0, 1, 1, -1, 0)
    for place, whole in zip(parts, slices, strict=True):
        loop.set_sliced_input(place, whole.port, *way)
    for place, value in zip(constants, fixed, strict=True):
        loop.set_invariant_input(place, value.port)
    last_states = [Value(loop.get_iter_value(result.output(0), -1)) for result in kept]
    joined = [Value(loop.get_concatenated_slices(result.output(0), *way)) for result in made]
    loop.validate_and_infer_types()
    return last_states, joined


def _parameter(value: Value, is_sliced: bool = False) -> ov.op.Parameter:
    shape = ov.PartialShape(value.port.get_partial_shape())
    if is_sliced:
        shape[0] = ov.Dimension(1)
    return op.parameter(shape, value.port.get_element_type())
