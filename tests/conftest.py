"""Fixtures for tests that run on every OpenCL device of the machine."""
from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from clinfer.api import core
from clinfer.api.core import natural_precision
from clinfer.kernels import kernel_cache
from clinfer.network import network
from clinfer.network.plans import kept_traces
from clinfer.program import kept_choices
from clinfer.program.blobs.consistency import check_program
from clinfer.program.passes import transform_filters
from clinfer.program.program import Program
from clinfer.runtime import builder, capabilities, ceilings, kept_helper
from clinfer.runtime.ceilings import Ceilings
from clinfer.runtime.device import DeviceInfo, available_devices, find_device
from clinfer.runtime.engine import Engine
from clinfer.runtime.stream import Stream
from tests.answers import kept_answers
from tests.checked_plans import CheckedPlanner
from tests.crashes import SurvivingScheduling
from tests.devices import engine_of
from tests.footprint import MOST_BEFORE_MODELS, MOST_BYTES, Dropping, PeakReport, pass_over_what_lives
from tests.kept_kernels import trim_kernels
from tests.scheduling import Sorting, group, is_of_a_model, split_part, stays_with
from tests.seeds import FULL, seed_of

# OpenVINO's plugin keeps the code of the last 1,024 of its primitives: 200 kB each, and no test asks for them again.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "16")
if not FULL:
    # PoCL compiles a kernel for work-groups of any size, and then once more for those of each kind of launch: from the
    # same source, and for longer than all else takes on that device. Processes of the tests inherit it.
    os.environ.setdefault("POCL_WORK_GROUP_SPECIALIZATION", "0")
    # With its optimisations a kernel takes PoCL five times as long as without, and four times as long as Intel's.
    os.environ.setdefault("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable")


@pytest.fixture(scope="session", autouse=True)
def without_measured_times() -> Iterator[None]:
    """Kernels are chosen by estimates, whatever was measured on the machine; tests of tables turn them on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLINFER_TUNING", "0")
        yield


@pytest.fixture(scope="session", autouse=True)
def few_idle_programs() -> Iterator[None]:
    """A process of tests has an engine for each device, and hardly asks for a program again that it has let go of."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_cache, "MOST_IDLE", 12)
        yield


@pytest.fixture(scope="session", autouse=True)
def ceilings_of_every_machine() -> Iterator[None]:
    """CPUs have the default ceilings of two cores, whatever was measured: which kernels are chosen, and so what is
    tested, does not vary from machine to machine."""
    def ceilings_of(answers: Mapping[str, Any], device_type: str, compute_units: int) -> Ceilings:
        if device_type == "CPU":
            answers, compute_units = {**answers, "rates": None}, 2
        return ceilings.ceilings_of(answers, device_type, compute_units)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(capabilities, "ceilings_of", ceilings_of)
        yield


@pytest.fixture(scope="session", autouse=True)
def judge_every_choice() -> Iterator[None]:
    """Kernels are chosen and nodes traced anew, whatever an earlier run has left on disk; tests of that lower the
    limits."""
    with pytest.MonkeyPatch.context() as patch:
        tiles = import_module(transform_filters.__module__)
        for kept in (kept_choices, kept_traces, tiles):
            patch.setattr(kept, "FEWEST", 1 << 30)
        yield


@pytest.fixture(scope="session", autouse=True)
def cpus_compute_in_f32() -> Iterator[None]:
    """CPUs compute in f32 unless a test says otherwise: most results are compared with such of f32."""
    def precision_of(engine: Engine) -> str:
        return "f32" if engine.device.type == "CPU" else natural_precision(engine)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core, "natural_precision", precision_of)
        yield


@pytest.fixture(scope="session", autouse=True)
def check_every_plan() -> Iterator[None]:
    """Whatever a test runs, each of its plans is made in both ways and compared."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network, "Planner", CheckedPlanner)
        yield


@pytest.fixture(scope="session", autouse=True)
def check_every_program() -> Iterator[None]:
    """What blobs must hold to be accepted, every program that a test makes does."""
    prepare = Program.__post_init__

    def prepare_and_check(program: Program) -> None:
        prepare(program)
        check_program(program)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Program, "__post_init__", prepare_and_check)
        yield


@pytest.fixture(scope="session", autouse=True)
def keep_helpers() -> Iterator[None]:
    """Builds follow upon each other in one helper process, however long the tests between them take; beside other
    processes of tests it is the only one for the device."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_helper, "IDLE_SECONDS", 600.0)
        if "PYTEST_XDIST_WORKER" in os.environ:
            patch.setattr(builder, "worker_count", lambda workers: workers or 1)
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose and group the tests."""
    if not FULL:
        items[:], left_out = split_part(items)
        config.hook.pytest_deselected(items=left_out)
    group(items)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Sorting())
    config.pluginmanager.register(PeakReport())
    config.pluginmanager.register(SmallProcesses())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SurvivingScheduling | None:
    """How tests are handed out to processes; None leaves that to the plugin."""
    return SurvivingScheduling(config, log) if config.getoption("dist") == "loadgroup" else None


def pytest_collection_finish() -> None:
    """Collecting garbage passes over what lives as long as the process."""
    pass_over_what_lives()


class SmallProcesses:
    """Between files, and between the models of one, nothing is kept that makes the process large."""

    def __init__(self) -> None:
        self._dropping = Dropping()

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        if nextitem is not None and stays_with(item) != stays_with(nextitem):
            pass_over_what_lives()
            self._dropping.drop_unless_small(MOST_BEFORE_MODELS if is_of_a_model(nextitem) else MOST_BYTES)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """The first process of a run keeps within their limits what stays on disk."""
    if not hasattr(session.config, "workerinput"):
        kept_answers().trim()
        trim_kernels()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, default=None, help="repeat the random inputs of an earlier run")


@pytest.fixture(scope="session", params=[device.name for device in available_devices()])
def device(request: pytest.FixtureRequest) -> DeviceInfo:
    """Each device in turn."""
    return find_device(request.param)


@pytest.fixture(scope="session")
def engine(device: DeviceInfo) -> Engine:
    """One engine per device for the whole run."""
    return engine_of(device.name)


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
    # Not its `nodeid`, to which runs in several processes add the group.
    name = f"{request.node.path.name}::{request.node.name}"
    seed = zlib.crc32(f"{seed_of(name)}{name}".encode()) if seed is None else seed
    print(f"random seed: {seed}")
    return np.random.default_rng(seed)
