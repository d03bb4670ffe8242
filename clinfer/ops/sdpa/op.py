"""The ScaledDotProductAttention primitive (OpenVINO ScaledDotProductAttention-13)."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.base.schema import Positive
from clinfer.base.shape import Shape, StaticShape, empty, is_one, show
from clinfer.ops.shared.parts import ReadsParts
from clinfer.ops.shared.shape_rules import stretches_to
from clinfer.symbolic.dimensions import broadcast_shapes, is_open
from clinfer.symbolic.shape_inference import Values


@dataclass(frozen=True)
class ScaledDotProductAttention(ReadsParts):
    """softmax(query x key^T * scale + mask) x value over the last two axes; those before them broadcast.

    Inputs: query [..., L, E], key [..., S, E], value [..., S, V]; then, each optional, the mask [..., L, S]
    (added, or boolean: false is left out; not read if `causal`), the scale (one element; missing: `scale`, and where
    that is None 1/sqrt(E)) and the sink [..., L, 1], a score that takes part in the softmax without a value. A mask
    may stretch the query's rows and the axes before them, but not the keys.
    With `causal`, query i sees keys 0 to i. Of query, key and value it can read parts. With `groups`, so many heads
    (axis -3) of the query and the result, one behind the other, share each head of key and value. With `in_byte_rows`,
    what is seen of key and value are the bytes of rows of bytes, behind which their steps lie (`base/byte_rows.py`).
    With `by_table`, all have four axes, and a table [T, batch] (i32) is the last input: key s < T of entry b, and its
    value, are those of entry table[s, b]; those behind are b's own.
    """

    causal: bool = False
    scale: float | None = None
    groups: Positive = 1
    in_byte_rows: bool = False
    by_table: bool = False
    op_type: ClassVar[str] = "ScaledDotProductAttention"
    opset: ClassVar[str] = "opset13"
    own_fields: ClassVar[tuple[str, ...]] = (*ReadsParts.own_fields, "scale", "groups", "in_byte_rows", "by_table")
    part_inputs: ClassVar[tuple[int, ...]] = (0, 1, 2)

    def trial_inputs(self, inputs: Sequence[Layout], any_numbers: Callable[[int], np.ndarray],
                     ) -> Mapping[int, np.ndarray]:
        last = len(inputs) - 1
        return {last: np.zeros(inputs[last].static_shape, np.int32)} if self.by_table else {}

    def result_shape(self, seen: tuple[Shape, ...]) -> Shape:
        query, key, value = seen[0], self._shared(seen[1]), self._shared(seen[2])
        batch = broadcast_shapes((query[:-2], key[:-2], value[:-2]))
        assert batch is not None
        scores = (*batch, query[-2], key[-2])
        mask = self._mask(seen[3:len(seen) - self.by_table])
        self._check(query, key, value, scores, mask)
        rows = broadcast_shapes((scores[:-1], mask[:-1]))
        assert rows is not None
        return (*rows, value[-1])

    def _mask(self, others: Sequence[Shape]) -> Shape:
        """The shape of the mask among what comes behind the values; of one that is not read or not there, ()."""
        return others[0] if others and not self.causal else ()

    def _shared(self, shape: Shape) -> Shape:
        """Of keys or values, with each head counted as often as it is read."""
        if self.groups == 1:
            return shape
        *batch, heads, rows, columns = shape
        assert isinstance(heads, int)
        return (*batch, heads * self.groups, rows, columns)

    def _check(self, query: Shape, key: Shape, value: Shape, scores: Shape, mask: Shape) -> None:
        """An error where sizes that are known do not fit. The mask may stretch the queries, but no keys."""
        pairs = [(query[-1], key[-1]), (key[-2], value[-2])]
        pairs += [(size, whole) for axis, (size, whole) in enumerate(zip(mask[::-1], scores[::-1], strict=False))
                  if not is_one(size) and size not in (whole, 1)
                  and not (axis and not self.by_table and is_one(whole))]
        wrong = any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs)
        if wrong or len(mask) > len(scores):
            raise self._misfit(query, key, value, mask)

    def _misfit(self, query: Shape, key: Shape, value: Shape, mask: Shape) -> ClinferError:
        return ClinferError("the inputs of attention do not fit together", where=self.where, values={
            "query": show(query), "key": show(key), "value": show(value), **({"mask": show(mask)} if mask else {})},
            hint="the mask must broadcast with [..., queries, keys], its columns to the keys")

    @property
    def is_heavy(self) -> bool:
        return True

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        known = [shape for shape in shapes if shape is not None]
        if self.scale is not None or self.groups > 1 or self.parts or self.result_axes or self.by_table:
            return super().infer_shapes(shapes, values)
        if len(known) < len(shapes):
            return None
        return self._stretched(*known) if is_open(*known) else self._plain(*known)

    def _stretched(self, query: Shape, key: Shape, value: Shape, *others: Shape) -> tuple[Shape, ...] | None:
        """The query's axes, stretched by those of the others; the last is the value's."""
        if self.causal:
            return None
        *batch, length = broadcast_shapes((query[:-1], (*key[:-2], 1), (*value[:-2], 1),
                                           self._mask(others)[:-1])) or ()
        return ((*batch, length, value[-1]),)

    def _plain(self, query: Shape, key: Shape, value: Shape, *others: Shape) -> tuple[Shape, ...] | None:
        """Where batches, and the mask's rows, are stretched, the mask to the keys and the sink to rows, and nothing
        else."""
        if any(scale not in ((), (1,)) for scale in others[1:2]):
            return None
        mask = self._mask(others)
        if max(len(mask), len(key)) > len(query) or mask[-1:] not in ((), (1,), (key[-2],)):
            return None
        if key[:-2] != value[:-2] or query[-1] != key[-1] or key[-2] != value[-2]:
            return None
        try:
            rows = broadcast_shapes((query[:-1], (*key[:-2], 1), mask[:-1]))
        except ClinferError:
            return None
        if rows is None or any(not stretches_to(sink, (*rows, 1)) for sink in others[2:]):
            return None
        return ((*rows, value[-1]),)

    def check_inputs(self, shapes: tuple[StaticShape, ...], values: Values,
                     outputs: tuple[StaticShape, ...]) -> None:
        own = self.own_input_count - self.by_table
        query, key, value, *others = (shape for shape in self.seen(shapes)[:own] if shape is not None)
        if self._mask(others)[-1:] not in ((), (1,), (key[-2],)):
            raise self._misfit(query, key, value, others[0])
        if query[-1] == 0 and self.scale is None and own < 5 and not empty(outputs):
            raise ClinferError("queries and keys without features have no scale", where=self.where, values={
                "query": show(query), "key": show(key)}, hint="give the scale as an input")
        result, axes = outputs[0], self.result_axes or range(len(outputs[0]))
        rows = tuple(result[axes.index(axis)] for axis in range(len(result) - 1))
        if len(others) > 2 and not stretches_to(others[2], (*rows, 1)):
            raise ClinferError("the sink of attention does not fit", where=self.where, values={
                "query": show(query), "key": show(key), "sink": show(others[2])},
                hint="the sink must stretch to [..., queries, 1]")
