"""Which tests run, in which order, and which ones stay together in one process.

What takes long begins first, so that processes end at about the same time. Tests of one file and device stay together,
because they share fixtures and kernels; what takes minutes is in parts.
"""
from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from tests.seeds import seed_of

APART = ("test_oclgrind.py", "conformance/test_conformance.py", "ops/test_cases.py", "models/", "sequences/")
"""Files whose tests take long and need not stay together."""
ORDER = (*APART, "test_demo.py", "api/test_hostile_blobs.py", "runtime/test_capabilities.py", "test_house_rules.py",
         "test_kernel_sources.py", "test_footprint.py", "test_examples.py", "test_watch_text.py", "fuzz/", "faults/",
         "canary/", "test_package.py", "ops/", "program/", "network/", "remote/")
"""What begins first, in this order, before all else: what takes long, and what makes a process large for a while, as
long as it is small."""
WHOLE = ("runtime/",)
"""Tests of drivers, which all devices run in full."""
PART = 1 / 4
"""How many of the other tests run on the second device of a type and further ones too, chosen by the seed; those marked
`each_device` all do, those marked `first_device` none."""


def split_part(items: Iterable[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """(what runs, what is left out): another device of the type runs it all, or other rows of the test are its like."""
    every = list(items)
    crossings: dict[str, list[pytest.Item]] = {}
    for item in every:
        if item.get_closest_marker("sampled"):
            crossings.setdefault(item.nodeid.partition("[")[0], []).append(item)
    unchosen = {item.nodeid for rows in crossings.values() for item in _unchosen(rows)}
    left_out = [item for item in every if item.nodeid in unchosen or _is_left_out(item)]
    names = {item.nodeid for item in left_out}
    return [item for item in every if item.nodeid not in names], left_out


def _unchosen(rows: list[pytest.Item]) -> list[pytest.Item]:
    """The rows of a test marked `sampled(share)` that do not run: all but that share, and at least one runs.

    Which ones follows from the seeds of the rows, so most are those of earlier runs.
    """
    mark = rows[0].get_closest_marker("sampled")
    assert mark is not None
    ranked = sorted(rows, key=lambda item: random.Random(f"{seed_of(item.nodeid)}{item.nodeid}").random())
    return ranked[max(1, round(len(rows) * mark.args[0])):]


def group(items: Iterable[pytest.Item]) -> None:
    """Mark the tests that stay together: those of a file and a device, and of one real model."""
    for item in items:
        if is_of_a_model(item):
            item.add_marker(pytest.mark.xdist_group(f"model {_parameter(item, 'name')} {device_of(item)}"))
        elif not any(part in item.path.as_posix() for part in APART):
            item.add_marker(pytest.mark.xdist_group(f"{item.path.parent.name}/{item.path.name} {device_of(item)}"))


def is_of_a_model(item: pytest.Item) -> bool:
    """Whether a test runs a real model."""
    return "models/" in item.path.as_posix()


def stays_with(item: pytest.Item) -> str:
    """The same for tests that share what they cache."""
    mark = item.get_closest_marker("xdist_group")
    return str(mark.args[0]) if mark else item.path.as_posix()


def device_of(item: pytest.Item) -> str:
    """The name of the device that a test runs on; empty if it is none or not alone."""
    return _parameter(item, "device")


def _parameter(item: pytest.Item, name: str) -> str:
    row = getattr(item, "callspec", None)
    value = row.params.get(name, "") if row else ""
    return value if isinstance(value, str) else ""


def place_of(item: pytest.Item) -> tuple[int, str]:
    """What the tests are sorted by: what takes long first, groups together."""
    return _place(item), stays_with(item)


class Sorting:
    """Sorts the tests when all else has arranged them."""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=place_of)


def _place(item: pytest.Item) -> int:
    path = item.path.as_posix()
    return next((number for number, part in enumerate(ORDER) if part in path), len(ORDER))


def _is_left_out(item: pytest.Item) -> bool:
    name, path = device_of(item), item.path.as_posix()
    if name and not name.endswith(".0") and item.get_closest_marker("first_device"):
        return True
    if not name or name.endswith(".0") or item.get_closest_marker("each_device") or any(part in path for part in WHOLE):
        return False
    return random.Random(f"{seed_of(item.nodeid)}{item.nodeid}").random() > PART
