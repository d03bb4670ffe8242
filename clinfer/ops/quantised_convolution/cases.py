"""No rows: models have no such operation (tests/ops/test_byte_products.py)."""
CASES = ()
