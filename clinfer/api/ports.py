"""The inputs and outputs of a compiled model: ports that stand for the model's without keeping it alive."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.frontend.bodies import typed
from clinfer.frontend.openvino_import import openvino as ov

PortKey: TypeAlias = int | str | ov.Output | ov.ConstOutput


@dataclass(frozen=True)
class Ports:
    """Ports in the model's order; each carries the names, type, partial shape and layout of the model's."""

    inputs: tuple[ov.Output, ...]
    outputs: tuple[ov.Output, ...]

    @staticmethod
    def of(model: ov.Model) -> Ports:
        """Stand-ins for the ports of a model, unaffected by what happens to it later."""
        model = typed(model)
        return Ports(tuple(make_input(*_description(port)) for port in model.inputs),
                     tuple(make_output(*_description(port)) for port in model.outputs))

    def input_index(self, key: PortKey | None) -> int:
        """The index of an input given by index, name or port; None means the only one."""
        return _index(self.inputs, key, "input")

    def output_index(self, key: PortKey | None) -> int:
        """The index of an output given by index, name or port; None means the only one."""
        return _index(self.outputs, key, "output")

    def search_output(self, key: object) -> int | None:
        """The index of an output given by name or port, or None."""
        return _search(self.outputs, key) if isinstance(key, str | ov.Output | ov.ConstOutput) else None

    def find(self, key: str | ov.Output | ov.ConstOutput) -> tuple[bool, int]:
        """(whether it is an input, its index) of a name or port."""
        if not isinstance(key, str | ov.Output | ov.ConstOutput):
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


def make_input(kind: ov.Type, shape: ov.PartialShape, layer: str, names: Iterable[str], layout: ov.Layout) -> ov.Output:
    """The port of a Parameter that belongs to no model."""
    return _named(ov.op.Parameter(kind, shape), layer, names, layout)


def make_output(kind: ov.Type, shape: ov.PartialShape, layer: str, names: Iterable[str],
                layout: ov.Layout) -> ov.Output:
    """The port of a Result that belongs to no model."""
    return _named(ov.op.Result(ov.op.Parameter(kind, shape).output(0)), layer, names, layout)


def _named(node: ov.Node, layer: str, names: Iterable[str], layout: ov.Layout) -> ov.Output:
    node.set_friendly_name(layer)
    port = node.output(0)
    port.set_names(set(names))
    ov.layout_helpers.set_layout(port, layout)
    return port


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
    return str(key) if isinstance(key, int | ov.Output | ov.ConstOutput) else repr(key)


def _index(ports: Sequence[ov.Output], key: object, kind: str) -> int:
    if key is None:
        if len(ports) != 1:
            raise ClinferError(f"say which {kind} is meant: the model has {len(ports)}", where="infer request",
                               values={f"{kind}s": describe_all(ports)},
                               hint=f"give the {kind}'s index, name or port")
        return 0
    if isinstance(key, int | np.integer):
        found = int(key) if 0 <= key < len(ports) else None
    elif isinstance(key, str | ov.Output | ov.ConstOutput):
        found = _search(ports, key)
        if found is None and kind == "input":
            found = _plane(ports, key)
    else:
        raise _no_key(f"{kind}s are named by index, name or port", key)
    if found is None:
        raise ClinferError(f"the model has no {kind} {_label(key)}", where="infer request",
                           values={f"{kind}s": describe_all(ports)})
    return found


def _no_key(what: str, key: object) -> ClinferError:
    return ClinferError(what, where="infer request", values={"given": repr(key), "of type": type(key).__name__})


def _search(ports: Sequence[ov.Output], key: str | ov.Output | ov.ConstOutput) -> int | None:
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
