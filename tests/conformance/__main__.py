"""Run ONNX's node tests through clinfer; exit code 1 if anything is worse than what is recorded."""
from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from tests.conformance import page
from tests.conformance.outcome import CaseName, Outcome
from tests.conformance.record import Record
from tests.conformance.report import summary, table, write_json
from tests.conformance.runner import TIMEOUT_S, run_cases


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--device", default="CPU", help="an OpenCL device of clinfer, such as CPU.0")
    parser.add_argument("-k", dest="pattern", default="", help="only cases whose name matches this expression")
    parser.add_argument("--timeout", type=float, default=TIMEOUT_S, help="seconds that one case may take")
    parser.add_argument("--jobs", type=int, default=1, help="how many cases run at a time")
    parser.add_argument("--json", type=Path, help="write every outcome to this file")
    parser.add_argument("--table", action="store_true", help="print a table by operation")
    parser.add_argument("--update", action="store_true", help="record what passes now, if nothing became worse")
    options = parser.parse_args()
    if options.update and options.pattern:
        parser.error("--update needs all cases: the record and its page tell of all")
    return options


def main() -> int:
    """Run, report, and compare with the record."""
    options = _arguments()

    def choose(cases: Sequence[CaseName]) -> list[CaseName]:
        return [case for case in cases if re.search(options.pattern, case.name)]
    record = Record.load()
    outcomes, problems = [], []
    for outcome in run_cases(options.device, choose, options.timeout, options.jobs):
        outcomes.append(outcome)
        for problem in record.find_problems([outcome]):
            problems.append(problem)
            print(problem, flush=True)
    if not options.pattern:
        problems += record.find_missing(outcomes)
    if options.json:
        write_json(outcomes, options.device, options.json)
    if options.table:
        print(table(outcomes))
    print(f"{summary(outcomes)}; {len(problems)} problems")
    return _update(record, outcomes) if options.update else int(bool(problems))


def _update(record: Record, outcomes: list[Outcome]) -> int:
    raised = record.raised(outcomes)
    if raised.find_problems(outcomes):
        print("not recorded, because of these problems")
        return 1
    raised.save()
    page.write(raised, outcomes)
    print(f"recorded: {len(record.passing)} passed before, {len(raised.passing)} now")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
