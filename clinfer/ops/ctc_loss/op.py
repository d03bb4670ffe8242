"""What OpenVINO's CTCLoss-4 is made of: LogSoftmax, then SequenceLoss."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.errors import ClinferError
from clinfer.base.shape import Shape, show
from clinfer.ops.softmax import LogSoftmax
from clinfer.symbolic.dimensions import differ
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Port, Primitive, SourceNode


@dataclass(frozen=True)
class SequenceLoss(Primitive):
    """Minus the logarithm of the probability of each sequence of labels [n], summed up over all ways to spread the
    labels over steps, with blanks between them.

    Input 0: logarithms of the probabilities of classes [n, t, c]; 1: how many steps count [n]; 2: labels [n, t]; 3: how
    many of these count [n]; 4: the blank (missing: the last class). A label may go on for several steps unless
    `ctc_merge_repeated` is false, and then blanks need not stand between equal labels. Of labels that count, those
    that equal the one before go (`preprocess_collapse_repeated`), or all that were there before (`unique`). More labels
    than steps, or more steps than there are, give NaN; labels that are no classes, infinity.
    """

    preprocess_collapse_repeated: bool = False
    ctc_merge_repeated: bool = True
    unique: bool = False

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        scores, *others = shapes[:4]
        if scores is None:
            return (None,)
        wanted = (scores[:1], scores[:2], scores[:1])
        if len(scores) != 3 or any(given is not None and (len(given) != len(expected) or any(map(
                differ, given, expected))) for given, expected in zip(others, wanted, strict=True)):
            raise ClinferError("scores, labels and lengths do not belong together", where=self.where, values={
                "scores": show(scores), "lengths": show(others[0]), "labels": show(others[1]),
                "numbers of labels": show(others[2])})
        return (scores[:1],)


def convert_ctc_loss(node: SourceNode) -> tuple[Primitive, ...]:
    """The scores become logarithms of probabilities first."""
    likely = LogSoftmax(f"{node.id}/likely", node.inputs[:1], origin=node.name, axis=2)
    given = node.attributes
    return likely, SequenceLoss(
        node.id, (Port(likely.id), *node.inputs[1:]), origin=node.name, unique=bool(given["unique"]),
        preprocess_collapse_repeated=bool(given["preprocess_collapse_repeated"]),
        ctc_merge_repeated=bool(given["ctc_merge_repeated"]))
