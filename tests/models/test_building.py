"""How the models of the benchmarks are built."""
from __future__ import annotations

import math

import numpy as np
import pytest
from openvino.utils import types

from tests.models.zoo import ROWS

MOST_NUMBERS = 1 << 16


@pytest.mark.slow
@pytest.mark.parametrize("name", ["minilm", *(name for name in ROWS if name.endswith("_small"))])
def test_large_weights_do_not_become_lists(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenVINO makes them of arrays that are inputs, numbers of 32 bytes each, and constants only then."""
    sizes = []
    make = types.make_constant_node

    def counted(value: object, *arguments: object, **named: object) -> object:
        sizes.append(math.prod(np.shape(value)))
        return make(value, *arguments, **named)

    monkeypatch.setattr(types, "make_constant_node", counted)
    ROWS[name].build()
    assert sizes and max(sizes) <= MOST_NUMBERS
