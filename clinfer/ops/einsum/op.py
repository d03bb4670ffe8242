"""The Einsum primitive (OpenVINO Einsum-7, of one or two inputs) and its equations."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.errors import ClinferError
from clinfer.base.shape import Shape, Size, show
from clinfer.symbolic.dimensions import broadcast_shapes, differ
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive


@dataclass(frozen=True)
class Einsum(Primitive):
    """For each place of `result`, the sum of the products of the inputs over all other labels.

    `terms` gives one label (a character) per axis of each input; an axis of size 1 stretches to the size
    that its label has elsewhere.
    """

    terms: tuple[str, ...] = ()
    result: str = ""

    @property
    def summed(self) -> str:
        """The labels that the result does not have, in the order of their first appearance."""
        return "".join(dict.fromkeys(label for term in self.terms for label in term if label not in self.result))

    def sizes(self, shapes: tuple[Shape, ...]) -> dict[str, Size]:
        """The size of every label; ClinferError where shapes do not fit the labels."""
        found: dict[str, Size] = {}
        for term, shape in zip(self.terms, shapes, strict=True):
            if len(term) != len(shape):
                raise ClinferError("an input has another rank than its term", where=self.where,
                                   values={"term": term, "shape": shape})
            diagonals = dict(zip(term, shape, strict=True))
            if any(differ(size, diagonals[label]) for label, size in zip(term, shape, strict=True)):
                raise ClinferError("axes of one label differ in their sizes", where=self.where,
                                   values={"term": term, "shape": show(shape)})
            for label, size in diagonals.items():
                both = broadcast_shapes(((found.get(label, size),), (size,)))
                assert both is not None
                found[label] = both[0]
        return found

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        known = tuple(shape for shape in shapes if shape is not None)
        if len(known) < len(shapes):
            return (None,)
        sizes = self.sizes(known)
        return (tuple(sizes[label] for label in self.result),)


def read_equation(equation: str, ranks: tuple[int, ...], where: str) -> tuple[tuple[str, ...], str]:
    """The terms and the result of an equation, with digits, counted from the right, for what "..." covers.

    Without "->" the result has the covered axes, then the labels that occur once, in alphabetical order.
    """
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise ClinferError("Einsum has another number of inputs than its equation", where=where,
                           values={"equation": equation, "inputs": len(ranks)})
    covered = 0
    for term, rank in zip(terms, ranks, strict=True):
        axes = rank - len(term.replace("...", ""))
        if axes < 0 or (axes and "..." not in term) or axes > 10:
            raise ClinferError("an input of Einsum does not have the rank of its term", where=where,
                               values={"equation": equation, "term": term, "rank": rank})
        covered = max(covered, axes)
    full = tuple(term.replace("...", _digits(rank - len(term.replace("...", "")))) for term, rank
                 in zip(terms, ranks, strict=True))
    if arrow:
        return full, right.replace("...", _digits(covered))
    letters = left.replace(",", "").replace(".", "")
    return full, _digits(covered) + "".join(sorted(label for label in set(letters) if letters.count(label) == 1))


def _digits(count: int) -> str:
    return "".join(str(number) for number in reversed(range(count)))
