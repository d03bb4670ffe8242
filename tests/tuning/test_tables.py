"""Tables of measured times: what they keep, which hold for a device, and that bad ones cost nothing but a warning."""
from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from clinfer.base import tracing
from clinfer.base.version import VERSION
from clinfer.runtime.hardware import Hardware
from clinfer.symbolic.trace import Trace
from clinfer.tuning import database as database_module
from clinfer.tuning.database import LEAST_OF_OTHERS, Database, shipped_tables
from clinfer.tuning.entry import REACH, Entry, Variant, bucket_of
from clinfer.tuning.table import Table, UnreadTable, WrongKernel, read_table, write_table

CPU = Hardware("CPU", "a core", "x86", "maker", "platform", ("1", "2"))
SIZES = (("rows", 64), ("columns", 100))
ENTRY = Entry("MatMul", "f32[2] f32[2] > f32[2]", SIZES, "tile", "14", "", False, 200.0, 100.0, True, "2026-01-01", "2")


def entry(**changes: Any) -> Entry:
    return replace(ENTRY, **changes)


@pytest.fixture(autouse=True)
def each_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "_warned", set())


def test_what_is_written_is_read() -> None:
    table = Table(CPU, (ENTRY, entry(kernel="ref", config="", measured=1234567.0, estimated=1e6)),
                  (WrongKernel("MatMul", "tile", "8", "why", "2026-01-01"),), is_default=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read_table(write_table(table), "here")
    assert found is not None and set(found.entries) == {
        ENTRY, entry(kernel="ref", config="", measured=1.235e6, estimated=1e6)}
    assert replace(found, entries=()) == replace(table, entries=())


def _text(change: Callable[[dict[str, Any]], Any]) -> bytes:
    data = json.loads(write_table(Table(CPU, (ENTRY, entry(kernel="ref")))))
    change(data)
    return json.dumps(data).encode()


@pytest.mark.parametrize(("text", "told"), [
    (_text(lambda data: data.update(version=2)), "version 2"),
    (_text(lambda data: data.pop("version")), "version None"),
    (_text(lambda data: data.pop("entries")), "entries"), (_text(lambda data: data["hardware"].pop("name")), "name"),
    (_text(lambda data: data["hardware"].update(name=3)), "name cannot be 3"), (b"[]", "no table"), (b"", "Expecting"),
    (write_table(Table(CPU, (ENTRY,)))[:-60], "Expecting|Unterminated"), (b"\xff\xfe", "Expecting|decode"),
    (b'{"version": ' + b"[" * 100_000, "recursion|Recursion|Expecting")])
def test_what_is_no_table_is_refused_with_one_warning(text: bytes, told: str) -> None:
    with pytest.warns(RuntimeWarning, match=f"(?s)table of measured times here: .*({told})") as caught:
        assert read_table(text, "here") is None and read_table(text, "here") is None
    assert len(caught) == 1


@pytest.mark.parametrize("change", [
    {"measured": 0}, {"measured": -3.0}, {"measured": math.nan}, {"measured": math.inf}, {"estimated": 0},
    {"measured": 1e13}, {"measured": 1e-3}, {"measured": "fast"}, {"sizes": {"rows": -1}}, {"sizes": {"rows": 1 << 50}},
    {"sizes": [1]}, {"sizes": {"rows": 1.5}}, {"kernel": ""}, {"kernel": None}, {"kernel": "x" * 500}, {"odd": 1},
    {"is_baked": 1}])
def test_an_entry_that_makes_no_sense_is_left_out(change: dict[str, Any]) -> None:
    with pytest.warns(RuntimeWarning, match="leaves out 1 of 2 entries of the table of measured times here") as caught:
        table = read_table(_text(lambda data: data["entries"][0].update(change)), "here")
    assert len(caught) == 1 and table is not None and len(table.entries) == 1


def test_buckets() -> None:
    assert [bucket_of({"n": n})[0][1] for n in (0, 1, 2, 3, 4, 5, 7, 9, 11, 13, 17, 60, 768, 1000)] == [
        0, 1, 2, 3, 4, 6, 8, 8, 12, 12, 16, 64, 768, 1024]


def ratio(database: Database, variant: Variant, *sizes: int) -> float:
    found = database.ratio(ENTRY.subject, variant)
    return 1.0 if found is None else found(*sizes)


def test_a_time_counts_less_the_farther_its_sizes_are() -> None:
    database = Database(CPU, Table(CPU, (ENTRY, entry(sizes=(("rows", 1), ("columns", 100)), measured=800.0))))
    assert ratio(database, ENTRY.variant, 64, 100) == 2 and ratio(database, ENTRY.variant, 1, 100) == 8
    assert ratio(database, ENTRY.variant, 128, 100) == pytest.approx(2 ** (1 - 1 / REACH))
    assert ratio(database, ENTRY.variant, 16, 200) == 2 ** (1 - 3 / REACH)
    assert ratio(database, ENTRY.variant, 64 << int(REACH), 100) == 1
    assert ratio(database, ENTRY.variant, 0, 100) == pytest.approx(8 ** (1 - 1 / REACH)), "as half an element"
    assert ratio(database, ENTRY.variant, 64) == 1, "of another number of sizes"
    assert database.ratio(ENTRY.subject._replace(traits="f16"), ENTRY.variant) is None


def test_what_was_not_measured_is_off_as_the_fastest_of_the_others() -> None:
    others = (ENTRY, entry(kernel="vector", measured=500.0), entry(kernel="baked", is_baked=True, measured=100.0),
              entry(kernel="slow", measured=900.0, estimated=9000.0))
    database = Database(CPU, Table(CPU, others))
    assert ratio(database, Variant("new", "", "", False), 64, 100) == 2
    quick = Database(CPU, Table(CPU, (entry(measured=10.0),)))
    assert ratio(quick, Variant("new", "", "", False), 64, 100) == LEAST_OF_OTHERS
    beside = Database(CPU, Table(CPU, tuple(replace(each, is_alone=False) for each in others)))
    assert [ratio(beside, Variant(kernel, config, "", False), 64, 100) for kernel, config in (
        ("tile", "14"), ("vector", "14"), ("new", ""))] == [1, 2.5, 1]


def test_a_ratio_is_one_line_of_a_recording() -> None:
    measured = Database(CPU, Table(CPU, (ENTRY,))).ratio(ENTRY.subject, ENTRY.variant)
    trace = Trace()
    rows = trace.free(64)
    found = rows * trace.apply(measured, (rows, 100))
    lines = [line for line in trace.lines([found.name]) if line.names]  # type: ignore[attr-defined]
    assert len(lines) == 2 and found == 128


def _unread(table: Table) -> UnreadTable:
    return UnreadTable(table.hardware, table.is_default, table.wrong, tuple(e.as_data() for e in table.entries), "here")


def test_the_closest_table_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = replace(CPU, type="GPU", architecture="sm_90")

    def table(**changes: Any) -> Table:
        return Table(replace(gpu, **changes), (ENTRY,))
    near = [table(), table(name="other"), table(name="other", architecture="sm_80")]
    default = replace(table(name="any", platform="another"), is_default=True)
    foreign = [table(type="CPU"), table(platform="another"), replace(table(type="CPU"), is_default=True),
               table(architecture="sm_80", vendor="other", name="other")]
    monkeypatch.setattr(database_module, "_all_shipped", lambda: tuple(map(_unread, (default, *foreign, *near[::-1]))))
    assert shipped_tables(gpu) == (*near, default)


def test_cpus_with_other_vectors_have_other_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    same, wide = Table(replace(CPU, name="other"), (ENTRY,)), Table(replace(CPU, architecture="wide"), (ENTRY,))
    default = replace(wide, is_default=True)
    monkeypatch.setattr(database_module, "_all_shipped", lambda: tuple(map(_unread, (wide, default, same))))
    assert shipped_tables(CPU) == (same, default)


def test_own_times_come_before_those_of_tables() -> None:
    near = [Table(CPU, (ENTRY,)), Table(replace(CPU, name="other"), (ENTRY,))]
    first = Database(CPU, Table(CPU, (entry(measured=300.0),)), near)
    assert ratio(first, ENTRY.variant, 64, 100) == 3


def test_what_is_added_is_kept_for_later(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINFER_CACHE_DIR", str(tmp_path))
    first = database_module._opened.__wrapped__(CPU, str(tmp_path), True)
    first.add([ENTRY], [WrongKernel("MatMul", "tile", "8", "why", "2026-01-01", VERSION),
                        WrongKernel("MatMul", "tile", "14", "why", "2026-01-01", "0.0.1")])
    assert first.ratio(ENTRY.subject, ENTRY.variant) is None, "a plan is the same whenever it is made"
    second = database_module._opened.__wrapped__(CPU, str(tmp_path), True)
    assert ratio(second, ENTRY.variant, 64, 100) == 2 and "why" in str(second.why_wrong("MatMul", "tile", "8"))
    assert second.why_wrong("MatMul", "tile", "14") is None, "another version has other kernels"
    second.add([entry(measured=900.0, is_alone=False), entry(kernel="new", is_alone=False)])
    found = database_module._opened.__wrapped__(CPU, str(tmp_path), True)
    assert found.own_entry(ENTRY.subject, dict(SIZES), ENTRY.variant).measured == 200
    assert found.own_entry(ENTRY.subject, dict(SIZES), Variant("new", "14", "", False)) is not None
    path, = (tmp_path / "tuning").iterdir()
    path.write_bytes(path.read_bytes()[:200])
    with pytest.warns(RuntimeWarning, match="does not use the table"):
        lost = database_module._opened.__wrapped__(CPU, str(tmp_path), True)
    assert lost.ratio(ENTRY.subject, ENTRY.variant) is None


def test_tables_that_come_with_clinfer_are_whole() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        database_module._all_shipped.cache_clear()
        tables = database_module._all_shipped()
        assert tables and all(table.read().entries for table in tables)
