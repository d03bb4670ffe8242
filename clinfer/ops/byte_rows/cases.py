"""No model has these operations by name; tests/api/test_decoders.py runs caches that are made of them."""
from clinfer.ops.operation import Case

CASES: tuple[Case, ...] = ()
