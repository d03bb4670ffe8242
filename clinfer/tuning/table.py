"""Tables of measured times as files: JSON that is checked entry by entry when it is read.

A table that is of another version, cut off or otherwise no table is refused whole; an entry that makes no sense is
left out. Either is told once, and everything else holds.
"""
from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from clinfer.base.schema import check_fields
from clinfer.base.tracing import warn_once
from clinfer.runtime.hardware import Hardware
from clinfer.tuning.entry import Entry, entry_of

VERSION = 1


@dataclass(frozen=True)
class WrongKernel:
    """A candidate that gave wrong results on a device, and when that was seen, by which version of clinfer. Another
    version has other kernels, and may compare them better."""

    operation: str
    kernel: str
    config: str
    why: str
    date: str
    seen_by: str = ""


@dataclass(frozen=True)
class Table:
    """What was measured on one device. `is_default`: for want of a better one it holds for all devices of its type."""

    hardware: Hardware
    entries: tuple[Entry, ...] = ()
    wrong: tuple[WrongKernel, ...] = ()
    is_default: bool = False


def write_table(table: Table) -> bytes:
    """A table as the text of a file: one entry a line, in a fixed order."""
    head = {"version": VERSION, "hardware": asdict(table.hardware), "is_default": table.is_default}
    lines = [json.dumps(head)[:-1]]
    ordered = sorted(table.entries, key=lambda entry: (entry.subject, entry.sizes, entry.variant))
    for name, rows in (("wrong", [asdict(row) for row in table.wrong]),
                       ("entries", [entry.as_data() for entry in ordered])):
        lines += [f', "{name}": [', ",\n".join(json.dumps(row, allow_nan=False) for row in rows), "]"]
    return "\n".join([*lines, "}", ""]).encode()


@dataclass(frozen=True)
class UnreadTable:
    """A table whose entries nobody has looked at yet; `where`: for the one warning about them."""

    hardware: Hardware
    is_default: bool
    wrong: tuple[WrongKernel, ...]
    rows: tuple[Any, ...]
    where: str

    def read(self) -> Table:
        """The table, without the entries that make no sense; a warning says what was left out and why."""
        entries, reasons = _entries(self.rows)
        if reasons:
            warn_once(f"clinfer leaves out {len(reasons)} of {len(self.rows)} entries of the table of measured times "
                      f"{self.where}, the first because of: {reasons[0]}")
        return Table(self.hardware, entries, self.wrong, self.is_default)


def open_table(text: bytes, where: str) -> UnreadTable | None:
    """The table of a file's text; None if it is none, which a warning tells. `where`: the file."""
    try:
        data = json.loads(text)
        if not isinstance(data, dict):
            raise TypeError("it is no table")
        if data.get("version") != VERSION:
            raise ValueError(f"it is of version {data.get('version')}, this is {VERSION}")
        hardware = _dataclass(Hardware, {**data["hardware"], "driver": tuple(data["hardware"]["driver"])})
        wrong = tuple(_dataclass(WrongKernel, row) for row in data["wrong"])
        return UnreadTable(hardware, data["is_default"] is True, wrong, tuple(data["entries"]), where)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        warn_once(f"clinfer does not use the table of measured times {where}: {error}")
        return None


def read_table(text: bytes, where: str) -> Table | None:
    """The table of a file's text, without the entries that make no sense; None if it is none."""
    opened = open_table(text, where)
    return None if opened is None else opened.read()


def _entries(rows: Iterable[Any]) -> tuple[tuple[Entry, ...], list[str]]:
    """The entries that make sense, and why the others do not."""
    entries, reasons = [], []
    for row in rows:
        try:
            entries.append(entry_of(row))
        except (ArithmeticError, TypeError, ValueError) as error:
            reasons.append(str(error))
    return tuple(entries), reasons


def _dataclass(kind: Any, values: dict[str, Any]) -> Any:
    check_fields(kind, values)
    return kind(**values)
