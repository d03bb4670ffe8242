"""Hostile blobs: records of a sound one changed at random, with knowledge of what records are, under sound digests."""
from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from clinfer.program.blobs.container import Opened, seal

Records = list[Any]

EXTREMES = (None, True, False, 0, 1, -1, 2, 7, 127, 255, 2**31 - 1, 2**31, -2**31, 2**40, 2**63, -2**63, 2**64, 10**30,
            0.0, -0.5, 1e308, float("nan"), float("inf"), "", "x", "x_out", "f32", "f16", "i64", "boolean", "bfyx",
            "b_fs_yx_fsv16", "image_2d", "input", "kernel", "host", "body", "call", "view", "slot", "constant",
            "output", "<f4", "<i8", "O", "V8", "S9", "\0", "a" * 10_000)
TAGS = ("tuple", "list", "dict", "frozenset", "array", "number", "bytes", "memoryview", "dtype", "enum", "Engine",
        "LoadedKernels", "Capabilities", "ElementType", "Format", "Topology", "Memory", "ConstantData",
        "Implementation", "nonsense", "", "clinfer.base.layout:Layout", "clinfer.program.program:Program", "os:system")


def references(record: Any) -> list[int]:
    """The positions of a record's references."""
    return list(range(1, len(record))) if isinstance(record, list) else []


def change_atom(records: Records, at: int, rng: random.Random) -> None:
    """Another value, of another type as likely as not."""
    old = records[at]
    if isinstance(old, list):
        return
    near = [old + 1, old - 1, -old, old * 2] if isinstance(old, int | float) else [f"{old}_", str(old)[:-1]]
    records[at] = rng.choice([*near, rng.choice(EXTREMES), rng.choice(records[: at + 1])])


def change_tag(records: Records, at: int, rng: random.Random) -> None:
    """The same parts as another kind of record."""
    if isinstance(records[at], list) and records[at]:
        known = [record[0] for record in records if isinstance(record, list) and record]
        records[at] = [rng.choice([rng.choice(TAGS), rng.choice(known)]), *records[at][1:]]


def change_reference(records: Records, at: int, rng: random.Random) -> None:
    """Another part, mostly an earlier record, at times a later one, itself, or none."""
    places = references(records[at])
    if places:
        wild = rng.choice([at, at + 1, len(records), -1, -at, 2**40, 1.0, "0", None, True, [0], {}])
        changed = list(records[at])
        changed[rng.choice(places)] = wild if rng.random() < 0.2 else rng.randrange(max(at, 1))
        records[at] = changed


def change_to_alike(records: Records, at: int, rng: random.Random) -> None:
    """Another part of the same kind, which types alone do not tell from the right one."""
    places = references(records[at])
    if places:
        place = rng.choice(places)
        old = records[at][place]
        if not (isinstance(old, int) and 0 <= old < len(records)):
            return
        alike = [i for i in range(at) if kind_of(records[i]) == kind_of(records[old])]
        if alike:
            records[at] = [*records[at][:place], rng.choice(alike), *records[at][place + 1:]]


def kind_of(record: Any) -> object:
    """What a record is: its tag, or the type of the atom."""
    return record[0] if isinstance(record, list) and record else type(record)


def swap_references(records: Records, at: int, rng: random.Random) -> None:
    places = references(records[at])
    if len(places) > 1:
        one, other = rng.sample(places, 2)
        changed = list(records[at])
        changed[one], changed[other] = changed[other], changed[one]
        records[at] = changed


def drop_reference(records: Records, at: int, rng: random.Random) -> None:
    places = references(records[at])
    if places:
        place = rng.choice(places)
        records[at] = [*records[at][:place], *records[at][place + 1:]]


def repeat_reference(records: Records, at: int, rng: random.Random) -> None:
    places = references(records[at])
    if places:
        place = rng.choice(places)
        records[at] = [*records[at][:place], *[records[at][place]] * rng.choice([2, 3, 40]), *records[at][place + 1:]]


def swap_records(records: Records, at: int, rng: random.Random) -> None:
    other = rng.randrange(len(records))
    records[at], records[other] = records[other], records[at]


def truncate(records: Records, at: int, rng: random.Random) -> None:
    del records[at + 1:]


CHANGES: tuple[tuple[Callable[[Records, int, random.Random], None], float], ...] = (
    (change_atom, 6), (change_tag, 2), (change_reference, 3), (change_to_alike, 6), (swap_references, 3),
    (drop_reference, 2), (repeat_reference, 1), (swap_records, 1), (truncate, 0.2))


def hostile_blob(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    """A blob with a few records changed, and what was changed."""
    opened = Opened(memoryview(content))
    records, data = json.loads(bytes(opened.section("records"))), opened.section("data")
    told = []
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        at = rng.randrange(len(records))
        change, = rng.choices([c for c, _ in CHANGES], [w for _, w in CHANGES])
        before = records[at]
        change(records, at, rng)
        told.append(f"{change.__name__} {at}: {before!r:.150} -> {records[at] if at < len(records) else None!r:.150}")
    blob = seal(opened.made_with, {"records": [json.dumps(records).encode()], "data": [data]})
    return blob.to_bytes(), "; ".join(told)
