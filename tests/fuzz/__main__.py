"""Random graphs by hand: `python -m tests.fuzz --seed 1 --graphs 2000 --processes 16 --device CPU`.

Exit status 1 where something was found, or where not one graph ended. Each finding is told at once, cut down, joined
with others of the same cause, and written as a Python program that stands alone. The last line has the totals, also
when the time was over (`--seconds`) or the process was told to end (SIGTERM, Ctrl-C).
"""
from __future__ import annotations

import argparse
import contextlib
import secrets
import sys
from pathlib import Path

from tests.cores import interrupt_when_terminated
from tests.fuzz.session import Session


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Run random graphs.")
    parser.add_argument("--seed", type=int, default=None, help="the first seed (default: a fresh one)")
    parser.add_argument("--graphs", type=int, default=200, help="how many graphs (default: 200)")
    parser.add_argument("--processes", type=int, default=1, help="how many processes (default: 1)")
    parser.add_argument("--device", default="CPU", help="the device (default: CPU)")
    parser.add_argument("--seconds", type=float, default=None, help="end after this time")
    parser.add_argument("--shrink", type=float, default=60, help="seconds for cutting down one finding (default: 60)")
    parser.add_argument("--output", type=Path, default=None, help="a folder for the reproducers")
    given = parser.parse_args()
    first = secrets.randbelow(2**31) if given.seed is None else given.seed
    session = Session(given.device, given.shrink, given.output)
    interrupt_when_terminated()
    print(f"seeds {first} to {first + given.graphs - 1} on {given.device}, {given.processes} processes", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        session.run(range(first, first + given.graphs), given.processes, given.seconds)
    print(session.summary(), flush=True)
    return 1 if session.findings or not session.graphs else 0


if __name__ == "__main__":
    sys.exit(main())
