"""Reorders appear in no model; tests/kernels/test_reorder.py crosses all formats and paddings."""
from clinfer.ops.room import Case

CASES: tuple[Case, ...] = ()
