"""The SparseFillEmptyRows primitive (OpenVINO SparseFillEmptyRows-16)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import ANY, Dim, Shape, StaticShape, show
from clinfer.symbolic.dimensions import differ, same_size
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive


@dataclass(frozen=True)
class SparseFillEmptyRows(Primitive):
    """The elements of a sparse matrix by row and column, with one of the default value in column 0 of each empty row.

    Input 0: values [m]; 1: the matrix's rows and columns; 2: places [m, 2]; 3: the default. Output 0: places [k, 2];
    1: values [k]; 2: which rows were empty [rows].
    """

    op_type: ClassVar[str] = "SparseFillEmptyRows"
    opset: ClassVar[str] = "opset16"

    @property
    def output_count(self) -> int:
        return 3

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (1,)

    @property
    def computed_on_host(self) -> bool:
        return True

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return input_types[2], input_types[0], ElementType.of("boolean")

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...] | None:
        """There are no fewer elements than before."""
        elements, size, places, default = shapes
        if elements is None or size is None or places is None or default is None or [
                *map(len, shapes)] != [1, 1, 2, 0]:  # type: ignore[arg-type]
            return None
        count = same_size((elements[0], places[0]))
        if count is None or differ(places[1], 2) or differ(size[0], 2):
            return None
        filled = Dim(count.low if isinstance(count, Dim) else count)
        rows = int(values[1].reshape(-1)[0]) if 1 in values else ANY
        return (filled, 2), (filled,), (rows,)

    def check_inputs(self, shapes: tuple[StaticShape, ...], values: Values,
                     outputs: tuple[StaticShape, ...]) -> None:
        count = shapes[0][0] if len(shapes[0]) == 1 else -1
        if shapes[2] != (count, 2) or np.size(values[1]) != 2:
            raise ClinferError("values, places and shape do not belong together", where=self.where, values={
                "values": show(shapes[0]), "places": show(shapes[2]), "shape": show(shapes[1])})
        rows = values[2][:, 0]
        if ((rows < 0) | (rows >= values[1].reshape(-1)[0])).any():
            raise ClinferError("a row lies outside of the matrix", where=self.where, values={
                "rows": int(values[1].reshape(-1)[0]), "given": f"{rows.min()} to {rows.max()}"})

    def evaluate(self, values: tuple[np.ndarray, ...], shapes: tuple[Shape | None, ...]) -> tuple[np.ndarray, ...]:
        elements, size, places, default = values
        is_empty = np.ones(int(size.reshape(-1)[0]), np.bool_)
        is_empty[places[:, 0]] = False
        missing = np.flatnonzero(is_empty).astype(places.dtype)
        found = np.concatenate([places, np.stack([missing, np.zeros_like(missing)], 1)])
        filled = np.concatenate([elements, np.full(len(missing), default.reshape(()), elements.dtype)])
        order = np.lexsort((found[:, 1], found[:, 0]))
        return found[order], filled[order], is_empty
