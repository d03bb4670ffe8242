"""Blobs with sound digests that were not written by clinfer: whatever they hold, a ClinferError is the only error."""
from __future__ import annotations

import json
import random
import re
import signal
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np
import pytest

from clinfer.api.core import Core
from clinfer.base.errors import ClinferError
from clinfer.base.schema import check_fields
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.network import network
from clinfer.network.plans.planner import Planner
from clinfer.ops.convolution.op import Convolution
from clinfer.ops.depth_space.op import DepthToSpace
from clinfer.ops.pooling.op import MaxPool
from clinfer.ops.split.op import Split
from clinfer.program.blobs.container import Opened, seal
from clinfer.program.blobs.programs import made_with
from clinfer.runtime import driver
from clinfer.runtime.device import DeviceInfo, available_devices, find_device
from clinfer.runtime.engine import Engine
from tests.api.blob_fuzz import hostile_blob
from tests.api.blob_models import MODELS, exported
from tests.api.models import F32

FEW, MANY = 40, 1500
ROOM = {"preallocation_bytes": 2**20}
"""All memory is zeroed here."""
LONGEST_S = 60
MOST_BYTES = 1 << 26


@contextmanager
def no_hang() -> Iterator[None]:
    """Fail what goes on for a minute; it takes milliseconds."""
    def stop(number: int, frame: FrameType | None) -> None:
        raise AssertionError("it hangs")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LONGEST_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def no_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything of an inference but the kernels, which are machine code that a blob brings along; what they would
    write, and the host reads as a size, is zero."""
    zeroed = Engine._zeroed
    monkeypatch.setattr(driver, "enqueue_nd_range_kernel", lambda *arguments: 0)
    monkeypatch.setattr(Engine, "_zeroed", lambda engine, memory, zero: zeroed(engine, memory, True))


def attack(name: str, device: DeviceInfo, rng: np.random.Generator, count: int) -> None:
    """Import hostile blobs of one model, and plan inferences of those that are loaded. What a trace of theirs computes
    is not compared with what nodes tell: sound arithmetic that lies is believed, as kernels are."""
    make, inputs_of = MODELS[name]
    core = Core()
    content = exported(core.compile_model(make(rng), device.name, F32)).getvalue()
    seed, loaded = int(rng.integers(2**32)), 0
    for number in range(count):
        blob, told = hostile_blob(content, random.Random(f"{seed} {number}"))
        try:
            with no_hang(), pytest.MonkeyPatch.context() as patch:
                patch.setattr(network, "Planner", Planner)
                request = core.import_model(blob, device.name, ROOM).create_infer_request()
                for _ in range(3):
                    request.infer(inputs_of(rng))
            loaded += 1
        except ClinferError:
            pass
        except Exception as error:
            raise AssertionError(f"{type(error).__name__} {error} of blob {number} of seed {seed}: {told}") from error
    assert loaded < count


@pytest.mark.usefixtures("no_launches")
@pytest.mark.parametrize("name", MODELS)
def test_a_few_hostile_blobs(name: str, rng: np.random.Generator) -> None:
    attack(name, find_device("CPU" if any(d.type == "CPU" for d in available_devices()) else "AUTO"), rng, FEW)


@pytest.mark.full
@pytest.mark.usefixtures("no_launches")
@pytest.mark.parametrize("name", MODELS)
def test_many_hostile_blobs(name: str, device: DeviceInfo, rng: np.random.Generator) -> None:
    attack(name, device, rng, MANY)


@pytest.mark.parametrize(("kind", "field", "value"), [
    (Convolution, "strides", (1, 0)), (Convolution, "dilations", (0, 1)), (MaxPool, "kernel", (2, 0)),
    (MaxPool, "strides", (-1,)), (Split, "num_splits", 0), (DepthToSpace, "block_size", 0)])
def test_steps_and_counts_are_positive(kind: type, field: str, value: object) -> None:
    check_fields(kind, {field: (1, 1) if isinstance(value, tuple) else 1})
    with pytest.raises(TypeError, match=f"{field} cannot be"):
        check_fields(kind, {field: value})


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyError, IndexError, TypeError, ValueError, AssertionError,
                                   AttributeError, OverflowError])
def test_what_no_rule_foresaw_is_told_of_the_primitive(error: type[Exception], rng: np.random.Generator,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    """What contradicts itself in a way that no check knows ends in an error that names the primitive."""
    make, inputs_of = MODELS["convolution"]
    compiled = Core().compile_model(make(rng), "CPU", F32)

    def fails(*arguments: object) -> None:
        raise error("nobody thought of it")
    monkeypatch.setattr(Convolution, "infer_shapes", fails)
    with pytest.raises(ClinferError, match=f"(?s)cannot be planned.*{error.__name__}.*nobody thought of it"):
        compiled(inputs_of(rng))


def refusal_of(core: Core, device: DeviceInfo, records: object, data: bytes = b"") -> ClinferError:
    """The error for a sealed blob of these records (an object, or JSON as it is)."""
    text = records if isinstance(records, bytes) else json.dumps(records).encode()
    here = {**made_with(core.engine(device.name)), "OpenVINO": ov.get_version()}
    blob = seal(here, {"records": [text], "data": [data]}).to_bytes()
    tracemalloc.start()
    try:
        with pytest.raises(ClinferError) as caught, no_hang():
            core.import_model(blob, device.name)
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()
    assert caught.value.where == "compiled blob"
    return caught.value


def doubled(*, tag: str, last: list[Any]) -> list[Any]:
    """A tower of pairs: a few records that would be 2^64 if they were written out."""
    return [0, *[[tag, number, number] for number in range(64)], [*last, 64]]


DATA = bytes(1 << 16)
AGAIN = ["<f4", 1 << 14, ["tuple", 1], 0, 1 << 16]


@pytest.mark.parametrize(("records", "data", "words"), [
    (doubled(tag="tuple", last=["frozenset"]), b"", "holds .* others"),
    (doubled(tag="list", last=["tuple"]), b"", "holds .* others"),
    ([0, *[["tuple", number] for number in range(10_000)], ["frozenset", 10_000]], b"", "nested 200 deep"),
    (b"[" * 1_000_000, b"", "make no sense"),
    (b"[" + b"1" * 5000 + b"]", b"", "make no sense"),
    ([*AGAIN, *[["array", 0, 2, 3, 4]] * 20_000], DATA, "used more than once"),
    ([0, 1 << 16, *[["bytes", 0, 1]] * 20_000], DATA, "used more than once"),
    (["<f4", 1 << 40, ["tuple", 1], 0, ["array", 0, 2, 3, 3]], b"", "make no sense"),
    (["S1000000000", ["tuple"], 0, ["array", 0, 1, 2, 2]], b"", "an array of"),
    ([["tuple"], ["dtype", 0]], b"", "named by tuple"),
    (["O", ["tuple"], 0, 8, ["array", 0, 1, 2, 3]], DATA, "an array of"),
    (["<f4", ["tuple"], -4, 4, ["array", 0, 1, 2, 3]], DATA, "make no sense"),
    (["<f4", ["tuple"], 0, 1 << 70, ["array", 0, 1, 2, 3]], DATA, "make no sense"),
    ([1, ["tuple", -1]], b"", "refers to -1"), ([1, ["tuple", 1]], b"", "refers to 1"),
    ([1, ["tuple", 2], 3], b"", "refers to 2"), ([1, ["tuple", True]], b"", "a reference is True"),
    ([1, ["tuple", 0.0]], b"", "a reference is 0.0"), ([1, ["tuple", "0"]], b"", "a reference is '0'"),
    ([1, ["tuple", [0]]], b"", r"a reference is \[0\]"), ([{}], b"", "a record is dict"), ([[]], b"", "make no sense"),
    ([[["tuple"]]], b"", "make no sense"), ([[None]], b"", "make no sense"), (b"null", b"", "make no sense"),
    ([1, ["clinfer.base.shape:Dim", 0]], b"", "make no sense"),
    ([-1, 1, ["clinfer.base.shape:Dim", 0, 1]], b"", r"Dim\.low cannot be -1"),
    (["a", 1, ["clinfer.topology.primitive:Port", 0, 0]], b"", r"Port\.index cannot be 'a'"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_bombs_and_nonsense(records: object, data: bytes, words: str) -> None:
    assert re.search(words, str(refusal_of(Core(), available_devices()[-1], records, data)))


def test_a_constant_is_not_larger_than_its_bytes(rng: np.random.Generator) -> None:
    """Memory is allocated only for what is there."""
    device, core = available_devices()[-1], Core()
    opened = Opened(exported(core.compile_model(MODELS["convolution"][0](rng), device.name, F32)).getbuffer())
    records = json.loads(bytes(opened.section("records")))
    layouts = [i for i, record in enumerate(records) if isinstance(record, list) and record[0].endswith(":Layout")]
    for at in layouts:
        forged = [*records[:at], 1 << 40, ["tuple", at], *records[at:]]
        forged = [[record[0], *(i + 2 if i >= at else i for i in record[1:])] if isinstance(record, list) and
                  number != at + 1 else record for number, record in enumerate(forged)]
        forged[at + 2][1] = at + 1
        blob = seal(opened.made_with, {"records": [json.dumps(forged).encode()], "data": [opened.section("data")]})
        with pytest.raises(ClinferError):
            core.import_model(blob.to_bytes(), device.name)
    assert layouts
