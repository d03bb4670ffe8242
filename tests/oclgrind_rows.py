"""Runs the reference kernels on their smallest case rows; meant to run under Oclgrind (see test_oclgrind.py)."""
from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from functools import partial
from importlib import import_module

from clinfer.base.errors import ClinferError
from clinfer.ops import ROOMS
from clinfer.ops.room import Case
from clinfer.runtime.device import available_devices
from clinfer.runtime.engine import Engine
from tests.oracle import build_model, parameter_specs
from tests.rooms.room_runner import SEED, ModelOf, Variant, is_unsupported, needs, run_case
from tests.rooms.tails import HOSTS, float_rows, tailed_model

LARGEST = 1500
ROWS_PER_KERNEL = 4


def _size(case: Case) -> int:
    constants = sum(getattr(entry, "size", 0) for entry in case.inputs if entry is not None)
    return sum(math.prod(shape) for shape, _ in parameter_specs(case)) + constants


def main() -> int:
    """Run; the number of rows that gave a wrong result or an error."""
    device = next(d for d in available_devices() if "oclgrind" in d.platform_name.lower())
    engine, failures, ran = Engine(device), 0, 0
    for room in ROOMS:
        kernels = sorted({s.name for specs in room.kernels.values() for s in specs if s.name.endswith("_ref")})
        cases = sorted(import_module(f"clinfer.ops.{room.name}.cases").CASES, key=_size)
        for kernel in kernels:
            for build in (build_model, *([partial(tailed_model, f"{SEED}")] if room.name in HOSTS else [])):
                done, failed = _run_kernel(engine, cases if build is build_model else float_rows(cases), kernel, build)
                ran, failures = ran + done, failures + failed
    print(f"rows run: {ran}, failures: {failures}, seed: {SEED}", flush=True)
    return failures


def _run_kernel(engine: Engine, cases: Iterable[Case], kernel: str, build: ModelOf) -> tuple[int, int]:
    """Run a kernel on its first rows; how many ran and failed."""
    done = failed = 0
    for case in cases:
        if done == ROWS_PER_KERNEL or _size(case) > LARGEST:
            break
        if not needs(case, engine):
            continue
        print(f"row {case.name} {kernel}", flush=True)
        try:
            run_case(engine, case, Variant(bool(case.sequence), kernel), build)
            done += 1
        except ClinferError as error:
            if not is_unsupported(error):
                failed += 1
                print(f"failed {case.name}: {error}", flush=True)
        except AssertionError as error:
            failed += 1
            print(f"failed {case.name}: {error}", flush=True)
    return done, failed


if __name__ == "__main__":
    sys.exit(main())
