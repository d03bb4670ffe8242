"""What a file of `operators/` says of one operator of ONNX."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from clinfer.frontend.onnx.graph import Attribute, Node
from clinfer.frontend.onnx.values import Value
from clinfer.frontend.openvino_import import openvino as ov

DOMAIN = "org.clinfer"
"""The domain of the nodes that converters of `operators/` read. Its attributes are those of the node, `VERSION` and
`OUTPUTS`."""

VERSION, OUTPUTS = "clinfer_version", "clinfer_outputs"

TYPES = {1: "f32", 2: "u8", 3: "i8", 4: "u16", 5: "i16", 6: "i32", 7: "i64", 9: "boolean", 10: "f16", 11: "f64",
         12: "u32", 13: "u64", 16: "bf16", 17: "f8e4m3", 19: "f8e5m2", 21: "u4", 22: "i4", 23: "f4e2m1", 24: "f8e8m0"}
"""OpenVINO's names of ONNX's types by number, of those that OpenVINO has."""


@dataclass(frozen=True)
class Scope:
    """What is known around a node: the version of its operator set; and of the graph and those around it the names of
    constants (initializers and what Constant nodes make), those of initializers of several elements, by name the ONNX
    numbers of the types of values that declare one, and by name the nodes that make values."""

    version: int
    constants: frozenset[str] = frozenset()
    large: frozenset[str] = frozenset()
    types: Mapping[str, int] = field(default_factory=dict)
    nodes: Mapping[str, Node] = field(default_factory=dict)

    def is_given(self, name: str) -> bool:
        """Whether a value is an input, of the model or of a body."""
        return name not in self.nodes and name not in self.constants


def always(node: Node, scope: Scope) -> bool:
    """Every node of the operator needs its own reading."""
    return True


@dataclass(frozen=True)
class Reading:
    """An operator of which some nodes are read by a converter of clinfer's in place of OpenVINO's.

    `is_needed` says which; `convert` gives the results of one.
    """

    op_type: str
    convert: Callable[[Operands], Sequence[Value]]
    is_needed: Callable[[Node, Scope], bool] = always
    domain: str = ""


@dataclass(frozen=True)
class Rewriting:
    """An operator of which some nodes are replaced by others, before anything reads them. `rewrite` gives None for a
    node that stays."""

    op_type: str
    rewrite: Callable[[Node, Scope], Sequence[Node] | None]
    domain: str = ""


Mending: TypeAlias = Reading | Rewriting


class Operands:
    """A node while it is read: what it reads, and its attributes."""

    def __init__(self, context: ov.frontend.NodeContext) -> None:
        self._context = context
        self._inputs = [Value(context.get_input(index)) for index in range(context.get_input_size())]

    def has(self, index: int) -> bool:
        """Whether there is an input."""
        return index < len(self._inputs) and self._inputs[index].port.get_node().get_type_name() != "NullNode"

    def __getitem__(self, index: int) -> Value:
        if not self.has(index):
            raise ValueError(f"input {index} is missing")
        return self._inputs[index]

    def get(self, index: int) -> Value | None:
        """An input, None if it is left out."""
        return self._inputs[index] if self.has(index) else None

    def __len__(self) -> int:
        return len(self._inputs)

    def attribute(self, name: str, default: Any = None) -> Any:
        """The value of an attribute; `default` if there is none."""
        return self._context.get_attribute(name) if self._context.has_attribute(name) else default

    def text(self, name: str, default: str) -> str:
        """An attribute with text."""
        return str(self.attribute(name, default))

    def number(self, name: str, default: int) -> int:
        """An attribute with a whole number."""
        return int(self.attribute(name, default))

    @property
    def version(self) -> int:
        """The version of the operator set."""
        return self.number(VERSION, 1)

    @property
    def output_count(self) -> int:
        """How many outputs the node has, those without a name included."""
        return self.number(OUTPUTS, 1)


def renamed(node: Node, version: int) -> Node:
    """A node as the converters of `operators/` want it."""
    node.attributes[VERSION] = Attribute.of(VERSION, version)
    node.attributes[OUTPUTS] = Attribute.of(OUTPUTS, len(node.outputs))
    node.domain = DOMAIN
    return node
