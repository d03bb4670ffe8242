"""Loops have bodies, so their tests are models, in tests/network/test_loops.py; no row fits the table."""
from clinfer.ops.operation import Case

CASES: tuple[Case, ...] = ()
