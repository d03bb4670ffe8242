"""From OpenVINO's model to a topology: every operation goes through the converter of its operation."""
from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError, OpenRankError, UnsupportedError
from clinfer.base.schema import check_fields
from clinfer.frontend.bodies import source_body
from clinfer.frontend.conversions import (
    all_nodes,
    bodies_of,
    constant_values,
    element_type_of,
    identity_of,
    is_constant,
    is_on_device,
    layer_of,
    shape_of,
    unpacked_values,
)
from clinfer.frontend.host_operations import HostOperations, OpenVinoFunction, isolated
from clinfer.frontend.memory_types import is_surface
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.ops import CONVERTERS
from clinfer.ops.operation import Converter, attributes_of
from clinfer.topology import Constant, Input, Port, Primitive, SourceBody, SourceNode, Topology

_STRUCTURE = {"Parameter", "Constant", "Result"}


@dataclass(frozen=True)
class SourceModel:
    """A topology with the names of its inputs and outputs in the order of the model's ports."""

    topology: Topology
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def to_topology(model: ov.Model, converters: Mapping[str, Converter] = CONVERTERS,
                host: HostOperations | None = None) -> SourceModel:
    """The topology of a model. Constants share the model's memory.

    Inputs and outputs are named by tensor names, where there are none by layer names; primitives by
    layer names made unique. What cannot be converted becomes an operation of `host`. Errors: ClinferError that lists
    every operation without a converter, or what a converter or an element type says of one layer, where there is no
    `host`; or what that says of a layer.
    """
    if host is None:
        _check_supported(model, converters)
    return _Reader(model, converters, host).read()


def single_layers(model: ov.Model,
                  converters: Mapping[str, Converter] = CONVERTERS,
                  host: HostOperations | None = None,
                  names: Container[str] | None = None) -> Iterator[tuple[str, Topology | ClinferError]]:
    """Every operation of a model by its layer name (`names`: those alone), as a topology of its own: what it reads are
    constants, where the model has them, and inputs. A ClinferError in its place says why it cannot be converted."""
    for node in model.get_ordered_ops():
        if node.get_type_name() not in _STRUCTURE and (names is None or node.get_friendly_name() in names):
            try:
                yield node.get_friendly_name(), _LayerReader(model, converters, host).read_layer(node)
            except ClinferError as error:
                yield node.get_friendly_name(), error


