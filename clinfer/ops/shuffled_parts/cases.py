"""No rows: models have no such operation (tests/program/test_join_shuffles.py)."""
CASES = ()
