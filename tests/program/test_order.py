"""The order of a graph's nodes: that of a list in which ids are put, moved and removed."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.program import order
from clinfer.program.order import Order


@pytest.mark.parametrize("gap", [4, 1 << 256])
def test_order_is_that_of_a_list(gap: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a small gap ids are numbered anew at every third insertion."""
    monkeypatch.setattr(order, "_GAP", gap)
    ids = [f"first_{i}" for i in range(5)]
    made = Order(ids)
    assert made.last_of([]) is None
    for step in range(400):
        choice, place = rng.integers(4), int(rng.integers(len(ids))) if ids else 0
        if choice == 0 and ids:
            made.remove(ids.pop(place))
        elif choice == 1 or not ids:
            made.put(f"n{step}")
            ids.append(f"n{step}")
        else:
            made.put(f"n{step}", before=ids[place])
            ids.insert(place, f"n{step}")
        assert list(made) == ids
        some = [id for id in ids if rng.random() < 0.3]
        assert made.last_of(rng.permutation(some).tolist()) == (some[-1] if some else None)


def test_a_long_chain_of_insertions_renumbers_seldom() -> None:
    """Each between the one before and the end of the order, where the gap halves."""
    made = Order(("first", "last"))
    anew = 0
    for step in range(3000):
        numbers = made._numbers
        made.put(f"n{step}", before="last")
        anew += made._numbers is not numbers
    assert list(made) == ["first", *(f"n{step}" for step in range(3000)), "last"]
    assert 10 <= anew <= 13
