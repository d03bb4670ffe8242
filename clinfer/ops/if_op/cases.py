"""If has bodies, so its tests are models, in tests/network/test_if.py; no row fits the table."""
from clinfer.ops.operation import Case

CASES: tuple[Case, ...] = ()
