"""Random recipes and sequences of settings."""
from __future__ import annotations

from hypothesis import strategies as st

from tests.sequences.graphs import OPERATIONS, Recipe
from tests.sequences.running import Setting

SIZES = st.one_of(st.sampled_from([1, 9, 2, 0, 3]), st.integers(0, 9))
STEPS = st.tuples(st.sampled_from(sorted(OPERATIONS)), st.integers(0, 3), st.integers(0, 31))
RECIPES = st.builds(Recipe, st.sampled_from(["rows", "image"]), st.lists(STEPS, min_size=1, max_size=9).map(tuple),
                    st.booleans())
SETTINGS = st.builds(Setting, SIZES, SIZES, SIZES, st.lists(st.integers(-2, 10), min_size=1, max_size=4).map(tuple),
                     st.integers(0, 2**32 - 1))


@st.composite
def sequences(draw: st.DrawFn) -> list[Setting]:
    """A few settings, some of which come again: the same shapes with other data, or with other values."""
    some = draw(st.lists(SETTINGS, min_size=2, max_size=4))
    again = draw(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.integers(0, 2**16)), max_size=4))
    for index, other_values, seed in again:
        old = some[index % len(some)]
        numbers = tuple((n + 3) % 7 for n in old.numbers) if other_values else old.numbers
        some.append(Setting(old.batch, old.length, old.width, numbers, seed))
    return some
