"""A Core for all tests of remote tensors, and an OpenCL context of the user's on each device."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyopencl as cl
import pytest

from clinfer.api.core import Core
from clinfer.remote.context import ClContext
from clinfer.runtime import transfers
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.engine import Engine
from clinfer.runtime.host_copies import HostCopies
from tests.remote.pipelines import User


@pytest.fixture(scope="session")
def core() -> Core:
    """A Core whose devices stay open for the whole run."""
    return Core()


@pytest.fixture(scope="session")
def user(device: DeviceInfo) -> User:
    """A user with a context, kernels and a queue of his own."""
    return User(device)


@pytest.fixture(scope="session")
def context(core: Core, user: User) -> ClContext:
    """A remote context over the user's context; models run in queues of their own."""
    return ClContext(core, user.context)


@pytest.fixture
def traffic(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The copies and allocations from now on, by name."""
    seen: list[str] = []

    def watch(owner: object, name: str) -> None:
        real = getattr(owner, name)

        def noted(*args: object, **named: object) -> object:
            seen.append(name)
            return real(*args, **named)
        monkeypatch.setattr(owner, name, noted)

    for name in ("write", "read", "copy", "copy_rows", "fill"):
        watch(transfers, name)
    for name in ("write", "note"):
        watch(HostCopies, name)
    watch(Engine, "_allocate")
    watch(cl, "Buffer")
    return seen


@pytest.fixture(params=["in_order", "out_of_order", "profiling"])
def queue(request: pytest.FixtureRequest, user: User) -> Iterator[cl.CommandQueue]:
    """A queue of the user's, of each kind."""
    modes = cl.command_queue_properties
    made = cl.CommandQueue(user.context, properties={
        "in_order": 0, "out_of_order": modes.OUT_OF_ORDER_EXEC_MODE_ENABLE,
        "profiling": modes.PROFILING_ENABLE}[request.param])
    yield made
    made.finish()


@pytest.fixture
def x(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((3, 5), dtype=np.float32)
