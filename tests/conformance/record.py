"""What is checked in: the cases that pass, which may only become more, and the known differences, only fewer."""
from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.outcome import ERROR, PASS, WRONG, CaseName, Outcome

_FOLDER = Path(__file__).resolve().parent
PASSING = _FOLDER / "passing.json"
KNOWN = _FOLDER / "known_differences.json"


@dataclass(frozen=True)
class Difference:
    """Cases whose results are not ONNX's for one reason.

    `is_openvinos`: OpenVINO's CPU plugin gives the same results, and ours are held against them.
    """

    reason: str
    is_openvinos: bool
    cases: tuple[str, ...]


@dataclass(frozen=True)
class Record:
    """The checked-in state."""

    passing: frozenset[str]
    known: tuple[Difference, ...]

    @staticmethod
    def load(passing: Path = PASSING, known: Path = KNOWN) -> Record:
        """The record in these files."""
        groups = json.loads(known.read_text(encoding="utf-8"))
        return Record(frozenset(json.loads(passing.read_text(encoding="utf-8"))["cases"]),
                      tuple(Difference(g["reason"], g["is_openvinos"], tuple(g["cases"])) for g in groups))

    def save(self, passing: Path = PASSING, known: Path = KNOWN) -> None:
        """Write the record to these files."""
        names = {"count": len(self.passing), "cases": sorted(self.passing)}
        passing.write_text(json.dumps(names, indent=1) + "\n", encoding="utf-8")
        groups = [{"reason": d.reason, "is_openvinos": d.is_openvinos, "cases": list(d.cases)} for d in self.known]
        known.write_text(json.dumps(groups, indent=1) + "\n", encoding="utf-8")

    def find_problems(self, outcomes: Sequence[Outcome]) -> list[str]:
        """What is worse than the record, or better without the record saying so, in outcomes of all or some cases."""
        known = {name: difference for difference in self.known for name in difference.cases}
        found = []
        for outcome in outcomes:
            problem = self._problem(outcome, known.get(outcome.name))
            if problem:
                found.append(f"{outcome.name}: {problem}")
        return found

    def find_missing(self, cases: Iterable[Outcome | CaseName]) -> list[str]:
        """Recorded cases that are not among all cases."""
        recorded = self.passing.union(*(difference.cases for difference in self.known))
        return [f"{name}: recorded, but no such case"
                for name in sorted(recorded - {case.name for case in cases})]

    def raised(self, outcomes: Sequence[Outcome]) -> Record:
        """The record with the cases that pass now; nothing that passed before is taken away."""
        passing = self.passing.union(outcome.name for outcome in outcomes if outcome.status == PASS)
        kept = [Difference(d.reason, d.is_openvinos, tuple(name for name in d.cases if name not in passing))
                for d in self.known]
        return Record(passing, tuple(difference for difference in kept if difference.cases))

    def _problem(self, outcome: Outcome, known: Difference | None) -> str:
        if outcome.status == ERROR:
            return f"error: {outcome.detail}"
        if known is not None:
            return _problem_of_known(outcome, known)
        if outcome.status == WRONG:
            beside = "OpenVINO's CPU plugin gives the same" if outcome.is_openvinos else outcome.openvino
            return f"wrong: {outcome.detail} ({beside})"
        if outcome.status != PASS and outcome.name in self.passing:
            return f"passed before, now {outcome.status}: {outcome.detail}"
        return ""


def _problem_of_known(outcome: Outcome, known: Difference) -> str:
    if outcome.status == PASS:
        return "a known difference passes: `python -m tests.conformance --update` takes it off the list"
    if outcome.status != WRONG:
        return f"a known difference is {outcome.status} now: {outcome.detail}"
    if known.is_openvinos and not outcome.is_openvinos:
        return f"a known difference, but {outcome.openvino}"
    return ""
