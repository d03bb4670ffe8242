"""What is checked in: the cases that pass, which may only become more, and the known differences and the cases that are
refused, only fewer. Each case that does not pass stands there with its reason."""
from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from tests.conformance.outcome import ERROR, PASS, WRONG, CaseName, Outcome

_FOLDER = Path(__file__).resolve().parent
PASSING = _FOLDER / "passing.json"
KNOWN = _FOLDER / "known_differences.json"
REFUSED = _FOLDER / "refused_cases.json"


@dataclass(frozen=True)
class Difference:
    """Cases whose results are not ONNX's for one reason.

    `is_openvinos`: OpenVINO's CPU plugin gives the same results, and ours are held against them.
    """

    reason: str
    is_openvinos: bool
    cases: tuple[str, ...]


@dataclass(frozen=True)
class Refusal:
    """Cases that are not run, by an error that says so, for one reason."""

    reason: str
    cases: tuple[str, ...]


@dataclass(frozen=True)
class Record:
    """The checked-in state."""

    passing: frozenset[str]
    known: tuple[Difference, ...]
    refused: tuple[Refusal, ...]

    @staticmethod
    def load(passing: Path = PASSING, known: Path = KNOWN, refused: Path = REFUSED) -> Record:
        """The record in these files."""
        return Record(frozenset(_read(passing)["cases"]),
                      tuple(Difference(g["reason"], g["is_openvinos"], tuple(g["cases"])) for g in _read(known)),
                      tuple(Refusal(g["reason"], tuple(g["cases"])) for g in _read(refused)))

    def save(self, passing: Path = PASSING, known: Path = KNOWN, refused: Path = REFUSED) -> None:
        """Write the record to these files."""
        _write(passing, {"count": len(self.passing), "cases": sorted(self.passing)})
        _write(known, list(map(asdict, self.known)))
        _write(refused, list(map(asdict, self.refused)))

    def find_problems(self, outcomes: Sequence[Outcome]) -> list[str]:
        """What is worse than the record, or better without the record saying so, in outcomes of all or some cases."""
        known = {name: difference for difference in self.known for name in difference.cases}
        refused = {name for refusal in self.refused for name in refusal.cases}
        found = []
        for outcome in outcomes:
            problem = self._problem(outcome, known.get(outcome.name), outcome.name in refused)
            if problem:
                found.append(f"{outcome.name}: {problem}")
        return found

    def find_missing(self, cases: Iterable[Outcome | CaseName]) -> list[str]:
        """Recorded cases that are not among all cases."""
        recorded = self.passing.union(*(group.cases for group in (*self.known, *self.refused)))
        return [f"{name}: recorded, but no such case"
                for name in sorted(recorded - {case.name for case in cases})]

    def raised(self, outcomes: Sequence[Outcome]) -> Record:
        """The record with the cases that pass now; nothing that passed before is taken away."""
        passing = self.passing.union(outcome.name for outcome in outcomes if outcome.status == PASS)
        return Record(passing, _without(passing, self.known), _without(passing, self.refused))

    def _problem(self, outcome: Outcome, known: Difference | None, is_refused: bool) -> str:
        if outcome.status == ERROR:
            return f"error: {outcome.detail}"
        if known is not None:
            return _problem_of_known(outcome, known)
        if outcome.status == WRONG:
            beside = "OpenVINO's CPU plugin gives the same" if outcome.is_openvinos else outcome.openvino
            return f"wrong: {outcome.detail} ({beside})"
        if outcome.status != PASS and outcome.name in self.passing:
            return f"passed before, now {outcome.status}: {outcome.detail}"
        if outcome.status != PASS and not is_refused:
            return f"{outcome.status}, for no recorded reason: {outcome.detail}"
        if outcome.status == PASS and is_refused:
            return "a case that was refused passes: `python -m tests.conformance --update` takes it off the list"
        return ""


_Group = TypeVar("_Group", Difference, Refusal)


def _without(passing: frozenset[str], groups: Sequence[_Group]) -> tuple[_Group, ...]:
    """The groups that are left without the cases that pass."""
    kept = [replace(group, cases=tuple(name for name in group.cases if name not in passing)) for group in groups]
    return tuple(group for group in kept if group.cases)


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _problem_of_known(outcome: Outcome, known: Difference) -> str:
    if outcome.status == PASS:
        return "a known difference passes: `python -m tests.conformance --update` takes it off the list"
    if outcome.status != WRONG:
        return f"a known difference is {outcome.status} now: {outcome.detail}"
    if known.is_openvinos and not outcome.is_openvinos:
        return f"a known difference, but {outcome.openvino}"
    return ""
