"""RandomUniform has no rows: each run gives other numbers, see tests/api/test_random_uniform.py."""
from clinfer.ops.operation import Case

CASES: tuple[Case, ...] = ()
