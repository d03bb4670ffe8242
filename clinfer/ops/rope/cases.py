"""No model has this operation by name; tests/program/test_fuse_rope.py runs what the pass makes."""
from clinfer.ops.operation import Case

CASES: tuple[Case, ...] = ()
