"""Python's collector of cycles while models are made."""
from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from threading import Event, Thread

import pytest

from clinfer.base import collector
from clinfer.base.collector import collects_later


class _Cycle:
    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def enabled() -> Iterator[None]:
    """The collector as programs have it, whatever a test or the process of the tests did."""
    gc.enable()
    gc.unfreeze()
    yield
    gc.enable()
    gc.freeze()


@collects_later
def _made(fails: bool = False) -> weakref.ref[_Cycle]:
    assert not gc.isenabled()
    cycle = weakref.ref(_Cycle())
    assert cycle() is not None
    if fails:
        raise ValueError
    return cycle


def _is_old(cycle: weakref.ref[_Cycle]) -> bool:
    made = cycle()
    assert made is not None
    return any(made is other for other in gc.get_objects(generation=2))


def test_what_was_made_is_old_at_the_end_and_unseen() -> None:
    cycle = _made()
    assert _is_old(cycle)
    assert gc.isenabled()
    gc.collect()
    assert cycle() is None


def test_cycles_are_gone_where_much_is_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "MOST_UNSEEN", 5_000)
    monkeypatch.setattr(collector._PAUSES, "_unseen", 0)

    @collects_later
    def some() -> tuple[weakref.ref[_Cycle], list[list[int]]]:
        return weakref.ref(_Cycle()), [[] for _ in range(2_000)]

    made = [some() for _ in range(3)]
    assert made[0][0]() is None and made[-1][0]() is None
    assert some()[0]() is not None


def test_what_the_program_froze_stays_frozen() -> None:
    gc.freeze()
    count = gc.get_freeze_count()
    assert _made()() is None
    assert gc.get_freeze_count() == count


def test_it_goes_on_behind_an_error() -> None:
    with pytest.raises(ValueError):
        _made(fails=True)
    assert gc.isenabled()


def test_it_stays_off_where_the_program_wants_that() -> None:
    gc.disable()
    assert not _is_old(_made())
    assert not gc.isenabled()


def test_the_outermost_call_counts() -> None:
    @collects_later
    def outer() -> None:
        assert not _is_old(_made())
        assert not gc.isenabled()

    outer()
    assert gc.isenabled()


def test_threads_wait_for_each_other() -> None:
    inside, leave = Event(), Event()

    @collects_later
    def long() -> None:
        inside.set()
        leave.wait(10)

    thread = Thread(target=long)
    thread.start()
    inside.wait(10)
    _made()
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()
