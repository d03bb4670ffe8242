"""ONNX's messages as far as nodes are concerned: graphs, nodes, attributes; whatever else they hold is kept as it is.

Source of field numbers: onnx.proto of ONNX 1.23.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from clinfer.frontend.onnx.wire import (
    LENGTH,
    VARINT,
    Bytes,
    Field,
    content_of,
    domain_of,
    floats_of,
    numbers_of,
    read_fields,
    text_field,
    text_of,
    unsigned,
    write_fields,
)

AttributeValue: TypeAlias = "int | float | str | list[int] | list[float] | list[str] | Graph | None"

TENSOR = 5
"""The field of graphs that holds initializers, and that of attributes that holds a tensor."""
_FLOAT, _INT, _STRING, _GRAPH, _FLOATS, _INTS, _STRINGS = 1, 2, 3, 5, 6, 7, 8


@dataclass
class Attribute:
    """An attribute of a node. `value` is None for one that holds tensors, types or a name in a function."""

    name: str
    value: AttributeValue
    fields: list[Field]

    @staticmethod
    def of(name: str, value: int | list[int]) -> Attribute:
        """A new one."""
        if isinstance(value, int):
            fields = [Field(3, VARINT, unsigned(value)), Field(20, VARINT, _INT)]
        else:
            fields = [*(Field(8, VARINT, unsigned(number)) for number in value), Field(20, VARINT, _INTS)]
        return Attribute(name, value, [text_field(1, name), *fields])

    @staticmethod
    def read(content: Bytes) -> Attribute:
        """Read one. Errors: WireError."""
        fields = list(read_fields(content))
        by_number: dict[int, list[Field]] = {}
        for each in fields:
            by_number.setdefault(each.number, []).append(each)
        name = text_of(by_number[1][0]) if 1 in by_number else ""
        kind = numbers_of(by_number[20][0])[0] if 20 in by_number else 0
        return Attribute(name, _value(kind, by_number), fields)

    def to_fields(self) -> list[Field]:
        """What is written."""
        if not isinstance(self.value, Graph):
            return self.fields
        kept = [each for each in self.fields if each.number != 6]
        return [*kept, Field(6, LENGTH, write_fields(self.value.to_fields()))]


def _value(kind: int, fields: dict[int, list[Field]]) -> AttributeValue:
    if kind == _GRAPH:
        return Graph.read(content_of(fields[6][0])) if 6 in fields else None
    if kind == _INT:
        return numbers_of(fields[3][0])[0] if 3 in fields else 0
    if kind == _FLOAT:
        return floats_of(fields[2][0])[0] if 2 in fields else 0.0
    if kind == _STRING:
        return text_of(fields[4][0]) if 4 in fields else ""
    if kind == _INTS:
        return [number for each in fields.get(8, []) for number in numbers_of(each)]
    if kind == _FLOATS:
        return [number for each in fields.get(7, []) for number in floats_of(each)]
    if kind == _STRINGS:
        # They may be no texts at all, which is nobody's concern here.
        return [bytes(content_of(each)).decode(errors="replace") for each in fields.get(9, [])]
    return None


@dataclass
class Node:
    """A node. An input that is left out is an empty name."""

    op_type: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Attribute] = field(default_factory=dict)
    domain: str = ""
    others: list[Field] = field(default_factory=list)

    @staticmethod
    def read(content: Bytes) -> Node:
        """Read one. Errors: WireError."""
        node = Node("", [], [])
        for each in read_fields(content):
            if each.number == 1:
                node.inputs.append(text_of(each))
            elif each.number == 2:
                node.outputs.append(text_of(each))
            elif each.number == 4:
                node.op_type = text_of(each)
            elif each.number == 5:
                attribute = Attribute.read(content_of(each))
                node.attributes[attribute.name] = attribute
            elif each.number == 7:
                node.domain = domain_of(each)
            else:
                node.others.append(each)
        return node

    def to_fields(self) -> list[Field]:
        """What is written."""
        return [*(text_field(1, name) for name in self.inputs), *(text_field(2, name) for name in self.outputs),
                text_field(4, self.op_type),
                *(Field(5, LENGTH, write_fields(each.to_fields())) for each in self.attributes.values()),
                text_field(7, self.domain), *self.others]

    def value(self, attribute: str, default: AttributeValue = None) -> AttributeValue:
        """The value of an attribute."""
        found = self.attributes.get(attribute)
        return default if found is None else found.value

    def own_name(self) -> str:
        """A name that no other node has: that of its first result; empty where it has none."""
        return next(filter(None, self.outputs), "")

    def bodies(self) -> Iterator[Graph]:
        """The graphs that are attributes."""
        for attribute in self.attributes.values():
            if isinstance(attribute.value, Graph):
                yield attribute.value


@dataclass
class Graph:
    """A graph, or a function, of which `nodes` can be changed. `number` is the field of nodes."""

    nodes: list[Node]
    others: list[Field]
    number: int = 1

    @staticmethod
    def read(content: Bytes, number: int = 1) -> Graph:
        """Read one. Errors: WireError."""
        nodes, others = [], []
        for each in read_fields(content):
            if each.number == number:
                nodes.append(Node.read(content_of(each)))
            else:
                others.append(each)
        return Graph(nodes, others, number)

    def to_fields(self) -> list[Field]:
        """What is written."""
        return [*(Field(self.number, LENGTH, write_fields(node.to_fields())) for node in self.nodes), *self.others]

    def input_names(self) -> list[str]:
        """The names of a graph's inputs."""
        return [_name_of(each, 1) for each in self.others if each.number == 11]

    def output_names(self) -> list[str]:
        """The names of a graph's outputs."""
        return [_name_of(each, 1) for each in self.others if each.number == 12]

    def insert_input(self, place: int, value: Field) -> None:
        """Give a graph one more input."""
        self._insert(11, place, value)

    def insert_output(self, place: int, value: Field) -> None:
        """Give a graph one more output."""
        self._insert(12, place, value)

    def _insert(self, number: int, place: int, value: Field) -> None:
        same = [each for each in self.others if each.number == number]
        same.insert(place, value._replace(number=number))
        self.others = [*same, *(each for each in self.others if each.number != number)]

    def declared_types(self) -> dict[str, int]:
        """The numbers of element types by name, of the values that declare one."""
        found = {}
        for each in self.others:
            if each.number in ((12,) if self.is_function else (11, 12, 13)):
                name, number = _declared(content_of(each))
                if number:
                    found[name] = number
        for each in self.initializers():
            fields = {part.number: part for part in read_fields(content_of(each)) if part.number in (2, 8)}
            if len(fields) == 2:
                found[text_of(fields[8])] = numbers_of(fields[2])[0]
        return found

    @property
    def is_function(self) -> bool:
        """Whether it is a function, whose other fields are not those of graphs."""
        return self.number != 1

    def initializers(self) -> list[Field]:
        """A graph's constants: tensors as they are written."""
        return [] if self.is_function else [each for each in self.others if each.number == TENSOR]

    def initializer_names(self) -> list[str]:
        """The names of a graph's constants."""
        return [_name_of(each, 8) for each in self.initializers()]

    def large_initializers(self) -> list[str]:
        """The names of those of more than one element."""
        return [_name_of(each, 8) for each in self.initializers()
                if any(size > 1 for part in read_fields(content_of(each)) if part.number == 1
                       for size in numbers_of(part))]


