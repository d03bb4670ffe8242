"""Frozen data as records and back, and the sealed container around them."""
from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields
from enum import Enum
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.format import Format
from clinfer.base.layout import Layout, Padding
from clinfer.base.shape import Dim
from clinfer.ops import all_operations
from clinfer.ops.operation import Case
from clinfer.program.blobs.container import ALIGNMENT, Opened, seal
from clinfer.program.blobs.records import Reader, Special, Writer
from clinfer.topology import Constant, Port, Topology
from tests.ops.case_runner import Variant, topology_of

CASES = [case for op in all_operations() for case in import_module(f"clinfer.ops.{op.name}.cases").CASES]
SPECIALS = (
    Special(ElementType, lambda kind: (kind.name,), ElementType.of),
    Special(Format, lambda fmt: (fmt.name,), Format.of),
    Special(Topology, lambda t: (tuple(t), t.outputs), lambda ps, outputs: Topology(*ps, outputs=outputs)),
)


def again(value: object) -> Any:
    """A value written and read."""
    writer = Writer(SPECIALS)
    records = writer.write(value)
    return Reader(SPECIALS, memoryview(b"".join(writer.data))).read(records)


def read(*records: object, data: bytes = b"") -> Any:
    return Reader(SPECIALS, memoryview(data)).read(json.dumps(records).encode())