class _Reader:
    """Reads one model or body, whose ids are a namespace of their own."""

    def __init__(self, model: ov.Model, converters: Mapping[str, Converter], host: HostOperations | None) -> None:
        self._model = model
        self._converters = converters
        self._host = host
        self._ids = _UniqueNames()
        self._id_of: dict[int, str] = {}
        self._folded: dict[tuple[int, int], Port] = {}
        self._primitives: list[Primitive] = []

    def read(self) -> SourceModel:
        inputs = tuple(self._read_parameter(node) for node in self._model.get_parameters())
        for node in self._model.get_ordered_ops():
            if is_constant(node):
                if is_on_device(node.get_element_type()):
                    self._read_constant(node)
            elif node.get_type_name() not in _STRUCTURE:
                self._read_operation(node)
        outputs = self._read_results()
        read = {port.primitive for p in self._primitives for port in p.inputs}
        read |= {port.primitive for port in outputs.values()}
        kept = [p for p in self._primitives if p.id in read or not isinstance(p, Constant)]
        return SourceModel(Topology(*kept, outputs=outputs), inputs, tuple(outputs))

    def _read_parameter(self, node: ov.op.Parameter) -> str:
        port = node.output(0)
        id = self._name(node, port.get_any_name() if port.get_names() else node.get_friendly_name())
        self._primitives.append(Input(
            id, origin=node.get_friendly_name(), shape=shape_of(port.get_partial_shape()),
            element_type=element_type_of(port.get_element_type(), layer_of(node)), is_surface=is_surface(node)))
        return id

    def _read_constant(self, node: ov.op.Constant) -> None:
        kind = element_type_of(node.get_element_type(), layer_of(node))
        _check_on_device(kind, node)
        name = node.get_friendly_name()
        self._primitives.append(Constant(self._name(node, name), origin=name, element_type=kind,
                                         value=constant_values(node, layer_of(node))))

    def _read_operation(self, node: ov.Node) -> None:
        id = self._name(node, node.get_friendly_name())
        unpacked = unpacked_values(node)
        if unpacked is not None:
            self._add_folded(node, id, (unpacked,))
            return
        if self._host is None:
            self._primitives += self._converted(node, id)
            return
        refusal: ClinferError | None = None
        try:
            if node.get_type_name() in self._converters and not self._host.demands(node):
                self._primitives += self._converted(node, id)
                return
            refusal = _without_converter([node], f"model {self._model.get_friendly_name()!r}", self._converters)
        except OpenRankError:
            raise
        except ClinferError as error:
            refusal = error
        self._read_host_operation(self._host, node, id, refusal)

    def _converted(self, node: ov.Node, id: str) -> Sequence[Primitive]:
        source = self._source(node, id)
        for kind in (*source.input_types, *source.output_types):
            _check_on_device(kind, node)
        try:
            converted = self._converters[source.type_name](source)
        except ClinferError as error:
            raise error.at(layer_of(node)) from None
        made = [converted] if isinstance(converted, Primitive) else converted
        for primitive in made:
            _check_attributes(primitive, node)
        return made

    def _read_host_operation(self, host: HostOperations, node: ov.Node, id: str, refusal: ClinferError | None) -> None:
        """Let the host compute a node, of which `refusal` says why nothing else does."""
        try:
            values = host.fold(node)
            if values is None:
                inputs = [self._port(port) for port in node.input_values() if not is_constant(port.get_node())]
                self._primitives.append(host.primitive(node, id, inputs))
                return
        except ClinferError as error:
            if refusal is None:
                raise
            raise refusal.beside({"on the host": error.what, **error.values}) from None
        self._add_folded(node, id, values)

    def _add_folded(self, node: ov.Node, id: str, values: Sequence[np.ndarray]) -> None:
        """Constants in the place of a node's outputs."""
        for index, (port, value) in enumerate(zip(node.outputs(), values, strict=True)):
            name = self._ids.take(f"{id}/{index}")
            self._primitives.append(Constant(name, origin=node.get_friendly_name(), value=value,
                                             element_type=element_type_of(port.get_element_type(), layer_of(node))))
            self._folded[identity_of(port)] = Port(name)

    def _source(self, node: ov.Node, id: str) -> SourceNode:
        inputs, outputs, where = node.inputs(), node.outputs(), layer_of(node)
        return SourceNode(
            id, node.get_friendly_name(), node.get_type_name(), node.get_type_info().version_id,
            {name.replace("-", "_"): value for name, value in node.get_attributes().items()},
            self._ports(node), tuple(shape_of(port.get_partial_shape()) for port in inputs),
            tuple(element_type_of(port.get_element_type(), where) for port in inputs),
            tuple(shape_of(port.get_partial_shape()) for port in outputs),
            tuple(element_type_of(port.get_element_type(), where) for port in outputs),
            _ConstantInputs(node), self._bodies(node), tuple(bool(port.get_target_inputs()) for port in outputs),
            lambda: OpenVinoFunction(None, isolated(node)))

    def _bodies(self, node: ov.Node) -> tuple[SourceBody, ...]:
        return tuple(self._body(node, index, body) for index, body in enumerate(bodies_of(node)))

    def _body(self, node: ov.Node, index: int, body: ov.Model) -> SourceBody:
        try:
            inner = _Reader(body, self._converters, self._host).read()
        except ClinferError as error:
            raise error.at(f"body {index} of {layer_of(node)}") from None
        return source_body(node, index, inner.topology, inner.inputs, inner.outputs)

    def _read_results(self) -> dict[str, Port]:
        names = _UniqueNames()
        outputs = {}
        for node in self._model.get_results():
            port = node.output(0)
            name = port.get_any_name() if port.get_names() else node.input_value(0).get_node().get_friendly_name()
            outputs[names.take(name)] = self._port(node.input_value(0))
        return outputs

    def _name(self, node: ov.Node, wish: str) -> str:
        id = self._ids.take(wish)
        self._id_of[node.get_instance_id()] = id
        return id

    def _ports(self, node: ov.Node) -> tuple[Port, ...]:
        try:
            return tuple(self._port(port) for port in node.input_values())
        except UnsupportedError as error:
            raise error.at(layer_of(node)) from None

    def _port(self, port: ov.Output) -> Port:
        instance, index = identity_of(port)
        if instance not in self._id_of:
            raise _refused_constant(port)
        return self._folded.get((instance, index)) or Port(self._id_of[instance], index)


