"""Reorders appear in no model; tests/kernels/test_reorder.py crosses all formats and paddings."""
from clinfer.ops.operation import Case

CASES: tuple[Case, ...] = ()
