"""Python's collector of cycles while models are made."""
from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from threading import Event, Thread

import pytest

from clinfer.base.collector import collects_at_the_end


class _Cycle:
    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def enabled() -> Iterator[None]:
    """The collector as programs have it, whatever a test did."""
    gc.enable()
    yield
    gc.enable()


@collects_at_the_end
def _made(fails: bool = False) -> weakref.ref[_Cycle]:
    assert not gc.isenabled()
    cycle = weakref.ref(_Cycle())
    assert cycle() is not None
    if fails:
        raise ValueError
    return cycle


def test_cycles_are_gone_at_the_end() -> None:
    assert _made()() is None
    assert gc.isenabled()


def test_it_goes_on_behind_an_error() -> None:
    with pytest.raises(ValueError):
        _made(fails=True)
    assert gc.isenabled()


def test_it_stays_off_where_the_program_wants_that() -> None:
    gc.disable()
    assert _made()() is not None
    assert not gc.isenabled()


def test_the_outermost_call_counts() -> None:
    @collects_at_the_end
    def outer() -> None:
        _made()
        assert not gc.isenabled()

    outer()
    assert gc.isenabled()


def test_threads_wait_for_each_other() -> None:
    inside, leave = Event(), Event()

    @collects_at_the_end
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
