"""Fixtures for tests that run on every OpenCL device of the machine."""
from __future__ import annotations

import random
import zlib
from collections.abc import Iterator

import numpy as np
import pytest

from clinfer.network import network
from clinfer.runtime.device import DeviceInfo, available_devices, find_device
from clinfer.runtime.engine import Engine
from clinfer.runtime.stream import Stream
from tests.answers import kept_answers
from tests.checked_plans import CheckedPlanner
from tests.seeds import FULL, seed_of


@pytest.fixture(scope="session", autouse=True)
def check_every_plan() -> Iterator[None]:
    """Whatever a test runs, each of its plans is made in both ways and compared."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network, "Planner", CheckedPlanner)
        yield


LONG = ("rooms/test_rooms.py", "models/", "sequences/")
"""Tests of which the second device of a type and further ones run a part, chosen by the seed."""
PART = 1 / 3
EARLY = ("test_oclgrind.py", "test_conformance.py")
"""Single tests that take minutes, beside which others run if they begin first."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out some of what takes long on devices of which another one of the type runs it all."""
    items.sort(key=lambda item: item.path.name not in EARLY)
    if FULL:
        return
    left_out = [item for item in items if _is_left_out(item)]
    gone = set(map(id, left_out))
    items[:] = [item for item in items if id(item) not in gone]
    config.hook.pytest_deselected(items=left_out)


def _is_left_out(item: pytest.Item) -> bool:
    row = getattr(item, "callspec", None)
    name = row.params.get("device", "") if row else ""
    if not isinstance(name, str) or not name or name.endswith(".0") or not any(
            part in item.path.as_posix() for part in LONG):
        return False
    return random.Random(f"{seed_of(item.nodeid)}{item.nodeid}").random() > PART


def pytest_sessionfinish(session: pytest.Session) -> None:
    """The first process of a run keeps the answers within their limit."""
    if not hasattr(session.config, "workerinput"):
        kept_answers().trim()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, default=None, help="repeat the random inputs of an earlier run")


@pytest.fixture(scope="session", params=[device.name for device in available_devices()])
def device(request: pytest.FixtureRequest) -> DeviceInfo:
    """Each device in turn."""
    return find_device(request.param)


@pytest.fixture(scope="session")
def engine(device: DeviceInfo) -> Engine:
    """One engine per device for the whole run."""
    return Engine(device)


@pytest.fixture
def overlapping(engine: Engine) -> None:
    """For tests of what needs buffers that overlap; `tests/network/test_apart.py` is about devices without."""
    if not engine.capabilities.overlapping_parts:
        pytest.skip("the device has no buffers that overlap")


@pytest.fixture
def stream(engine: Engine) -> Stream:
    """A fresh in-order stream."""
    return engine.create_stream()


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers (see tests/seeds.py); a failure shows the seed that `--seed` takes to repeat them."""
    seed = request.config.getoption("--seed")
    seed = zlib.crc32(f"{seed_of(request.node.nodeid)}{request.node.nodeid}".encode()) if seed is None else seed
    print(f"random seed: {seed}")
    return np.random.default_rng(seed)
