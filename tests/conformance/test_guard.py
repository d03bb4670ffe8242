"""A case that brings its process down, or never ends, is a result; the run goes on."""
from __future__ import annotations

import os
import time
from multiprocessing.connection import Connection

import pytest

from tests.conformance.guard import Guard
from tests.conformance.outcome import ERROR, PASS, CaseName

CASES = [CaseName(name, "Op") for name in ("good", "crashing", "hanging", "leaving", "last")]


def serve_badly(connection: Connection, device: str) -> None:
    """A worker whose cases do what they are called."""
    connection.send(CASES)
    while True:
        try:
            question, name = connection.recv()
        except EOFError:
            return
        if name == "crashing":
            os.abort()
        if name == "hanging":
            time.sleep(3600)
        if name == "leaving":
            raise SystemExit(7)
        connection.send((PASS, device, 0.5) if question == "judge" else (True, ""))


def serve_nothing(connection: Connection, device: str) -> None:
    """A worker that ends before it says anything."""


def test_crashes_and_hangs_are_results() -> None:
    with Guard("CPU.7", 3.0, serve_badly) as guard:
        outcomes = {case.name: guard.judge(case) for case in guard.names}
    assert {name: outcome.status for name, outcome in outcomes.items()} == {
        "good": PASS, "crashing": ERROR, "hanging": ERROR, "leaving": ERROR, "last": PASS}
    assert outcomes["good"].detail == "CPU.7" and outcomes["good"].seconds == 0.5
    assert "exit code -6" in outcomes["crashing"].detail
    assert "no answer after 3 s" in outcomes["hanging"].detail
    assert "exit code 7" in outcomes["leaving"].detail


def test_a_crash_of_the_comparison_leaves_the_case_as_it_is() -> None:
    with Guard("CPU", 3.0, serve_badly) as guard:
        assert guard.beside_openvino(CASES[0]) == (True, "")
        is_same, what = guard.beside_openvino(CASES[1])
    assert not is_same and "exit code" in what


def test_a_worker_that_cannot_start_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="before the first case"):
        Guard("CPU", 3.0, serve_nothing).start()
