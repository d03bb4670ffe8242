"""Builds the kernels of all rows ahead of the rows: in batches and in all processes, not one by one."""
from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import pytest

from clinfer.base.errors import ClinferError
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.kernels.jitter import StageCode
from clinfer.kernels.kernel_cache import KernelCache, kernel_cache_of
from clinfer.network.compile import execute_constants
from clinfer.ops.room import Case
from clinfer.program.build import build_program
from clinfer.program.context import BuildContext
from clinfer.runtime.device import DeviceInfo, available_devices
from clinfer.runtime.engine import Engine, Program
from tests.rooms.room_runner import Variant, needs, topology_of


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All rows of a device run in one process, which builds their kernels ahead."""
    for item in items:
        if item.path.name == "test_rooms.py":
            row = getattr(item, "callspec", None)
            name = row.params["device"] if row else available_devices()[0].name
            item.add_marker(pytest.mark.xdist_group(f"rows on {name}"))


class CollectingCache(KernelCache):
    """Collects what programs ask for; builds at once only what runs during the build of a program."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.codes: dict[str, StageCode] = {}

    def prepare(self, codes: Iterable[StageCode]) -> None:
        self.codes.update((code.kernel_id, code) for code in codes)

    def program(self, kernel_id: str) -> Program:
        super().prepare([self.codes[kernel_id]])
        return super().program(kernel_id)


def collect(engine: Engine, rows: Iterable[tuple[Case, Variant]]) -> list[StageCode]:
    """Every kernel that these rows ask for; rows that cannot be built have none."""
    cache = CollectingCache(engine)
    shape_inference, stream = OpenVinoShapeInference(), engine.create_stream()
    for case, variant in rows:
        context = BuildContext(engine, stream, cache, shape_inference, variant.options(), execute_constants)
        with suppress(ClinferError):
            build_program(topology_of(case, variant), context)
    return list(cache.codes.values())


@pytest.fixture(scope="session")
def built_ahead(request: pytest.FixtureRequest, engine: Engine, device: DeviceInfo) -> None:
    """The kernels of all rows that this run takes to the device are in the cache."""
    from tests.rooms.test_rooms import variants_of

    chosen: list[dict[str, Any]] = [item.callspec.params for item in request.session.items
                                    if getattr(item, "originalname", "") == "test_row"]
    rows = [(row["case"], variant) for row in chosen if row["device"] == device.name and needs(row["case"], engine)
            for variant in variants_of(engine, row["room"], row["case"])]
    kernel_cache_of(engine).prepare(collect(engine, rows))