def same(one: object, other: object) -> bool:
    """Equal in value and type, arrays and NaN included."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, float) and isinstance(other, float):
        return one.hex() == other.hex()
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return same(list(one.items()), list(other.items()))
    if isinstance(one, Constant):
        return all(same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    if isinstance(one, Topology) and isinstance(other, Topology):
        return same((list(one), one.outputs), (list(other), other.outputs))
    if hasattr(one, "then_body"):
        return all(same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))  # type: ignore[arg-type]
    if hasattr(one, "topology") and hasattr(other, "topology"):
        return same((one.topology, one.inputs, one.outputs),  # type: ignore[attr-defined]
                    (other.topology, other.inputs, other.outputs))  # type: ignore[attr-defined]
    return one == other


@pytest.mark.parametrize("value", [
    None, True, 1, 1.0, -0.0, math.nan, math.inf, -math.inf, 2**62, 1e-300, "", "zeichen \u00e4\u4e2d\0\n",
    (), [], {}, frozenset({1, 2}), (1, 1.0, True, "1", (1,), [1]), {"a": 1, 2: ("b", None)}, b"\0raw", np.dtype("f2"),
    np.float32(0.1), np.int64(-3), np.bool_(True), np.array(3.5), np.zeros((2, 0, 3), np.int8),
    np.arange(12, dtype=np.uint16).reshape(3, 4).T, np.array([True, False]), np.array([math.nan, -0.0], np.float16),
    Layout((2, Dim(1, 5), 3), ElementType.of("bf16"), Format.of("bfyx"), Padding((0, 1, 2), (0, 0, 3))),
    (Port("a", 1), Port("a", 1), Port("b")),
], ids=repr)
def test_a_value_comes_back_as_it_was(value: object) -> None:
    assert same(again(value), value)


def test_memory_views_are_not_copied() -> None:
    data = bytes(range(100))
    writer = Writer(SPECIALS)
    records = writer.write((memoryview(data), np.frombuffer(data, np.uint8)))
    whole = memoryview(b"".join(writer.data))
    view, array = Reader(SPECIALS, whole).read(records)
    assert view.obj is whole.obj and bytes(view) == data
    assert array.flags.writeable and array.tobytes() == data


def test_equal_parts_are_written_once() -> None:
    parts = tuple(Port("the same name", 3) for _ in range(1000))
    assert len(Writer(SPECIALS).write(parts)) < 10_000
    first, *others = again(parts)
    assert all(other is first for other in others)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_primitives_of_every_operation_come_back(case: Case) -> None:
    topology = topology_of(case, Variant(dynamic=bool(case.sequence)))
    assert same(again(topology), topology)


@dataclass
class Changeable:
    a: int = 0


class Foreign(Enum):
    A = 1


@pytest.mark.parametrize("value", [lambda: 0, Changeable(), object(), Foreign.A, np.array([None]), int, {1: print}],
                         ids=lambda value: type(value).__name__)
def test_what_is_no_data_is_refused(value: object) -> None:
    with pytest.raises(ClinferError, match="compiled blob"):
        again((1, value))


@pytest.mark.parametrize("tag", [
    "os:system", "builtins:eval", "builtins:print", "eval", "clinfer.runtime.engine:Engine",
    "clinfer.base.errors:ClinferError", "clinfer.base.layout:np.frombuffer", "clinfer.base.layout:Layout.planar",
    "clinfer.program.constants:ConstantData", "clinfer.cli.main:main", "clinfer.base.layout:replace",
    "subprocess:Popen",
    f"{__name__}:Changeable", "", ":", "clinfer.base.shape:", "pathlib:Path", "dataclasses:dataclass",
])
def test_records_name_no_code(tag: str) -> None:
    with pytest.raises(ClinferError, match="make no sense"):
        read("echo", [tag, 0])


@pytest.mark.parametrize("records", [
    [], [["tuple", 0]], [1, ["tuple", 1]], [1, ["tuple", 7]], [1, ["tuple", "a"]], [1, ["dict", 0]], [[1, 2]], [[]],
    [["array"]], ["<f4", ["tuple"], 0, 4, ["array", 0, 1, 2, 3]], ["f99", ["tuple"], 0, 0, ["array", 0, 1, 2, 3]],
    ["|u1", ["tuple"], -1, 0, ["array", 0, 1, 2, 3]], [0, 10, ["memoryview", 0, 1]], ["x", ["ElementType", 0]],
    ["a", ["clinfer.topology.primitive:Port", 0]], [["tuple"], ["list", 0], ["dict", 1, 1]],
    ["clinfer.base.shape:Dim", "A", ["enum", 0, 1]],
], ids=repr)
def test_records_that_make_no_sense(records: list[object]) -> None:
    with pytest.raises(ClinferError):
        read(*records)


def test_json_that_is_no_list_of_records() -> None:
    for text in (b"", b"{", b"3", b"{}", b"\xff", b"[" * 100_000):
        with pytest.raises(ClinferError, match="make no sense"):
            Reader(SPECIALS, memoryview(b"")).read(text)


# -- the container ----------------------------------------------------------------------------------

MADE = {"clinfer": "1", "device": "A"}


def blob(rng: np.random.Generator) -> tuple[bytes, dict[str, bytes]]:
    sections = {"records": rng.bytes(77), "data": rng.bytes(1000), "none": b""}
    sealed = seal(MADE, {name: [content[:50], memoryview(content[50:])] for name, content in sections.items()})
    return sealed.to_bytes(), sections


def opened_whole(content: bytes) -> dict[str, bytes]:
    """All sections after every check."""
    opened = Opened(memoryview(content))
    opened.check_made_with(MADE)
    return {name: bytes(opened.section(name)) for name in ("records", "data", "none")}


def test_sections_come_back_aligned(rng: np.random.Generator) -> None:
    content, sections = blob(rng)
    assert opened_whole(content) == sections
    assert content.index(sections["records"]) % ALIGNMENT == content.index(sections["data"]) % ALIGNMENT == 0


@pytest.mark.parametrize("pieces", [(1 << 16,), (3, (1 << 16) - 3), (5, 200_000, 7, 1 << 17, 0, 1), (100_001,) * 5, ()])
def test_digests_do_not_depend_on_the_pieces(rng: np.random.Generator, pieces: tuple[int, ...]) -> None:
    chunks = [rng.bytes(size) for size in pieces]
    assert seal(MADE, {"data": chunks}).to_bytes() == seal(MADE, {"data": [b"".join(chunks)]}).to_bytes()


def test_damage_of_large_sections_is_found(rng: np.random.Generator) -> None:
    """Bytes that change, and blocks that change places or are lost."""
    whole = bytearray(seal(MADE, {"data": [rng.bytes(300_000)]}).to_bytes())
    begin = len(whole) - 300_000 - -300_000 % ALIGNMENT
    for place in rng.integers(begin, begin + 300_000, 50):
        changed = bytearray(whole)
        changed[place] ^= 1 << int(rng.integers(8))
        with pytest.raises(ClinferError, match="is damaged"):
            Opened(memoryview(changed)).section("data")
    for block in (1 << 16, 1 << 12, 1 << 9):
        one, other = (slice(begin + i * block, begin + (i + 1) * block) for i in (1, 2))
        moved, lost = bytearray(whole), bytearray(whole)
        moved[one], moved[other], lost[one] = whole[other], whole[one], bytes(block)
        for changed in (moved, lost):
            with pytest.raises(ClinferError, match="is damaged"):
                Opened(memoryview(changed)).section("data")


def test_every_cut_is_found(rng: np.random.Generator) -> None:
    content, _ = blob(rng)
    for end in range(len(content)):
        with pytest.raises(ClinferError, match=r"truncated|no compiled blob"):
            opened_whole(content[:end])
    with pytest.raises(ClinferError, match="longer"):
        opened_whole(content + b"\0")


def test_every_flipped_bit_of_what_counts_is_found(rng: np.random.Generator) -> None:
    content, sections = blob(rng)
    for position in range(len(content)):
        flipped = bytearray(content)
        flipped[position] ^= 1 << int(rng.integers(8))
        try:
            found = opened_whole(bytes(flipped))
        except ClinferError:
            continue
        # Only the zeros between sections may change: nothing reads them.
        assert content[position] == 0 and found == sections


def test_another_revision_says_which() -> None:
    content = bytearray(seal(MADE, {}).to_bytes())
    content[8] += 1
    with pytest.raises(ClinferError, match=r"another format(.|\n)*its revision: 3(.|\n)*known revision: 2"):
        Opened(memoryview(content))


def test_what_differs_is_named() -> None:
    opened = Opened(memoryview(seal(MADE, {}).to_bytes()))
    for present, words in (
        ({"clinfer": "1", "device": "B"}, "device: A in the blob, B here"),
        ({"clinfer": "1"}, "device: A in the blob, nothing here"),
        ({**MADE, "driver": "7"}, "driver: nothing in the blob, 7 here"),
    ):
        with pytest.raises(ClinferError, match=words):
            opened.check_made_with(present)
    opened.check_made_with(dict(reversed(MADE.items())))
