"""Custom operations have no rows: they are none of OpenVINO's. See tests/api/test_custom_operations.py."""
from __future__ import annotations

from clinfer.ops.operation import Case

CASES: tuple[Case, ...] = ()
