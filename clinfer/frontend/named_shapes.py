"""Names of dimensions through OpenVINO's operations, as its symbols."""
from __future__ import annotations

from collections.abc import Hashable

from clinfer.base.shape import Dim, Shape, Size
from clinfer.frontend.conversions import partial_shape_of, shape_of
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.symbolic.dimensions import NamedDim


class Symbols:
    """One symbol per name."""

    def __init__(self) -> None:
        self._symbols: dict[Hashable, ov.Symbol] = {}

    def partial_shape_of(self, shape: Shape | None) -> ov.PartialShape:
        """A shape whose named dimensions carry their symbols."""
        if shape is None or not any(isinstance(size, NamedDim) for size in shape):
            return partial_shape_of(shape)
        return ov.PartialShape([self._dimension_of(size) for size in shape])

    def shape_of(self, partial: ov.PartialShape) -> Shape | None:
        """The reverse: dimensions with a symbol that belongs to a name have that name."""
        shape = shape_of(partial)
        if shape is None:
            return None
        return tuple(self._named(size, partial[axis]) if isinstance(size, Dim) else size
                     for axis, size in enumerate(shape))

    def _dimension_of(self, size: Size) -> ov.Dimension:
        bounded = partial_shape_of((Dim(size.low, size.high) if isinstance(size, Dim) else size,))[0]
        if isinstance(size, NamedDim):
            bounded.set_symbol(self._symbols.setdefault(size.name, ov.Symbol()))
        return bounded

    def _named(self, size: Dim, dimension: ov.Dimension) -> Dim:
        symbol = dimension.get_symbol() if dimension.has_symbol() else None
        names = [name for name, known in self._symbols.items() if symbol is not None and known == symbol]
        return NamedDim(size.low, size.high, names[0]) if names else size
