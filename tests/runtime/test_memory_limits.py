"""What memory may be taken of each type, where it goes when none was asked for, and how it is counted."""
from __future__ import annotations

from dataclasses import replace

import pytest

from clinfer.base.errors import ClinferError
from clinfer.runtime.engine import Engine
from clinfer.runtime.memory_types import ALLOCATION_TYPES, MemoryLimits, choose_allocation_type

LIMITS = MemoryLimits(device=1000, host=3000, single=800, is_unified=False)


@pytest.fixture
def own(engine: Engine) -> Engine:
    """An engine of this test alone."""
    return Engine(engine.device, engine.capabilities)


def test_each_type_is_counted_by_itself(own: Engine, monkeypatch: pytest.MonkeyPatch,
                                        capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("CLINFER_DEBUG", "1")
    assert own.memory_statistics() == {}
    kept = [own.allocate_bytes(size, allocation_type=kind)
            for size, kind in zip((100, 200, 300, 400), ALLOCATION_TYPES, strict=True)]
    again = own.allocate_bytes(58, allocation_type="usm_host")
    again.release()
    lines = capsys.readouterr().err
    assert own.memory_statistics() == dict(zip(ALLOCATION_TYPES, (100, 200, 300, 400), strict=True))
    assert "Allocate 300 bytes of usm_shared allocation type (current=300; max=300)" in lines
    assert "Allocate 58 bytes of usm_host allocation type (current=258; max=258)" in lines
    assert "Free 58 bytes of usm_host allocation type (current=200; max=258)" in lines
    assert (own.ledger.current, own.ledger.peak, own.ledger.most()["usm_host"]) == (1000, 1058, 258)
    kept.clear()
    assert own.memory_statistics() == dict.fromkeys(ALLOCATION_TYPES, 0)


@pytest.mark.parametrize(("nbytes", "on_device", "unified", "expected"), [
    (1000, 0, False, "cl_mem"),
    (1001, 0, False, "usm_host"),
    (500, 500, False, "cl_mem"),
    (501, 500, False, "usm_host"),
    (1001, 0, True, "cl_mem"),
])
def test_device_or_host(nbytes: int, on_device: int, unified: bool, expected: str) -> None:
    assert choose_allocation_type(nbytes, on_device, replace(LIMITS, is_unified=unified)) == expected


def test_only_the_host_s_type_leaves_the_device_operation(own: Engine) -> None:
    own.ledger.limits = LIMITS
    kept = [own.allocate_bytes(200, allocation_type=kind) for kind in ALLOCATION_TYPES]
    assert own.ledger.on_device == 600 and own.choose_allocation_type(400) == "cl_mem"
    assert own.choose_allocation_type(401) == "usm_host" and len(kept) == 4
    own.ledger.limits = replace(LIMITS, is_unified=True)
    assert own.ledger.on_device == 800


def test_a_full_device_leaves_the_rest_to_the_host(own: Engine) -> None:
    own.ledger.limits = LIMITS
    kept = [own.allocate_bytes(600) for _ in range(5)]
    assert [memory.allocation_type for memory in kept] == ["cl_mem", *["usm_host"] * 4]
    assert {kind: size for kind, size in own.memory_statistics().items() if size} == {"cl_mem": 600, "usm_host": 2400}
    with pytest.raises(ClinferError, match="relu:0 does not fit beside") as caught:
        own.allocate_bytes(601, what="relu:0")
    for part in ("601", "usm_host", "2400", "host memory: 3000"):
        assert part in str(caught.value)
    with pytest.raises(ClinferError, match="does not fit beside") as caught:
        own.allocate_bytes(500, allocation_type="cl_mem")
    assert "device memory: 1000" in str(caught.value)
    assert sum(own.memory_statistics().values()) == 3000
    with pytest.raises(ClinferError, match="larger than one allocation"):
        own.allocate_bytes(801)


def test_where_host_and_device_are_one_the_limit_is_one(own: Engine) -> None:
    own.ledger.limits = replace(LIMITS, is_unified=True)
    kept = [own.allocate_bytes(400), own.allocate_bytes(400, allocation_type="usm_host")]
    for kind in (None, *ALLOCATION_TYPES):
        with pytest.raises(ClinferError, match="does not fit beside"):
            own.allocate_bytes(201, allocation_type=kind)
    assert len(kept) == 2 and own.allocate_bytes(200).allocation_type == "cl_mem"


def test_an_engine_may_be_given_a_limit(engine: Engine) -> None:
    small = Engine(engine.device, engine.capabilities, memory_limit=1000)
    kept = [small.allocate_bytes(600), small.allocate_bytes(300, allocation_type="usm_host")]
    with pytest.raises(ClinferError, match="slot 3 does not fit into the limit that was set") as caught:
        small.allocate_bytes(101, what="slot 3")
    assert "limit: 1000" in str(caught.value) and "900" in str(caught.value)
    kept.pop()
    assert small.allocate_bytes(101).nbytes == 101
