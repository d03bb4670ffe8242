"""The record: what counts as worse, and that it only rises."""
from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance import page
from tests.conformance.cases import case_names, load_cases
from tests.conformance.outcome import ERROR, IMPORT_FAIL, PASS, UNSUPPORTED, WRONG, Outcome
from tests.conformance.record import Difference, Record, Refusal

RECORD = Record(frozenset({"a", "b"}), (Difference("the import rounds", True, ("c", "d")),
                                        Difference("ONNX is vague", False, ("e",))),
                (Refusal("no such type", ("f", "g")),))


def _outcome(name: str, status: str, is_openvinos: bool = False) -> Outcome:
    theirs = "" if is_openvinos else "theirs differs"
    return Outcome(name, "Op", status, "why", is_openvinos=is_openvinos, openvino=theirs)


@pytest.mark.parametrize("outcome, problem", [
    (_outcome("a", PASS), ""),
    (_outcome("new", PASS), ""),
    (_outcome("f", UNSUPPORTED), ""),
    (_outcome("g", IMPORT_FAIL), ""),
    (_outcome("f", PASS), "a case that was refused passes"),
    (_outcome("f", WRONG), "wrong: why"),
    (_outcome("new", UNSUPPORTED), "unsupported, for no recorded reason: why"),
    (_outcome("new", IMPORT_FAIL), "import-fail, for no recorded reason: why"),
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
    there = [_outcome(name, PASS) for name in "abcefg"]
    assert RECORD.find_missing(there) == ["d: recorded, but no such case"]


def test_the_record_only_rises() -> None:
    raised = RECORD.raised([_outcome("a", WRONG), _outcome("new", PASS), _outcome("c", PASS), _outcome("e", PASS),
                             _outcome("f", PASS)])
    assert raised.passing == {"a", "b", "c", "e", "f", "new"}
    assert raised.refused == (Refusal("no such type", ("g",)),)
    assert raised.known == (Difference("the import rounds", True, ("d",)),)


def test_the_record_survives_its_files(tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.json" for name in ("passing", "known", "refused")]
    RECORD.save(*paths)
    assert Record.load(*paths) == RECORD


def test_what_is_checked_in_is_consistent() -> None:
    record = Record.load()
    groups = (*record.known, *record.refused)
    named = [name for group in groups for name in group.cases]
    assert len(named) == len(set(named)) and not record.passing.intersection(named)
    assert all(group.reason and group.cases for group in groups)


def test_every_case_is_recorded() -> None:
    record = Record.load()
    recorded = record.passing.union(*(group.cases for group in (*record.known, *record.refused)))
    assert recorded == {case.name for case in case_names(load_cases())}


def test_the_page_shows_the_record() -> None:
    record, text = Record.load(), page.PAGE.read_text(encoding="utf-8")
    assert page.part("differences", text) == page.differences_text(record)
    assert page.part("refused", text) == page.refused_text(record)
    assert f": {len(record.passing)} pass, " in page.part("table", text)


def test_the_page_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text("before\n<!-- differences -->\n\nold\n\n<!-- end of differences -->\nbetween\n"
                    "<!-- refused -->\n\nold\n\n<!-- end of refused -->\n"
                    "<!-- table -->\n\nold\n\n<!-- end of table -->\nafter", encoding="utf-8")
    outcomes = [_outcome("a", PASS), _outcome("c", WRONG)]
    page.write(RECORD, outcomes, path)
    text = path.read_text(encoding="utf-8")
    assert text.startswith("before\n") and "between" in text and text.endswith("after") and "old" not in text
    assert page.part("differences", text) == page.differences_text(RECORD)
    assert page.part("refused", text) == page.refused_text(RECORD)
    assert page.part("table", text) == page.table_text(outcomes)
