"""Levels of stages, beside a search through all pairs of launches."""
from __future__ import annotations

import numpy as np
import pytest

from clinfer.runtime.stage_order import Region, Regions, StagePlace, Use, independent, levels_of, places_of

_BYTES, _UNITS = 60, 7


def _random_uses(rng: np.random.Generator, launches: int) -> list[list[Use]]:
    def use() -> Use:
        begin = int(rng.integers(_BYTES))
        return Use(begin, begin + int(rng.integers(0, 6)), bool(rng.random() < 0.4))
    return [[use() for _ in range(rng.integers(0, 4))] for _ in range(launches)]


def _must_wait(one: list[Use], other: list[Use]) -> bool:
    return any(max(a.begin, b.begin) < min(a.end, b.end) and (a.is_written or b.is_written) for a in one for b in other)


@pytest.mark.parametrize("launches", [0, 1, 2, 5, 40])
def test_each_launch_is_as_early_as_may_be(rng: np.random.Generator, launches: int) -> None:
    for _ in range(50):
        uses = _random_uses(rng, launches)
        expected: list[int] = []
        for number, own in enumerate(uses):
            expected.append(max([expected[other] + 1 for other in range(number) if _must_wait(uses[other], own)],
                                default=0))
        assert levels_of(uses) == expected


def test_groups_meet_between_levels_alone(rng: np.random.Generator) -> None:
    for _ in range(50):
        levels, groups = rng.integers(0, 4, 12).tolist(), rng.integers(0, 20, 12).tolist()
        points = rng.integers(0, 3, 12).tolist()
        places = places_of(levels, groups, points, _UNITS, 5)
        assert sorted(place.slot for place in places) == [*range(5, 17)]
        order = sorted(range(12), key=lambda number: places[number].slot)
        before, turn = levels[order[0]], 0
        assert places[order[0]] == StagePlace(5, False, 0, 0)
        for number in order:
            assert levels[number] >= before
            is_new = levels[number] > before
            turn = 0 if is_new else turn
            assert places[number][1:] == (is_new, points[number] if is_new else 0, turn)
            before, turn = levels[number], (turn + groups[number]) % _UNITS


def test_what_is_written_nowhere_may_be_read_early() -> None:
    uses = [[Use(0, 4, False), Use(10, 14, True)], [Use(10, 14, False), Use(20, 24, True)]]
    assert independent([], uses) and independent([(0, 4), (14, 20), (24, 30)], uses)
    assert not independent([(0, 4), (13, 15)], uses) and not independent([(23, 24)], uses)


def _overlap(one: Region, other: Region) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _only_moved(before: dict[tuple[int, int], Region], after: dict[tuple[int, int], Region]) -> bool:
    """Whether arguments overlap, and are the same, exactly where they did and were, those that moved with none."""
    pairs = [(one, other) for one in before for other in before if one != other]
    moved = {argument for argument in before if before[argument] != after[argument]}
    return all((before[one] == before[other]) == (after[one] == after[other]) and (
        before[one] == before[other] or not {one, other} & moved or not (
            _overlap(before[one], before[other]) or _overlap(after[one], after[other]))) for one, other in pairs)


def test_what_only_moved_leaves_the_order_as_it_is(rng: np.random.Generator) -> None:
    moves = 0
    for _ in range(400):
        uses = [[use for use in launch if use.end > use.begin] for launch in _random_uses(rng, 6)]
        before: dict[tuple[int, int], Region] = {(number, index): use[:2] for number, launch in enumerate(uses)
                                                 for index, use in enumerate(launch)}
        regions = Regions(before)
        for _ in range(4):
            before = {**regions.by_argument}
            targets = {region: (at := 200 + 2 * int(rng.integers(40)), at + 3)
                       for region in {*before.values()} if rng.random() < 0.3}
            changed = {argument: targets[region] for argument, region in before.items()
                       if region in targets and rng.random() < 0.9}
            after, is_moved = {**before, **changed}, regions.move(changed)
            assert is_moved == _only_moved(before, after)
            assert regions.by_argument == (after if is_moved else before)
            if not is_moved:
                continue
            levels = [levels_of([[Use(*where[number, index], use.is_written) for index, use in enumerate(launch)]
                                 for number, launch in enumerate(uses)]) for where in (before, after)]
            assert levels[0] == levels[1]
            moves += bool(changed)
    assert moves > 20


def test_what_does_more_than_move() -> None:
    before = {"a": (0, 4), "b": (0, 4), "c": (4, 8), "d": (6, 9)}
    assert Regions(before).move({}) and Regions(before).move({"a": (20, 24), "b": (20, 24)})
    assert Regions({"a": (0, 4), "b": (8, 12)}).move({"a": (8, 12), "b": (0, 4)})
    for changed in ({"a": (20, 24)}, {"a": (20, 24), "b": (30, 34)}, {"a": (5, 9), "b": (5, 9)}, {"c": (30, 34)},
                    {"new": (50, 60)}, {"a": (20, 24), "b": (20, 24), "c": (22, 26), "d": (40, 43)}):
        assert not Regions(before).move(changed)
