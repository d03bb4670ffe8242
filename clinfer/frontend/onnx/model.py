"""ONNX's model: its graph and functions, and which versions of operator sets they are written in."""
from __future__ import annotations

from dataclasses import dataclass, field

from clinfer.frontend.onnx.graph import Graph
from clinfer.frontend.onnx.wire import (
    LENGTH,
    VARINT,
    Bytes,
    Field,
    WireError,
    content_of,
    domain_of,
    numbers_of,
    read_fields,
    text_field,
    write_fields,
)

_IR_VERSION, _GRAPH, _OPSET, _FUNCTION = 1, 7, 8, 25
_FUNCTION_NODE, _FUNCTION_OPSET = 7, 9


@dataclass
class Part:
    """A graph or a function with the versions of operator sets by domain; `opset` is the field of these."""

    graph: Graph
    versions: dict[str, int]
    opset: int

    def import_domain(self, domain: str) -> None:
        """Let nodes be of a domain, in version 1."""
        if domain not in self.versions:
            self.versions[domain] = 1


@dataclass
class Model:
    """A model of which the nodes can be changed."""

    main: Part
    functions: list[Part] = field(default_factory=list)
    others: list[Field] = field(default_factory=list)

    @staticmethod
    def read(content: Bytes) -> Model | None:
        """The model in these bytes; None if they hold none."""
        try:
            return _read(content)
        except WireError:
            return None

    @property
    def parts(self) -> list[Part]:
        """The graph and the functions."""
        return [self.main, *self.functions]

    def to_bytes(self) -> bytes:
        """The file."""
        functions = [Field(_FUNCTION, LENGTH, write_fields([*part.graph.to_fields(), *_opsets(part)]))
                     for part in self.functions]
        graph = Field(_GRAPH, LENGTH, write_fields(self.main.graph.to_fields()))
        fields = [*self.others, *_opsets(self.main), graph, *functions]
        # OpenVINO knows a model by its first fields, in the order of their numbers.
        return b"".join(write_fields(sorted(fields, key=lambda each: each.number)))


def _read(content: Bytes) -> Model | None:
    fields = list(read_fields(content))
    if not any(each.number == _IR_VERSION and each.kind == VARINT for each in fields):
        return None
    graphs = [each for each in fields if each.number == _GRAPH]
    if len(graphs) != 1:
        return None
    main = Part(Graph.read(content_of(graphs[0])), _versions(fields, _OPSET), _OPSET)
    functions = [_function(content_of(each)) for each in fields if each.number == _FUNCTION]
    return Model(main, functions, [each for each in fields if each.number not in (_GRAPH, _OPSET, _FUNCTION)])


def _function(content: Bytes) -> Part:
    graph = Graph.read(content, _FUNCTION_NODE)
    versions = _versions(graph.others, _FUNCTION_OPSET)
    graph.others = [each for each in graph.others if each.number != _FUNCTION_OPSET]
    return Part(graph, versions, _FUNCTION_OPSET)


def _versions(fields: list[Field], number: int) -> dict[str, int]:
    found = {}
    for each in fields:
        if each.number == number:
            domain, version = "", 0
            for part in read_fields(content_of(each)):
                if part.number == 1:
                    domain = domain_of(part)
                elif part.number == 2:
                    version = numbers_of(part)[0]
            found[domain] = version
    return found


def _opsets(part: Part) -> list[Field]:
    return [Field(part.opset, LENGTH, write_fields([text_field(1, domain), Field(2, VARINT, version)]))
            for domain, version in part.versions.items()]
