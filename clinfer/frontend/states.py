"""Variables of a model (ReadValue, Assign) as inputs and outputs that the request keeps."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from clinfer.base.errors import UnsupportedError
from clinfer.base.shape import Dim, Shape
from clinfer.frontend.byte_rows import rows_let_go
from clinfer.frontend.caches import Cache, find_cache
from clinfer.frontend.conversions import (
    OPENVINO_ERRORS,
    all_nodes,
    bodies_of,
    element_type_of,
    is_output_of,
    layer_of,
    reason_of,
    shape_of,
)
from clinfer.frontend.host_operations import STATES, HostOperations
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.reader import SourceModel, to_topology
from clinfer.frontend.transformations import prepare
from clinfer.ops import CONVERTERS
from clinfer.ops.operation import Converter
from clinfer.topology import State, Topology


@dataclass(frozen=True)
class Separated:
    """A model without variables.

    Its last inputs and outputs stand for variables: `variables` by name, each with whether an output stands for its
    next value. `initial`: the model of their first values, in the order of `initialised`: by variables, those
    whose first values each is made of.
    """

    model: ov.Model
    variables: tuple[tuple[str, bool], ...] = ()
    initial: ov.Model | None = None
    initialised: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def read_source(model: ov.Model, precision: str = "f32", host: HostOperations | None = None,
                converters: Mapping[str, Converter] = CONVERTERS, cache_type: str = "") -> SourceModel:
    """The topology of a model, transformed for that precision, states included; the model stays as it is. `host`,
    `converters`: see `to_topology`. `cache_type`: see `find_cache`.

    Inputs and outputs of the result are those of the model. Errors: see `prepare`, `to_topology`, `separate_states`.
    """
    separated = separate_states(model)
    prepared = prepare(separated.model, precision)
    if not separated.variables:
        return to_topology(prepared, converters, host)
    names = [name for name, _ in separated.variables]
    changing = [name for name, changes in separated.variables if changes]
    inputs, outputs = len(prepared.inputs) - len(names), len(prepared.outputs) - len(changing)
    parameters = dict(zip(names, prepared.get_parameters()[inputs:], strict=True))
    results = dict(zip(changing, prepared.get_results()[outputs:], strict=True))
    first, beginnings = _read_initial(separated, precision, host, converters)
    declared = {name: _declared(name, parameter) for name, parameter in parameters.items()}
    caches = {name: find_cache(parameters[name], results[name], cache_type) for name in changing}
    prepared.validate_nodes_and_infer_types()
    with rows_let_go(prepared):
        source = to_topology(prepared, converters, host)
    made = dict(zip(changing, source.outputs[outputs:], strict=True))
    known = dict(zip((node.get_instance_id() for node in prepared.get_parameters()), source.inputs, strict=True))
    states = []
    for name, input in zip(names, source.inputs[inputs:], strict=True):
        begin, shape = beginnings.get(name, ("", None))
        state = replace(declared[name], input=input, output=made.get(name, ""), initial=begin,
                        begins_with=separated.initialised.get(name, ()))
        cache = caches.get(name)
        states.append(state if cache is None else _grown(state, cache, shape or state.blank, known))
    topology = Topology(*source.topology, outputs=source.topology.outputs, states=states, initial=first)
    return SourceModel(topology, source.inputs[:inputs], source.outputs[:outputs])


def separate_states(model: ov.Model) -> Separated:
    """A model with an input for each variable that is read, and an output for each that is assigned; as it is if it has
    no variables. Errors: UnsupportedError for variables in bodies, of open rank, or assigned twice."""
    if not has_states(model):
        return Separated(model)
    clone = model.clone()
    reads, assigns = _found(clone)
    initial, initialised = _initial_model(model)
    variables = []
    for name, nodes in reads.items():
        parameter = _parameter(nodes[0])
        for node in nodes:
            node.output(0).replace(parameter.output(0))
        clone.add_parameters([parameter])
        changes = name in assigns and not is_output_of(assigns[name].input_value(0), parameter)
        variables.append((name, changes))
    for name, changes in variables:
        if changes:
            result = ov.op.Result(assigns[name].input_value(0))
            result.set_friendly_name(assigns[name].get_friendly_name())
            clone.add_results([result])
    for node in assigns.values():
        clone.remove_sink(node)
    clone.validate_nodes_and_infer_types()
    return Separated(clone, tuple(variables), initial, initialised)


def has_states(model: ov.Model) -> bool:
    """Whether a model has variables, those of bodies included."""
    return any(node.get_type_name() in STATES for node in all_nodes(model))


def variable_of(node: ov.Node) -> str:
    """The variable that a ReadValue or Assign is about."""
    return str(node.get_attributes()["variable_id"])


def _found(model: ov.Model) -> tuple[dict[str, list[ov.Node]], dict[str, ov.Node]]:
    """Who reads and who assigns, by variable."""
    for node in model.get_ordered_ops():
        for body in bodies_of(node):
            inner = next((each for each in all_nodes(body) if each.get_type_name() in STATES), None)
            if inner is not None:
                raise UnsupportedError("a variable inside of a body is not supported", where=layer_of(node), values={
                    "variable": variable_of(inner), "layer": inner.get_friendly_name()},
                    hint="let the body take and give the value, and read and assign it outside")
    reads: dict[str, list[ov.Node]] = {}
    assigns: dict[str, ov.Node] = {}
    for node in model.get_ordered_ops():
        if node.get_type_name() == "ReadValue":
            reads.setdefault(variable_of(node), []).append(node)
        elif node.get_type_name() == "Assign":
            if variable_of(node) in assigns:
                raise UnsupportedError("a variable that is assigned twice is not supported", where=layer_of(node),
                                       values={"variable": variable_of(node)})
            assigns[variable_of(node)] = node
    order = [name for node in model.get_sinks() if (name := variable_of(node)) in reads]
    return {name: reads[name] for name in (*order, *reads)}, assigns


def _parameter(node: ov.Node) -> ov.op.Parameter:
    kind, shape = node.get_output_element_type(0), node.get_output_partial_shape(0)
    if shape.rank.is_dynamic:
        raise UnsupportedError("a variable whose rank is open is not supported", where=layer_of(node),
                               values={"variable": variable_of(node)},
                               hint="declare its shape when the model is exported")
    held = element_type_of(kind, layer_of(node))
    if held.is_packed or held.is_on_host_only:
        raise UnsupportedError("a variable of these elements is not supported", where=layer_of(node),
                               values={"variable": variable_of(node), "type": kind.get_type_name()})
    parameter = ov.op.Parameter(kind, shape)
    parameter.set_friendly_name(node.get_friendly_name())
    return parameter


def _initial_model(model: ov.Model) -> tuple[ov.Model | None, dict[str, tuple[str, ...]]]:
    """A model of its own that computes first values, with the Parameters that it needs; and the variables of which it
    does, each with those whose first values its own is made of."""
    clone = model.clone()
    nodes = [node for reads in _found(clone)[0].values() for node in reads]
    begun = {variable_of(node): node for node in nodes if node.get_input_size()}
    if not begun:
        return None, {}
    sources = {name: tuple(sorted({variable_of(other) for other in _above(node) if _is_read(other)}))
               for name, node in begun.items()}
    names = [node.output(0).get_names() or {node.get_friendly_name()} for node in clone.get_parameters()]
    for node in nodes:
        if variable_of(node) in begun:
            node.output(0).replace(begun[variable_of(node)].input_value(0))
    # What takes the place of a variable takes its names, too; inputs keep those by which the model's are known.
    for parameter, known in zip(clone.get_parameters(), names, strict=True):
        parameter.output(0).set_names(known)
    used = {other.get_instance_id(): other for node in begun.values() for other in _above(node)}
    blank = next((other for other in used.values() if _is_read(other)), None)
    if blank is not None:
        raise UnsupportedError("a variable whose first value is made of one without a first value is not supported",
                               where=layer_of(blank), values={"variable": variable_of(blank)})
    own = [node for node in clone.get_parameters() if node.get_instance_id() in used]
    try:
        results = [ov.op.Result(node.input_value(0)) for node in begun.values()]
        return ov.Model(results, own, "initial values").clone(), sources
    except OPENVINO_ERRORS as error:
        raise UnsupportedError("the first values of variables cannot be computed by themselves",
                               where=f"model {model.get_friendly_name()!r}",
                               values={"OpenVINO says": reason_of(error)}) from None


def _is_read(node: ov.Node) -> bool:
    return bool(node.get_type_name() == "ReadValue")


def _above(node: ov.Node) -> list[ov.Node]:
    """What a node is computed from."""
    found: dict[int, ov.Node] = {}
    waiting = [port.get_node() for port in node.input_values()]
    while waiting:
        one = waiting.pop()
        if one.get_instance_id() not in found:
            found[one.get_instance_id()] = one
            waiting += [port.get_node() for port in one.input_values()]
    return list(found.values())


def _read_initial(separated: Separated, precision: str, host: HostOperations | None,
                  converters: Mapping[str, Converter]) -> tuple[Topology | None, dict[str, tuple[str, Shape | None]]]:
    """What computes first values, and of each, by variables, the output and the shape."""
    if separated.initial is None:
        return None, {}
    prepared = prepare(separated.initial, precision)
    # What is left out gives its names to what it read; inputs keep those by which the model's are known.
    for parameter, known in zip(prepared.get_parameters(), separated.initial.get_parameters(), strict=True):
        parameter.output(0).set_names(known.output(0).get_names())
    source = to_topology(prepared, converters, host)
    shapes = [shape_of(node.get_output_partial_shape(0)) for node in prepared.get_results()]
    return source.topology, dict(zip(separated.initialised, zip(source.outputs, shapes, strict=True), strict=True))


def _declared(name: str, parameter: ov.op.Parameter) -> State:
    shape = shape_of(parameter.get_partial_shape())
    assert shape is not None
    return State(name, "", "", shape, element_type_of(parameter.get_element_type(), f"variable {name!r}"))


def _grown(state: State, cache: Cache, first: Shape, inputs: Mapping[int, str]) -> State:
    """A variable that grows, of a first value of that shape; `inputs`: the names of Parameters."""
    order = cache.order or tuple(range(len(state.shape)))
    by = "" if cache.selected_by is None else inputs[cache.selected_by.get_instance_id()]
    begin = first[order[0]]
    length = "" if isinstance(begin, Dim) else f"from {begin}"
    return replace(state, order=cache.order, grows=True, selected_by=by, kept_as=cache.kept_as,
                   sizes=(length, *(by if axis == 0 else "" for axis in order[1:])))
