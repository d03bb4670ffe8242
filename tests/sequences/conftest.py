"""How many random sequences run: few and always the same ones, or with CLINFER_TEST_FULL many and fresh ones."""
from __future__ import annotations

from hypothesis import HealthCheck, settings

from tests.seeds import FULL

_COMMON = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck), "print_blob": True}
settings.register_profile("clinfer", derandomize=True, max_examples=40, **_COMMON)
settings.register_profile("clinfer-full", max_examples=1000, **_COMMON)
settings.load_profile("clinfer-full" if FULL else "clinfer")
