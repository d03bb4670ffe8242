"""How the bodies of If, Loop and TensorIterator are joined to them, as OpenVINO's descriptions tell it."""
from __future__ import annotations

from collections.abc import Mapping

from clinfer.base.errors import UnsupportedError
from clinfer.frontend.conversions import bodies_of, layer_of
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.topology import Joining, LoopPorts, Port, Slicing, SourceBody, Topology


def source_body(node: ov.Node, index: int, topology: Topology, inputs: tuple[str, ...],
                results: tuple[str, ...]) -> SourceBody:
    """Body `index` of a node; `inputs` and `results` name its Parameters and Results in their order.

    Results that are one tensor go by the first one's name. Errors: UnsupportedError for a loop that gives the
    result of a run that is not the last one, or slices with a stride of another size.
    """
    names = _names_by_tensor(topology.outputs, results)
    if node.get_type_name() == "If":
        taken, given, loop = node.get_input_descriptions(index), node.get_output_descriptions(index), None
    else:
        taken, given = node.get_input_descriptions(), node.get_output_descriptions()
        loop = _loop_ports(node, inputs, names)
    order = {int(d.output_index): names[d.body_value_index] for d in given}
    return SourceBody(topology, {inputs[d.body_parameter_index]: int(d.input_index) for d in taken},
                      tuple(order[k] for k in sorted(order)), loop)


def typed(model: ov.Model) -> ov.Model:
    """The model, or a clone with `give_types` if an output has no element type without it."""
    if not any(port.get_element_type().is_dynamic() for port in model.outputs):
        return model
    clone = model.clone()
    give_types(clone)
    return clone


def give_types(model: ov.Model) -> None:
    """Give Parameters of bodies that have no element type that of the input behind them."""
    for node in model.get_ordered_ops():
        for index, body in enumerate(bodies_of(node)):
            is_if = node.get_type_name() == "If"
            parameters, changed = body.get_parameters(), False
            for d in node.get_input_descriptions(index) if is_if else node.get_input_descriptions():
                parameter, kind = parameters[d.body_parameter_index], node.get_input_element_type(d.input_index)
                if parameter.get_element_type().is_dynamic() and not kind.is_dynamic():
                    parameter.set_element_type(kind)
                    changed = True
            if changed:
                body.validate_nodes_and_infer_types()
            give_types(body)
        node.validate_and_infer_types()


def _names_by_tensor(outputs: Mapping[str, Port], results: tuple[str, ...]) -> tuple[str, ...]:
    first: dict[Port, str] = {}
    return tuple(first.setdefault(outputs[name], name) for name in results)


def _loop_ports(node: ov.Node, inputs: tuple[str, ...], results: tuple[str, ...]) -> LoopPorts:
    sliced, carried, joined = {}, {}, {}
    for d in node.get_input_descriptions():
        name = inputs[d.body_parameter_index]
        if isinstance(d, ov.op.util.SliceInputDescription):
            _check_stride(node, d)
            sliced[name] = Slicing(int(d.axis), int(d.start), int(d.end), int(d.part_size), d.stride < 0)
        elif isinstance(d, ov.op.util.MergedInputDescription):
            carried[name] = results[d.body_value_index]
    for d in node.get_output_descriptions():
        if isinstance(d, ov.op.util.ConcatOutputDescription):
            joined[int(d.output_index)] = Joining(int(d.axis), d.stride < 0)
        elif d.iteration != -1:
            raise UnsupportedError("a loop that gives the result of a run other than the last is not supported",
                                   where=layer_of(node), values={"output": d.output_index, "run": d.iteration})
    counter, condition = node.get_special_body_ports() if node.get_type_name() == "Loop" else (-1, -1)
    return LoopPorts(sliced, carried, joined, "" if counter < 0 else inputs[counter],
                     "" if condition < 0 else results[condition])


def _check_stride(node: ov.Node, description: ov.op.util.SliceInputDescription) -> None:
    if abs(description.stride) != description.part_size:
        raise UnsupportedError(
            "a loop over slices that overlap or leave gaps is not supported", where=layer_of(node),
            values={"input": description.input_index, "stride": description.stride, "slice": description.part_size})
