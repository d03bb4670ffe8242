"""No rows: models have no such operation (tests/ops/test_winograd.py)."""
CASES = ()
