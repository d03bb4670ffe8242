"""Rows run in shards, whose kernels are built ahead of the rows: in batches, not one by one."""
from __future__ import annotations

from functools import lru_cache

import pytest

from clinfer.ops.operation import Case
from clinfer.runtime.engine import Engine
from tests.devices import engine_of
from tests.ops.shards import Row, Shard, shards_of
from tests.scheduling import device_of


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The rows of a shard run in one process."""
    rows = [item for item in items if getattr(item, "originalname", "") == "test_row"]
    for device in {device_of(item) for item in rows}:
        own = [item for item in rows if device_of(item) == device]
        shards = shards_of(map(_row_of, own))
        for item in own:
            item.add_marker(pytest.mark.xdist_group(f"rows {shards[_row_of(item)[0]]} on {device}"))


@pytest.fixture
def shard(request: pytest.FixtureRequest, engine: Engine) -> Shard:
    """The programs of the rows that run in one process with this one."""
    return _shard_of(request.session, request.node.get_closest_marker("xdist_group").args[0], engine.device.name)


@lru_cache(maxsize=1)
def _shard_of(session: pytest.Session, group: str, device: str) -> Shard:
    marks = ((item, item.get_closest_marker("xdist_group")) for item in session.items)
    return Shard(engine_of(device), [_row_of(item) for item, mark in marks if mark and mark.args[0] == group])


def _row_of(item: pytest.Item) -> Row:
    params = item.callspec.params  # type: ignore[attr-defined]
    op, case = params["op"], params["case"]
    assert isinstance(case, Case)
    return op, case
