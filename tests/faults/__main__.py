"""Strikes inferences and compilations with faults and interrupts, and checks what follows them.

`python -m tests.faults --seed N --count N --device CPU.0 --processes P --seconds S`; `--case JSON` repeats one. Each
case compiles a model anew, runs it a few times, lets a line, a bytecode or a call of the driver raise (or SIGINT
arrive), and compares the next inferences, of other shapes too, with NumPy. Crashes and hangs of the child processes are
findings. The last line has the totals, also when the time was over or the process was told to end (SIGTERM, Ctrl-C).
Exits with 1 if there are findings, or if not one case ended.
"""
from __future__ import annotations

import argparse
import json
import secrets
import sys
import time

from tests.cores import interrupt_when_terminated
from tests.faults.campaign import cases, run
from tests.faults.injection import MODES
from tests.faults.kinds import KINDS
from tests.faults.trial import Case


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=None, help="repeat the cases of an earlier run")
    parser.add_argument("--count", type=int, default=1000, help="how many cases (1000)")
    parser.add_argument("--device", default="AUTO")
    parser.add_argument("--processes", type=int, default=1, help="child processes at a time (1)")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds after which a case hangs (60)")
    parser.add_argument("--seconds", type=float, default=None, help="end after this time")
    parser.add_argument("--kind", action="append", default=[], choices=KINDS, help="only such models")
    parser.add_argument("--mode", action="append", default=[], choices=MODES, help="only such faults")
    parser.add_argument("--part", action="append", default=[], choices=("infer", "compile"))
    parser.add_argument("--case", help="one case, as findings print it")
    given = parser.parse_args()
    seed = secrets.randbits(32) if given.seed is None else given.seed
    chosen = ([Case(**json.loads(given.case.replace("'", '"')))] if given.case else
              list(cases(seed, given.count, given.device, given.kind, given.mode, given.part)))
    print(f"seed {seed}, {len(chosen)} cases on {given.device}, {given.processes} processes", flush=True)
    start = time.monotonic()
    interrupt_when_terminated()
    summary = run(chosen, given.processes, given.timeout, tell=True, seconds=given.seconds)
    for case, outcome in summary.findings:
        print(f"  {case}: {outcome.finding.strip().splitlines()[0]}")
    for case, seconds in summary.cut_off:
        print(f"  cut off after {seconds:.0f} s: {case}")
    print(f"{summary}; {time.monotonic() - start:.0f} s", flush=True)
    sys.exit(bool(summary.findings) or not summary.total)


if __name__ == "__main__":
    main()
