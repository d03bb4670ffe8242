"""Which layers of the user's model became which of the transformed one, and names that say so."""
from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from clinfer.frontend.openvino_import import openvino as ov

Fate = Literal["kept", "fused", "folded", "removed"]

_FUSED_NAMES = "fused_names_0"


@dataclass(frozen=True)
class TracedLayer:
    """One layer of the user's model: "kept" under its name, "fused" into the layer `into`, "folded" into a
    constant, or "removed" because nothing needs it. `into` is its own name where it was kept, else "" where
    it did not join another layer."""

    name: str
    type: str
    fate: Fate
    into: str


def name_after_layers(model: ov.Model, transformed: ov.Model) -> None:
    """Give the nodes that OpenVINO's transformations made the names of layers that they replaced, instead of
    numbers that change from run to run.

    A node takes the name of a layer of its own type among those that it lists, or that these read; else of the
    last that it lists. Only names that no node has any more are taken; without one it is called by its type
    and a number.
    """
    layers = {node.get_friendly_name(): node for node in model.get_ordered_ops() if _is_layer(node)}
    order = {name: place for place, name in enumerate(layers)}
    nodes = [node for node in transformed.get_ordered_ops() if _is_layer(node)]
    taken = {node.get_friendly_name() for node in nodes} & layers.keys()
    made = [(node, _fused_names(node, layers)) for node in nodes if node.get_friendly_name() not in layers]
    # Who lists few layers is most surely what they became.
    for node, names in sorted(made, key=lambda entry: len(entry[1])):
        kind: str = node.get_type_name()
        near = [*names, *(name for listed in names for name in _sources(layers[listed]) if name in layers)]
        alike = [name for name in near if name not in taken and layers[name].get_type_name() == kind]
        free = [name for name in names if name not in taken]
        chosen: str = max(alike or free, key=lambda name: order[name], default="")
        number = 0
        while not chosen or chosen in taken:
            number += 1
            chosen = f"{kind}.{number}"
        taken.add(chosen)
        node.set_friendly_name(chosen)


def trace_layers(model: ov.Model, prepared: ov.Model) -> tuple[TracedLayer, ...]:
    """Every layer of a model but constants and results, in order, and what `prepare` made of it; the layers
    of bodies are not among them.

    Source: the names that OpenVINO's transformations collect in the nodes they make. Such a list may also
    hold neighbours that a rule merely looked at: of several candidates the one with the shortest list is
    meant. And it may lack a layer that a rule replaced: that one is looked for, by its type, where its
    readers went.
    """
    return _Tracer(model, prepared).trace()


class _Tracer:
    """Compares two models; nodes are keyed by their layer names."""

    def __init__(self, model: ov.Model, prepared: ov.Model) -> None:
        self._layers = {n.get_friendly_name(): n for n in model.get_ordered_ops() if _is_layer(n)}
        self._made = {n.get_friendly_name(): n for n in prepared.get_ordered_ops() if _is_layer(n)}
        self._holders: dict[str, tuple[int, str]] = {}
        for node in prepared.get_ordered_ops():
            self._collect(node)

    def trace(self) -> tuple[TracedLayer, ...]:
        """All layers; readers come before what they read, because lost layers follow their readers."""
        found: dict[str, TracedLayer] = {}
        for name, node in reversed(self._layers.items()):
            found[name] = self._find(name, node, found)
        return tuple(found[name] for name in self._layers)

    def _find(self, name: str, node: ov.Node, found: Mapping[str, TracedLayer]) -> TracedLayer:
        kind = node.get_type_name()
        if name in self._made:
            return TracedLayer(name, kind, "kept", name)
        _, recorded = self._holders.get(name, (0, ""))
        readers = [found[reader] for reader in _readers(node) if reader in found]
        into = recorded or self._renamed(kind, readers)
        if into:
            return TracedLayer(name, kind, "fused", into)
        is_folded = name in self._holders or (bool(readers) and all(r.fate == "folded" for r in readers))
        return TracedLayer(name, kind, "folded" if is_folded else "removed", "")

    def _collect(self, node: ov.Node) -> None:
        names = _fused_names(node, self._layers)
        for name in names:
            # Constants rank last: a layer is folded only where no other took it in.
            rank = len(names) + (0 if _is_layer(node) else len(self._layers))
            if name not in self._holders or rank < self._holders[name][0]:
                self._holders[name] = (rank, node.get_friendly_name() if _is_layer(node) else "")

    def _renamed(self, kind: str, readers: Sequence[TracedLayer]) -> str:
        """The node of that type, under a name that no layer of the type had, which the readers of a lost layer
        read or became; "" if there is none."""
        for reader in readers:
            for candidate in self._near(reader.into):
                name: str = candidate.get_friendly_name()
                before = self._layers.get(name)
                if candidate.get_type_name() == kind and (before is None or before.get_type_name() != kind):
                    return name
        return ""

    def _near(self, name: str) -> list[ov.Node]:
        """A node of the transformed model and those that it reads."""
        node = self._made.get(name)
        return [] if node is None else [node, *(port.get_node() for port in node.input_values())]


def _sources(node: ov.Node) -> list[str]:
    return [port.get_node().get_friendly_name() for port in node.input_values()]


def _readers(node: ov.Node) -> list[str]:
    return [target.get_node().get_friendly_name() for output in node.outputs() for target in output.get_target_inputs()]


def _is_layer(node: ov.Node) -> bool:
    return node.get_type_name() not in ("Constant", "Result")


def _fused_names(node: ov.Node, known: Container[str]) -> list[str]:
    """The layers whose work a node does; the list is text in which commas may also be part of a name."""
    info = node.get_rt_info()
    if _FUSED_NAMES not in info:
        return []
    names: list[str] = []
    pending = ""
    for piece in info[_FUSED_NAMES].astype(str).split(","):
        pending = f"{pending},{piece}" if pending else piece
        if pending in known:
            names.append(pending)
            pending = ""
        elif piece in known:
            names.append(piece)
            pending = ""
    return names
