"""The EmbeddingBag primitive, of which OpenVINO's EmbeddingBagOffsets-15, EmbeddingBagOffsetsSum-3,
EmbeddingBagPacked-15, EmbeddingBagPackedSum-3 and EmbeddingSegmentsSum-3 are made."""
from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

from clinfer.base.errors import ClinferError
from clinfer.base.shape import ANY, Shape, Size, show
from clinfer.ops.operation import Converter
from clinfer.symbolic.dimensions import differ
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive, SourceNode

Bags = Literal["offsets", "packed", "segments"]


@dataclass(frozen=True)
class EmbeddingBag(Primitive):
    """For each bag the sum, or mean, of those rows of input 0 that its indices (input 1) name.

    `bags` "packed": a row of the indices [bags, n] is a bag. "offsets": input 2 says where in the indices each bag
    starts. "segments": input 2 says of each index to which bag it belongs, in ascending order, and input 3 how many
    bags there are. Then come the row of an empty bag (missing or negative: zeros) and the factors of the rows that the
    indices name. A row that does not exist is zeros.
    """

    bags: Bags = "packed"
    reduction: str = "sum"

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (3,) if self.bags == "segments" else ()

    @property
    def default_input(self) -> int | None:
        """The input that names the row of empty bags."""
        index = {"packed": None, "offsets": 3, "segments": 4}[self.bags]
        return index if index is not None and index < len(self.inputs) else None

    @property
    def factors_input(self) -> int | None:
        """The input that holds the factors."""
        index = {"packed": 2, "offsets": 4, "segments": 5}[self.bags]
        return index if index < len(self.inputs) else None

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        table, indices = shapes[:2]
        if table is None:
            return (None,)
        beside = [self.factors_input, 2 if self.bags == "segments" else None]
        for given in [shapes[index] for index in beside if index is not None]:
            if indices is not None and given is not None and (
                    len(indices) != len(given) or any(map(differ, indices, given))):
                raise ClinferError("there must be a factor and a segment for each index", where=self.where,
                                   values={"indices": show(indices), "given": show(given)})
        count: Size = ANY
        if self.bags == "segments":
            count = values[3].reshape(-1).tolist()[0] if 3 in values else ANY
        else:
            bags = indices if self.bags == "packed" else shapes[2]
            count = ANY if bags is None else bags[0]
        return ((count, *table[1:]),)


def _convert(bags: str, node: SourceNode) -> EmbeddingBag:
    return EmbeddingBag(node.id, node.inputs, origin=node.name, bags=bags,  # type: ignore[arg-type]
                        reduction=str(node.attributes.get("reduction", "sum")).lower())


CONVERTERS: dict[str, Converter] = {
    name: partial(_convert, bags) for name, bags in (
        ("EmbeddingBagOffsets", "offsets"), ("EmbeddingBagOffsetsSum", "offsets"), ("EmbeddingBagPacked", "packed"),
        ("EmbeddingBagPackedSum", "packed"), ("EmbeddingSegmentsSum", "segments"))}
