"""Attention as its kernels see it: queries, keys, values and the result under their views."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import ceil, prod

from clinfer.base.shape import Shape, Size
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import (
    BufferRef,
    Constant,
    Formats,
    Operand,
    Problem,
    input_operand,
    output_operand,
    planar_formats,
    present_formats,
)
from clinfer.kernels.jitter import literal
from clinfer.ops.sdpa.op import ScaledDotProductAttention
from clinfer.ops.shared.parts import part_view, result_view
from clinfer.ops.shared.views import index_view, static

QUERY, KEY, VALUE, MASK, SCALE, SINK = range(6)
_BLOCK_NS = 2000.0
"""Of a block of keys and their values, whose copies are waited for (measured on an H100)."""


@dataclass(frozen=True)
class AttentionProblem(Problem):
    """Queries [batch, L, E], keys [batch, S, E], values [batch, S, V]; sizes may be open."""

    primitive: ScaledDotProductAttention

    @cached_property
    def data(self) -> tuple[TensorView, TensorView, TensorView]:
        """What is seen of queries, keys and values."""
        query, key, value = (part_view(self.primitive.part(i, x.rank), TensorView.of(x))
                             for i, x in enumerate(self.inputs[:3]))
        return query, key, value

    @cached_property
    def result(self) -> TensorView:
        """The output with its axes as the result has them."""
        return result_view(self.primitive, TensorView.of(self.outputs[0]))

    @property
    def batch(self) -> Shape:
        return self.result.sizes[:-2]

    @property
    def queries(self) -> int:
        return static(self.result.sizes)[-2]

    @property
    def keys(self) -> int:
        return static(self.data[KEY].sizes)[-2]

    @property
    def depth(self) -> Size:
        """The last size of queries and keys."""
        return self.data[QUERY].sizes[-1]

    @property
    def width(self) -> Size:
        """The last size of values and of the result."""
        return self.result.sizes[-1]

    @property
    def sizes(self) -> dict[str, int]:
        return {"batch": prod(static(self.batch)), "queries": self.queries, "keys": self.keys,
                "depth": static((self.depth,))[0], "width": static((self.width,))[0]}

    @property
    def flops(self) -> int:
        """Multiplications and additions of both products."""
        batch, queries, keys, depth, width = self.sizes.values()
        return 2 * batch * queries * keys * (depth + width)

    def walking_ns(self, rows: int, keys: int, at_once: int) -> float:
        """Nanoseconds that work-groups of so many rows wait on a GPU, which go through the keys in blocks of so many;
        `at_once` of them are on a compute unit at a time."""
        groups = ceil(self.queries / rows) * prod(static(self.batch))
        return _BLOCK_NS * ceil(self.keys / keys) * ceil(groups / (at_once * self.capabilities.compute_units))

    @property
    def constants(self) -> dict[str, Constant]:
        """What all kernels must know."""
        scale = self.primitive.scale
        return {"IS_CAUSAL": bool(self.primitive.causal), "WITH_MASK": self.has_input(MASK),
                "MASK_IS_BOOLEAN": self.has_input(MASK) and self.inputs[MASK].element_type.name == "boolean",
                "WITH_SCALE": self.has_input(SCALE),
                "SCALE": "rsqrt((float)INPUT0_SIZE_LAST)" if scale is None else literal(scale),
                "WITH_SINK": self.has_input(SINK), "GROUPS": self.primitive.groups,
                "IN_BYTE_ROWS": self.primitive.in_byte_rows, "BY_TABLE": self.primitive.by_table}

    def has_input(self, index: int) -> bool:
        """Whether there is an input that is read."""
        return index < len(self.inputs) - self.primitive.by_table and not (index == MASK and self.primitive.causal)

    def formats_wanted(self) -> Formats:
        """The data as it comes, unless parts of it are read."""
        primitive = self.primitive
        return planar_formats(self) if primitive.parts or primitive.result_axes else present_formats(self)

    def stretched(self, index: int, last: Shape = ()) -> TensorView:
        """What is seen of an input, with the result's batch axes and its own (or the given) last two, the query with
        the result's rows. Of keys and values the last batch axis counts the heads that they have."""
        view = self.data[index] if index < 3 else TensorView.of(self.inputs[index])
        batch = self.shared_batch if index in (KEY, VALUE) else self.batch
        own = (self.rows, view.sizes[-1]) if index == QUERY else view.sizes[-2:]
        return view.broadcast((*batch, *(last or own)))

    @property
    def rows(self) -> Size:
        """Those of the result: the query's, unless the mask may stretch them."""
        rows = self.inputs[MASK].shape[-2:-1] if self.has_input(MASK) else ()
        return self.result.sizes[-2] if rows not in ((), (1,)) else self.data[QUERY].sizes[-2]

    @property
    def shared_batch(self) -> Shape:
        """The batch axes of keys and values that stretch to the result's."""
        groups = self.primitive.groups
        if groups == 1:
            return self.batch
        *batch, heads = self.batch
        assert isinstance(heads, int)
        return (*batch, heads // groups)

    def extra_operands(self) -> list[Operand]:
        """Mask, scale, sink and table, as far as they are there."""
        queries, keys = self.rows, self.data[KEY].sizes[-2]
        views = {MASK: (queries, keys), SCALE: None, SINK: (queries, 1)}
        found = [input_operand(self, index, None if last is None else self.stretched(index, last))
                 for index, last in views.items() if self.has_input(index)]
        last = len(self.inputs) - 1
        table = Operand("TABLE", BufferRef("input", last), TensorView.of(self.inputs[last]))
        return [*found, table] if self.primitive.by_table else found

    def four_extras(self) -> list[Operand]:
        """The same, with four axes."""
        return [Operand(o.macro, o.buffer, four_axes(o.view) if o.macro in (f"INPUT{MASK}", f"INPUT{SINK}") else o.view)
                for o in self.extra_operands()]

    def in_place_operands(self) -> tuple[Operand, ...]:
        """All that is read where it lies, and the result, with four axes."""
        data = [input_operand(self, i, four_axes(self.stretched(i))) for i in (QUERY, KEY, VALUE)]
        return (*data, *self.four_extras(), output_operand(self, 0, four_axes(self.result)))

    def rows_are_contiguous(self, inputs: Iterable[int]) -> bool:
        """Whether the last axis of what is seen of these inputs lies last in memory."""
        ranks = {i: self.inputs[i].rank for i in inputs}
        return all(self.primitive.part(i, rank).axes[-1] == rank - 1 for i, rank in ranks.items())

    def result_is_contiguous(self) -> bool:
        """The same of the result."""
        axes = self.primitive.result_axes
        return not axes or axes[-1] == len(axes) - 1

    def table_refusal(self) -> str | None:
        """What keeps kernels from the data that read no table."""
        if not self.primitive.by_table:
            return None
        length = self.inputs[-1].shape[0]
        return "reads no table" if not isinstance(length, int) or length else None

    def layout_refusal(self) -> str | None:
        """What keeps kernels from the data that see four planar axes."""
        if self.outputs[0].rank > 4:
            return "more than two batch axes"
        return None if all(x.format.is_planar for x in self.inputs[:3]) else "made for planar formats"


def four_axes(view: TensorView) -> TensorView:
    """A view with axes of size 1 in front, so that there are four."""
    return index_view(view, (None,) * (4 - view.rank) + (slice(None),) * view.rank)
