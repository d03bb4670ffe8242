"""What OpenVINO's CTCGreedyDecoder-1 and CTCGreedyDecoderSeqLen-6 are made of: TopK, then CollapseClasses."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import Shape, show
from clinfer.ops.topk import TopK
from clinfer.symbolic.dimensions import differ
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Constant, Port, Primitive, SourceNode


@dataclass(frozen=True)
class CollapseClasses(Primitive):
    """The classes of each sequence without blanks and, if `merges`, without those that equal the one before.

    Input 0: classes of [sequences, steps, 1]; input 1: how many steps each sequence has; input 2: the scores, which
    tell how many classes there are; input 3: the blank (missing: the last class). Output 0 has the classes of the
    sequences, filled up with -1, [sequences, steps], output 1 their numbers. With `steps_first` the first two axes of
    inputs 0 and 2 are exchanged, input 1 [steps, sequences] is 0 where a sequence has ended, output 0 has two axes of
    size 1 more, and there is no output 1.
    """

    steps_first: bool = False
    merges: bool = True
    types: tuple[ElementType, ...] = ()

    @property
    def output_count(self) -> int:
        return len(self.types)

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return self.types

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        classes = shapes[0]
        if classes is None:
            return (None,) * self.output_count
        lengths, wanted = shapes[1], classes[:2] if self.steps_first else classes[:1]
        if lengths is not None and (len(lengths) != len(wanted) or any(map(differ, lengths, wanted))):
            raise ClinferError("the lengths or masks do not belong to the scores", where=self.where,
                               values={"given": show(lengths), "expected": show(wanted)})
        if self.steps_first:
            return ((classes[1], classes[0], 1, 1),)
        return ((classes[0], classes[1]), (classes[0],))


def convert_decoder(node: SourceNode) -> tuple[Primitive, ...]:
    """Steps first, masks in place of lengths."""
    best = _best_classes(node)
    return (*best, CollapseClasses(node.id, (Port(best[-1].id, 1), node.inputs[1], node.inputs[0]), origin=node.name,
                                   steps_first=True, merges=bool(node.attributes["ctc_merge_repeated"]),
                                   types=node.output_types))


def convert_decoder_of_lengths(node: SourceNode) -> tuple[Primitive, ...]:
    """Sequences first; input 2, where present, is the blank."""
    best = _best_classes(node)
    inputs = (Port(best[-1].id, 1), node.inputs[1], node.inputs[0], *node.inputs[2:])
    return (*best, CollapseClasses(node.id, inputs, origin=node.name, merges=bool(node.attributes["merge_repeated"]),
                                   types=node.output_types))


def _best_classes(node: SourceNode) -> tuple[Primitive, ...]:
    one = Constant(f"{node.id}/one", value=np.array(1, np.int64), element_type=ElementType.of("i64"))
    return one, TopK(f"{node.id}/best", (node.inputs[0], Port(one.id)), origin=node.name)
