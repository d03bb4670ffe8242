"""From Einsum to matrix and element-wise products where it is such, else to the Einsum primitive."""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import OpenRankError
from clinfer.base.shape import Shape
from clinfer.ops.einsum.op import Einsum, read_equation
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.matmul import MatMul
from clinfer.ops.reshape import Reshape, Squeeze, Unsqueeze
from clinfer.ops.shared.views import static
from clinfer.ops.transpose import Transpose
from clinfer.topology import Constant, Port, Primitive, SourceNode


@dataclass(frozen=True)
class _Term:
    """A tensor with one label per axis; the shape may be dynamic."""

    port: Port
    labels: str
    shape: Shape


@dataclass(frozen=True)
class _Product:
    """The labels of a matrix product: common to all, of the left side's rows, of the right side's columns, summed."""

    batch: str
    rows: str
    columns: str
    summed: str

    @staticmethod
    def of(a: str, b: str, result: str) -> _Product:
        """The product of terms that have each label once and none of their own that is summed."""
        def those(labels: str, *where: str) -> str:
            return "".join(label for label in labels if all(label in other for other in where))
        only_a = "".join(label for label in a if label not in b)
        only_b = "".join(label for label in b if label not in a)
        summed = "".join(label for label in a if label in b and label not in result)
        return _Product(those(a, b, result), only_a, only_b, summed)

    def slots(self, is_left: bool, summed_last: bool) -> list[str]:
        """The axes of a side: a label each ("": size 1), the summed ones as one."""
        own, other = (self.rows, self.columns) if is_left else (self.columns, self.rows)
        ones = [""] * len(other[:-1])
        outer = [*own[:-1], *ones] if is_left else [*ones, *own[:-1]]
        matrix = [own[-1:], self.summed] if summed_last else [self.summed, own[-1:]]
        slots = [*self.batch, *outer, *matrix]
        while len(slots) > 2 and not slots[0]:
            del slots[0]
        return slots


def convert_einsum(node: SourceNode) -> tuple[Primitive, ...]:
    """Pair by pair from the left; the last primitive has the node's id."""
    shapes = [shape for shape in node.input_shapes if shape is not None]
    if len(shapes) < len(node.inputs):
        raise OpenRankError("Einsum needs inputs of known rank", where=f"layer {node.name!r}",
                            values={"equation": node.attributes["equation"]}, hint="give the model's inputs a rank")
    labels, result = read_equation(str(node.attributes["equation"]), tuple(map(len, shapes)), f"layer {node.name!r}")
    terms = [_Term(*term) for term in zip(node.inputs, labels, shapes, strict=True)]
    writer = _Writer(node)
    while len(terms) > 2:
        rest = "".join(term.labels for term in terms[2:]) + result
        pair = terms[0].labels + terms[1].labels
        terms[:2] = [writer.contract(terms[:2], _in_order(label for label in pair if label in rest))]
    writer.contract(terms, result)
    return writer.finish()


def _in_order(labels: Any) -> str:
    return "".join(dict.fromkeys(labels))


class _Writer:
    """Collects the primitives of one node."""

    def __init__(self, node: SourceNode) -> None:
        self._node = node
        self._primitives: list[Primitive] = []

    def finish(self) -> tuple[Primitive, ...]:
        """The primitives, of which the last takes the node's id."""
        return (*self._primitives[:-1], replace(self._primitives[-1], id=self._node.id))

    def contract(self, terms: Sequence[_Term], result: str) -> _Term:
        """The sum of the products of one or two terms."""
        if len(terms) == 2:
            terms = [self._thinned(term, terms[1 - i].labels + result) for i, term in enumerate(terms)]
        whole = Einsum("", terms=tuple(term.labels for term in terms), result=result)
        sizes = whole.sizes(tuple(term.shape for term in terms))
        shape = tuple(sizes[label] for label in result)
        if len(terms) == 2 and not whole.summed:
            sides = [self._laid_out(term, [label if label in term.labels else "" for label in result])
                     for term in terms]
            port = self._add(Eltwise, tuple(sides), mode="Multiply")
        elif len(terms) == 2 and self._is_product(terms, whole.summed):
            port = self._multiply(terms[0], terms[1], result)
        else:
            port = self._add(Einsum, tuple(term.port for term in terms), terms=whole.terms, result=result)
        return _Term(port, result, shape)

    def _thinned(self, term: _Term, others: str) -> _Term:
        """The term with each label once, and summed over those that nobody else has."""
        kept = _in_order(label for label in term.labels if label in others)
        return term if kept == term.labels else self.contract([term], kept)

    @staticmethod
    def _is_product(terms: Sequence[_Term], summed: str) -> bool:
        """Whether the summed axes do not stretch and can become one."""
        sizes = [[term.shape[term.labels.index(label)] for label in summed] for term in terms]
        fixed = all(isinstance(size, int) for both in sizes for size in both)
        same = sizes[0] == sizes[1] if fixed else len(summed) == 1
        return same and not any(label.isdigit() for label in summed)

    def _multiply(self, a: _Term, b: _Term, result: str) -> Port:
        product = _Product.of(a.labels, b.labels, result)
        flipped = [len(product.summed) == 1 and term.labels == "".join(product.slots(is_left, summed_last=False))
                   for term, is_left in ((a, True), (b, False))]
        sides = tuple(self._laid_out(term, product.slots(is_left, not flip))
                      for term, is_left, flip in ((a, True, flipped[0]), (b, False, flipped[1])))
        port = self._add(MatMul, sides, transpose_a=flipped[0], transpose_b=not flipped[1])
        outer = product.batch + product.rows[:-1] + product.columns[:-1]
        missing = [len(outer) + i for i, labels in enumerate((product.rows, product.columns)) if not labels]
        if missing:
            port = self._add(Squeeze, (port, self._numbers(missing)))
        return self._transposed(port, outer + product.rows[-1:] + product.columns[-1:], result)

    def _laid_out(self, term: _Term, slots: list[str]) -> Port:
        """The term with these axes: a label each, several labels merged, "" of size 1."""
        port = self._transposed(term.port, term.labels, "".join(slots))
        real = [slot for slot in slots if slot]
        if any(len(slot) > 1 for slot in real):
            sizes = static(tuple(term.shape[term.labels.index(label)] for label in real[-1]))
            pattern = [0] * (len(real) - 1) + [math.prod(sizes)]
            port = self._add(Reshape, (port, self._numbers(pattern)), special_zero=True)
        ones = [position for position, slot in enumerate(slots) if not slot]
        return self._add(Unsqueeze, (port, self._numbers(ones))) if ones else port

    def _transposed(self, port: Port, labels: str, wanted: str) -> Port:
        order = [labels.index(label) for label in wanted]
        if order == sorted(order):
            return port
        return self._add(Transpose, (port, self._numbers(order)))

    def _numbers(self, values: list[int]) -> Port:
        return self._add(Constant, (), value=np.array(values, np.int64), element_type=ElementType.of("i64"))

    def _add(self, kind: type[Primitive], inputs: tuple[Port, ...], **fields: Any) -> Port:
        id = f"{self._node.id}/{len(self._primitives)}"
        self._primitives.append(kind(id, inputs, origin=self._node.name, **fields))
        return Port(id)