class _LayerReader(_Reader):
    """Reads one operation out of its model."""

    def __init__(self, model: ov.Model, converters: Mapping[str, Converter], host: HostOperations | None) -> None:
        super().__init__(model, converters, host)
        self._sources: dict[tuple[int, int], Port] = {}

    def read_layer(self, node: ov.Node) -> Topology:
        if self._host is None:
            _check_operations([node, *(inner for body in bodies_of(node) for inner in all_nodes(body))],
                              layer_of(node), self._converters)
        for port in node.input_values():
            if is_constant(port.get_node()) and identity_of(port) not in self._sources:
                if is_on_device(port.get_element_type()):
                    self._read_constant(port.get_node())
                    self._sources[identity_of(port)] = Port(self._primitives[-1].id)
            elif identity_of(port) not in self._sources:
                self._sources[identity_of(port)] = self._read_source(port)
        self._read_operation(node)
        return Topology(*self._primitives)

    def _read_source(self, port: ov.Output) -> Port:
        source = port.get_node()
        id = self._ids.take(source.get_friendly_name())
        self._primitives.append(Input(id, shape=shape_of(port.get_partial_shape()),
                                      element_type=element_type_of(port.get_element_type(), layer_of(source))))
        return Port(id)

    def _port(self, port: ov.Output) -> Port:
        if identity_of(port) not in self._sources:
            raise _refused_constant(port)
        return self._sources[identity_of(port)]


class _UniqueNames:
    """Gives each name out once; later wishes for it get a number behind it."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, wish: str) -> str:
        name, count = wish, 2
        while name in self._taken:
            name, count = f"{wish}_{count}", count + 1
        self._taken.add(name)
        return name


class _ConstantInputs(Mapping[int, np.ndarray]):
    """The values of a node's constant inputs, read when they are asked for."""

    def __init__(self, node: ov.Node) -> None:
        sources = [port.get_node() for port in node.input_values()]
        self._nodes = {index: source for index, source in enumerate(sources) if is_constant(source)}

    def __getitem__(self, index: int) -> np.ndarray:
        return constant_values(self._nodes[index], layer_of(self._nodes[index]))

    def __iter__(self) -> Iterator[int]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)


def _refused_constant(port: ov.Output) -> UnsupportedError:
    return UnsupportedError(f"devices have no tensors of type {port.get_element_type().get_type_name()}",
                            where=layer_of(port.get_node()))


def _check_on_device(kind: ElementType, node: ov.Node) -> None:
    if kind.is_on_host_only:
        raise UnsupportedError(f"devices have no tensors of type {kind}", where=layer_of(node))


def _check_attributes(primitive: Primitive, node: ov.Node) -> None:
    try:
        check_fields(type(primitive), dict(attributes_of(primitive)))
    except TypeError as error:
        raise ClinferError(f"an attribute that the operation cannot have: {error}", where=layer_of(node)) from None


def _check_supported(model: ov.Model, converters: Mapping[str, Converter]) -> None:
    _check_operations(all_nodes(model), f"model {model.get_friendly_name()!r}", converters)


def _check_operations(nodes: Iterable[ov.Node], where: str, converters: Mapping[str, Converter]) -> None:
    refusal = _without_converter(nodes, where, converters)
    if refusal is not None:
        raise refusal


def _without_converter(nodes: Iterable[ov.Node], where: str,
                       converters: Mapping[str, Converter]) -> UnsupportedError | None:
    """What refuses a model for operations among nodes that have no converters; None if there are none."""
    missing: dict[str, list[str]] = {}
    for node in nodes:
        if node.get_type_name() not in _STRUCTURE and node.get_type_name() not in converters:
            kind = f"{node.get_type_name()} ({node.get_type_info().version_id})"
            missing.setdefault(kind, []).append(node.get_friendly_name())
    if not missing:
        return None
    return UnsupportedError(
        f"the model has operations that clinfer does not support: {', '.join(sorted(missing))}",
        where=where,
        values={kind: f"{len(layers)} x: {', '.join(layers)}" for kind, layers in sorted(missing.items())},
        hint="leave these layers out at export, or run the model in parts; `clinfer operations` lists what "
             "is there")
