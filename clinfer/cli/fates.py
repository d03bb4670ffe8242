"""What became of every layer of the user's model: OpenVINO's transformations and our passes put together."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clinfer.frontend.layers import Fate, TracedLayer
from clinfer.program.explanation import Explanation
from clinfer.program.history import Removal

OPENVINO = "OpenVINO's transformations"


@dataclass(frozen=True)
class LayerFate:
    """A layer of the model: "kept" as the primitive `into`, "fused" into it, "folded" into constants, or
    "removed" because no output needs it. `by`: who did it ("" if kept)."""

    layer: str
    type: str
    fate: Fate
    into: str
    by: str


def find_fates(traced: Sequence[TracedLayer], explanation: Explanation) -> tuple[LayerFate, ...]:
    """The fate of each traced layer in the program."""
    finder = _Finder(explanation)
    return tuple(finder.find(layer) for layer in traced)


class _Finder:
    """Looks layers up among the nodes of a program and what passes removed."""

    def __init__(self, explanation: Explanation) -> None:
        self._ids = {node.primitive for node in explanation.nodes}
        self._primitives: dict[str, str] = {}
        for node in explanation.nodes:
            # A layer's own primitive has its id; others that it needs (reorders, parts) have longer ones.
            if node.layer and (node.layer not in self._primitives or node.primitive == node.layer):
                self._primitives[node.layer] = node.primitive
        self._removed: dict[str, Removal] = {}
        for removal in explanation.removed:
            if removal.layer and (removal.layer not in self._removed or removal.primitive == removal.layer):
                self._removed[removal.layer] = removal

    def find(self, layer: TracedLayer) -> LayerFate:
        """The fate of one layer."""
        if not layer.into:
            gone: Fate = "folded" if layer.fate == "folded" else "removed"
            return LayerFate(layer.name, layer.type, gone, "", OPENVINO)
        by = [OPENVINO] if layer.fate == "fused" else []
        if layer.into in self._primitives:
            fate: Fate = "fused" if by else "kept"
            return LayerFate(layer.name, layer.type, fate, self._primitives[layer.into], "".join(by))
        removal = self._removed.get(layer.into)
        if removal is None:
            return LayerFate(layer.name, layer.type, "removed", "", ", ".join([*by, "the converter"]))
        by.append(removal.by)
        if removal.fate == "fused":
            return LayerFate(layer.name, layer.type, "fused", removal.into, ", ".join(by))
        return LayerFate(layer.name, layer.type, "folded" if removal.fate == "folded" else "removed", "", ", ".join(by))
