"""The inputs and outputs of a compiled model: ports that stand for the model's without keeping it alive."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn, TypeAlias

import numpy as np

from clinfer.base.errors import ClinferError, WrongTypeError
from clinfer.frontend.bodies import typed
from clinfer.frontend.openvino_import import openvino as ov

_OpenVinoConstOutput: TypeAlias = ov.ConstOutput
"""OpenVINO's class, also where clinfer's has taken its name."""
AnyPort: TypeAlias = ov.Output | _OpenVinoConstOutput
PortKey: TypeAlias = int | str | AnyPort
_PORTS = (ov.Output, _OpenVinoConstOutput)
INTEGERS = (int, np.integer)
_NAMES = (str, *_PORTS)
PORT_KEYS = (*INTEGERS, *_NAMES)


class ConstOutput(ov.Output):
    """A port of a compiled model: an openvino.Output of a Parameter or Result that belongs to no model.

    OpenVINO's own class of this name is made by its plugins alone. This one adds nothing to an Output, so that an
    Output can become one, and OpenVINO's functions take it as such.
    """

    __slots__ = ()

    def __copy__(self) -> ConstOutput:
        return _as_const(self.node.output(self.index))

    def __deepcopy__(self, memo: object) -> NoReturn:
        raise TypeError("cannot deepcopy 'openvino.ConstOutput' object.")


def _as_const(port: ov.Output) -> ConstOutput:
    port.__class__ = ConstOutput
    return port


@dataclass(frozen=True)
class Ports:
    """Ports in the model's order; each carries the names, type, partial shape and layout of the model's."""

    inputs: tuple[ConstOutput, ...]
    outputs: tuple[ConstOutput, ...]
    _found: dict[str, tuple[bool, int]] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What `find` found by name, which OpenVINO takes a while to tell."""

    @staticmethod
    def of(model: ov.Model) -> Ports:
        """Stand-ins for the ports of a model, unaffected by what happens to it later."""
        model = typed(model)
        return Ports(tuple(make_input(*_description(port)) for port in model.inputs),
                     tuple(make_output(*_description(port), source_of(port)) for port in model.outputs))

    def input_index(self, key: PortKey | None) -> int:
        """The index of an input given by index, name or port; None means the only one."""
        if not isinstance(key, str):
            return _index(self.inputs, key, "input")
        found = self._found.get(key)
        if found is None or not found[0]:
            found = self._found[key] = True, _index(self.inputs, key, "input")
        return found[1]

    def output_index(self, key: PortKey | None) -> int:
        """The index of an output given by index, name or port; None means the only one."""
        return _index(self.outputs, key, "output")

    def search_output(self, key: object) -> int | None:
        """The index of an output given by name or port, or None."""
        return _search(self.outputs, key) if isinstance(key, _NAMES) else None

    def find(self, key: str | AnyPort) -> tuple[bool, int]:
        """(whether it is an input, its index) of a name or port."""
        if not isinstance(key, str):
            return self._search(key)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._search(key)
        return found

    def _search(self, key: str | AnyPort) -> tuple[bool, int]:
        if not isinstance(key, _NAMES):
            raise _no_key("tensors are named by name or port", key)
        for is_input, ports in ((True, self.inputs), (False, self.outputs)):
            index = _search(ports, key)
            if index is not None:
                return is_input, index
        plane = _plane(self.inputs, key)
        if plane is not None:
            return True, plane
        raise ClinferError(f"the model has no input or output {_label(key)}", where="infer request",
                           values={"inputs": describe_all(self.inputs), "outputs": describe_all(self.outputs)})


def make_input(kind: ov.Type, shape: ov.PartialShape, layer: str, names: Iterable[str],
               layout: ov.Layout) -> ConstOutput:
    """The port of a Parameter that belongs to no model."""
    return _named(ov.op.Parameter(kind, shape), layer, names, layout)


def make_output(kind: ov.Type, shape: ov.PartialShape, layer: str, names: Iterable[str],
                layout: ov.Layout, source: str) -> ConstOutput:
    """The port of a Result that belongs to no model. `source`: the name of the node that it reads."""
    read = ov.op.Parameter(kind, shape)
    read.set_friendly_name(source)
    return _named(ov.op.Result(read.output(0)), layer, names, layout)


def source_of(port: ov.Output) -> str:
    """What the Result of a port reads, as OpenVINO names it: the layer, and which output if it has several."""
    read = port.node.input_value(0)
    name: str = read.node.friendly_name
    return name if read.node.get_output_size() == 1 else f"{name}:{read.index}"


def _named(node: ov.Node, layer: str, names: Iterable[str], layout: ov.Layout) -> ConstOutput:
    node.set_friendly_name(layer)
    port = node.output(0)
    port.set_names(set(names))
    ov.layout_helpers.set_layout(port, layout)
    return _as_const(port)


def _description(port: ov.Output) -> tuple[ov.Type, ov.PartialShape, str, set[str], ov.Layout]:
    return (port.element_type, port.partial_shape, port.node.friendly_name, port.names,
            ov.layout_helpers.get_layout(port))


def port_name(port: ov.Output) -> str:
    """The name under which users know a port: the first of its tensor names, else its layer's."""
    return min(port.names) if port.names else port.node.friendly_name


def describe(port: ov.Output) -> str:
    """A port in an error message: `'x' f32[?,3,224,224]`."""
    return f"{port_name(port)!r} {port.element_type.type_name}{port.partial_shape}"


def describe_all(ports: Sequence[ov.Output]) -> str:
    """Ports in an error message."""
    return ", ".join(describe(port) for port in ports) or "none"


def _label(key: object) -> str:
    return str(key) if isinstance(key, (int, *_PORTS)) else repr(key)


def _index(ports: Sequence[ov.Output], key: object, kind: str) -> int:
    if key is None:
        if len(ports) != 1:
            raise ClinferError(f"say which {kind} is meant: the model has {len(ports)}", where="infer request",
                               values={f"{kind}s": describe_all(ports)},
                               hint=f"give the {kind}'s index, name or port")
        return 0
    if isinstance(key, INTEGERS) and key >= 0:
        found = int(key) if key < len(ports) else None
    elif isinstance(key, _NAMES):
        found = _search(ports, key)
        if found is None and kind == "input":
            found = _plane(ports, key)
    else:
        raise _no_key(f"{kind}s are named by index, name or port", key)
    if found is None:
        raise ClinferError(f"the model has no {kind} {_label(key)}", where="infer request",
                           values={f"{kind}s": describe_all(ports)})
    return found


def _no_key(what: str, key: object) -> WrongTypeError:
    return WrongTypeError(what, where="infer request", values={"given": repr(key), "of type": type(key).__name__})


def _search(ports: Sequence[ov.Output], key: str | AnyPort) -> int | None:
    """The first port that is `key`, shares a tensor name with it, or has its layer's name."""
    if isinstance(key, str):
        names, layer = {key}, key
    else:
        for index, port in enumerate(ports):
            if port == key:
                return index
        names, layer = key.get_names(), key.node.friendly_name
    for index, port in enumerate(ports):
        if names & port.names:
            return index
    for index, port in enumerate(ports):
        if port.node.friendly_name == layer:
            return index
    return None


def _plane(inputs: Sequence[ov.Output], key: object) -> int | None:
    """The only input whose name ends with `/key`: PrePostProcessor calls the planes of input `x` `x/y` and `x/uv`."""
    found = [index for index, port in enumerate(inputs) if port_name(port).endswith(f"/{key}")]
    return found[0] if isinstance(key, str) and len(found) == 1 else None
