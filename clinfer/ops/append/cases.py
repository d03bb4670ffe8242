"""No model has this operation by name; tests/program/test_turn_into_caches.py runs what the pass makes."""
from clinfer.ops.operation import Case

CASES: tuple[Case, ...] = ()
