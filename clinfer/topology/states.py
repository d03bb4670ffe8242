"""Variable states: what a request keeps from one inference to the next."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.byte_rows import TAIL
from clinfer.base.element_type import ElementType
from clinfer.base.shape import Dim, Shape, StaticShape


@dataclass(frozen=True)
class State:
    """A variable of the model, read as input `input` of the graph; output `output` is its next value ("": it stays).

    `shape` and `element_type` are those that the model declares. `initial`: the output of the initial topology that is
    its value after a reset; "": zeros. `begins_with`: the variables whose first values go into that one.
    The request stores it with axis `order[i]` at i (empty: all where they are).
    `grows`: the output is the input with more behind it along the first stored axis, so that both share memory.
    `selected_by`: the input of the graph, a vector, that says which entries of axis 0 an inference works on ("": all);
    these are stored along the second axis.
    `table`: the input of the graph, [T, entries] i32, that says where entries lie, so that none is moved: entry b
    of the first T stored positions is stored as entry table[position, b]. Variables of one table have one length
    ("": there is none).
    `kept_as`: the type in which the request stores it (None: as it is declared); u8 where floats are declared:
    stored rows of these are rows of bytes (`base/byte_rows.py`).
    `sizes`: names of the sizes of stored axes ("": it has none); those of one name are equal in every inference, and
    that of `selected_by` is its length.
    """

    variable: str
    input: str
    output: str
    shape: Shape
    element_type: ElementType
    initial: str = ""
    order: tuple[int, ...] = ()
    grows: bool = False
    selected_by: str = ""
    table: str = ""
    sizes: tuple[str, ...] = ()
    begins_with: tuple[str, ...] = ()
    kept_as: ElementType | None = None

    @property
    def stored_type(self) -> ElementType:
        """The type in which the request stores it."""
        return self.kept_as or self.element_type

    @property
    def is_in_byte_rows(self) -> bool:
        """Whether floats are stored as rows of bytes."""
        return self.element_type.is_float and self.stored_type.name == "u8"

    @property
    def blank(self) -> StaticShape:
        """The shape of a value of which nothing is known: the least sizes that are declared."""
        return tuple(size.low if isinstance(size, Dim) else size for size in self.shape)

    def stored(self, shape: StaticShape) -> StaticShape:
        """The shape in which a value of that shape is stored."""
        ordered = tuple(shape[axis] for axis in self.order) if self.order else shape
        return (*ordered[:-1], ordered[-1] + TAIL) if self.is_in_byte_rows else ordered

    def logical(self, stored: StaticShape) -> StaticShape:
        """The reverse of `stored`."""
        ordered = (*stored[:-1], stored[-1] - TAIL) if self.is_in_byte_rows else stored
        return tuple(ordered[self.order.index(axis)] for axis in range(len(ordered))) if self.order else ordered
