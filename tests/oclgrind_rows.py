"""Runs the reference kernels on their smallest case rows; meant to run under Oclgrind (see test_oclgrind.py)."""
from __future__ import annotations

import math
import sys
from importlib import import_module

from clinfer.base.errors import ClinferError
from clinfer.ops import ROOMS
from clinfer.ops.room import Case
from clinfer.runtime.device import available_devices
from clinfer.runtime.engine import Engine
from tests.oracle import parameter_specs
from tests.rooms.room_runner import Variant, is_unsupported, needs, run_case

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
            rows = 0
            for case in cases:
                if rows == ROWS_PER_KERNEL or _size(case) > LARGEST:
                    break
                if not needs(case, engine):
                    continue
                print(f"row {case.name} {kernel}", flush=True)
                try:
                    run_case(engine, case, Variant(bool(case.sequence), kernel))
                    rows, ran = rows + 1, ran + 1
                except ClinferError as error:
                    if not is_unsupported(error):
                        failures += 1
                        print(f"failed {case.name}: {error}", flush=True)
                except AssertionError as error:
                    failures += 1
                    print(f"failed {case.name}: {error}", flush=True)
    print(f"rows run: {ran}, failures: {failures}", flush=True)
    return failures


if __name__ == "__main__":
    sys.exit(main())