def value_info(name: str, element_type: int = 0) -> Field:
    """What declares a value as a tensor of a type by its number (0: of an open type) and of open shape."""
    if not element_type:
        return Field(0, LENGTH, write_fields([text_field(1, name)]))
    tensor = Field(1, LENGTH, write_fields([Field(1, VARINT, element_type)]))
    return Field(0, LENGTH, write_fields([text_field(1, name), Field(2, LENGTH, write_fields([tensor]))]))


def _declared(value_info: Bytes) -> tuple[str, int]:
    """(name, number of the type of elements) of a value; 0 where it has none, or is no tensor."""
    name, number = "", 0
    for each in read_fields(value_info):
        if each.number == 1:
            name = text_of(each)
        elif each.number == 2:
            tensors = [part for part in read_fields(content_of(each)) if part.number == 1]
            number = next((numbers_of(part)[0] for tensor in tensors for part in read_fields(content_of(tensor))
                           if part.number == 1), 0)
    return name, number


def _name_of(message: Field, number: int) -> str:
    return next((text_of(each) for each in read_fields(content_of(message)) if each.number == number), "")


def all_graphs(graph: Graph) -> Iterator[Graph]:
    """A graph and the bodies in it."""
    yield graph
    for node in graph.nodes:
        for body in node.bodies():
            yield from all_graphs(body)


def all_nodes(graph: Graph) -> Iterator[Node]:
    """The nodes of a graph and of the bodies in it."""
    return (node for each in all_graphs(graph) for node in each.nodes)
