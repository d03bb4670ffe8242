"""Types of floats that are stored as whole numbers of a grid."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.grid import Grid
from clinfer.base.layout import Layout


@pytest.mark.parametrize("grid", [Grid(0.0123, 200), Grid(1e-29, 0), Grid(1e29, 255), Grid(1 / 3, 7)], ids=str)
def test_names_tell_grids(grid: Grid) -> None:
    kind = ElementType.on(grid)
    assert ElementType.of(kind.name) is kind and kind.grid == grid
    assert (kind.bits, kind.is_float, kind.computed.name, kind.numpy) == (8, True, "f32", np.float32)


@pytest.mark.parametrize("name", ["q8", "q8()", "q8(1:2", "q8(0:3)", "q8(1e-31:3)", "q8(1.0:256)", "q8(1.0:-1)",
                                  "q8(e:3)", "q8(1e999:3)", "q8(--1:3)", "q8(" + "1" * 40 + ":3)"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ClinferError, match="unknown element type"):
        ElementType.of(name)


def test_layouts_pack_the_nearest_numbers() -> None:
    layout = Layout.planar((2, 3), ElementType.on(Grid(0.5, 10)))
    values = np.array([[-5, 0.3, 0.2], [1e9, -1e9, np.nan]], np.float32)
    units = layout.pack(values)
    assert units.dtype == np.uint8 and units.tolist() == [0, 11, 10, 255, 0, 0] and layout.byte_size == 6
    assert layout.unpack(units).tolist() == [[-5, 0.5, 0], [122.5, -5, -5]]
