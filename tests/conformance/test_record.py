"""The record: what counts as worse, and that it only rises."""
from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance import page
from tests.conformance.outcome import ERROR, IMPORT_FAIL, PASS, UNSUPPORTED, WRONG, Outcome
from tests.conformance.record import Difference, Record

RECORD = Record(frozenset({"a", "b"}), (Difference("the import rounds", True, ("c", "d")),
                                        Difference("ONNX is vague", False, ("e",))))


def _outcome(name: str, status: str, is_openvinos: bool = False) -> Outcome:
    theirs = "" if is_openvinos else "theirs differs"
    return Outcome(name, "Op", status, "why", is_openvinos=is_openvinos, openvino=theirs)


@pytest.mark.parametrize("outcome, problem", [
    (_outcome("a", PASS), ""),
    (_outcome("new", PASS), ""),
    (_outcome("new", UNSUPPORTED), ""),
    (_outcome("new", IMPORT_FAIL), ""),
    (_outcome("c", WRONG, is_openvinos=True), ""),
    (_outcome("e", WRONG), ""),
    (_outcome("new", ERROR), "error: why"),
    (_outcome("new", WRONG), "wrong: why (theirs differs)"),
    (_outcome("new", WRONG, is_openvinos=True), "OpenVINO's CPU plugin gives the same"),
    (_outcome("a", WRONG), "wrong: why"),
    (_outcome("a", UNSUPPORTED), "passed before, now unsupported"),
    (_outcome("a", IMPORT_FAIL), "passed before, now import-fail"),
    (_outcome("c", PASS), "a known difference passes"),
    (_outcome("c", ERROR), "error: why"),
    (_outcome("c", UNSUPPORTED), "a known difference is unsupported now"),
    (_outcome("c", WRONG), "a known difference, but theirs differs"),
])
def test_problems(outcome: Outcome, problem: str) -> None:
    found = RECORD.find_problems([outcome])
    assert len(found) == bool(problem)
    assert all(problem in text and text.startswith(outcome.name) for text in found)


def test_recorded_cases_that_are_gone_are_found() -> None:
    there = [_outcome(name, PASS) for name in "abce"]
    assert RECORD.find_missing(there) == ["d: recorded, but no such case"]


def test_the_record_only_rises() -> None:
    raised = RECORD.raised([_outcome("a", WRONG), _outcome("new", PASS), _outcome("c", PASS), _outcome("e", PASS)])
    assert raised.passing == {"a", "b", "c", "e", "new"}
    assert raised.known == (Difference("the import rounds", True, ("d",)),)


def test_the_record_survives_its_files(tmp_path: Path) -> None:
    RECORD.save(tmp_path / "passing.json", tmp_path / "known.json")
    assert Record.load(tmp_path / "passing.json", tmp_path / "known.json") == RECORD


def test_what_is_checked_in_is_consistent() -> None:
    record = Record.load()
    known = [name for difference in record.known for name in difference.cases]
    assert len(known) == len(set(known)) and not record.passing.intersection(known)
    assert all(difference.reason and difference.cases for difference in record.known)


def test_the_page_shows_the_record() -> None:
    record, text = Record.load(), page.PAGE.read_text(encoding="utf-8")
    assert page.part("differences", text) == page.differences_text(record)
    assert f": {len(record.passing)} pass, " in page.part("table", text)


def test_the_page_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text("before\n<!-- differences -->\n\nold\n\n<!-- end of differences -->\nbetween\n"
                    "<!-- table -->\n\nold\n\n<!-- end of table -->\nafter", encoding="utf-8")
    outcomes = [_outcome("a", PASS), _outcome("c", WRONG)]
    page.write(RECORD, outcomes, path)
    text = path.read_text(encoding="utf-8")
    assert text.startswith("before\n") and "between" in text and text.endswith("after") and "old" not in text
    assert page.part("differences", text) == page.differences_text(RECORD)
    assert page.part("table", text) == page.table_text(outcomes)
