"""Fixtures of network tests."""
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clinfer.kernels import specialiser as specialiser_module
from clinfer.kernels.specialiser import Specialiser
from clinfer.network.plans import special_plans
from clinfer.runtime.engine import Engine
from tests.network.specialising import FakeHelper, last_wins


@pytest.fixture
def background(engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Specialiser]:
    """A specialiser of the test's own, with a fake helper and an empty cache on disk."""
    monkeypatch.setenv("CLINFER_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(specialiser_module, "Helper", FakeHelper)
    monkeypatch.setattr(FakeHelper, "timing", staticmethod(last_wins))
    monkeypatch.setattr(FakeHelper, "trials", 0)
    monkeypatch.setattr(FakeHelper, "gate", None)
    own = Specialiser(engine)
    monkeypatch.setattr(special_plans, "specialiser_of", lambda _: own)
    yield own
    own.close()
