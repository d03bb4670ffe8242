"""The tables that hold for a device: its own from the user's cache folder, then those that come with clinfer, from
that of the same device over those of its architecture and of its vendor to the default.

Times only ever say which of several right kernels is the fastest. A time is used as the ratio to what was estimated
when it was measured, so that it also tells of sizes near by; see `Points`.
"""
from __future__ import annotations

import hashlib
import threading
from array import array
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property, lru_cache
from importlib import resources
from operator import attrgetter

from clinfer.base import knobs
from clinfer.base.tracing import log, warn_once
from clinfer.base.trusted_folder import TrustedFolder
from clinfer.base.version import VERSION
from clinfer.runtime.hardware import Hardware
from clinfer.tuning.entry import REACH, Entry, Sizes, Subject, Variant, bucket_of, logarithms
from clinfer.tuning.table import Table, UnreadTable, WrongKernel, open_table, read_table, write_table

_LARGEST_TABLE = 1 << 26
_MOST_ENTRIES = 20_000
LEAST_OF_OTHERS = 0.5
"""The least ratio that is taken over from a candidate that was measured to others."""

Point = tuple[tuple[int, ...], float]
Points = tuple[Point, ...]
"""Sizes, and how many times longer than estimated a candidate takes there."""


class Database:
    """The tables of one device; safe for use by several threads.

    The times that count in the choice of kernels are those that were there when it was opened: what is added is for
    later processes, so that a plan is the same whenever it is made.
    """

    def __init__(self, hardware: Hardware, own: Table, shipped: Iterable[Table] = (),
                 folder: TrustedFolder | None = None) -> None:
        """`own`: of this very device and driver; `folder`: where it is kept."""
        self._own = own
        self._hardware = hardware
        self._folder = folder
        self._lock = threading.Lock()
        self._counting = tuple(table.entries for table in (own, *shipped))
        self._tables = tuple(map(_by_subject, self._counting))
        self._subjects = frozenset(subject for table in self._tables for subject in table)
        self._operations = frozenset(subject.operation for subject in self._subjects)
        self._ratios: dict[tuple[Subject, Variant], MeasuredRatio] = {}
        self._refused: set[tuple[Subject, Variant]] = set()
        self._index()

    def _index(self) -> None:
        self._found = _by_subject(self._own.entries)
        self._wrong = {(row.operation, row.kernel, row.config): row for row in self._own.wrong
                       if row.seen_by == VERSION}

    # -- asking ---------------------------------------------------------------------------------

    def knows(self, operation: str) -> bool:
        """Whether there are times of an operation."""
        return operation in self._operations

    @property
    def digest(self) -> str:
        """Tells one state of what counts in the choice of kernels from another."""
        with self._lock:
            wrong = sorted(self._wrong)
        return hashlib.sha256(repr((self._told, wrong)).encode()).hexdigest()

    @cached_property
    def _told(self) -> str:
        return hashlib.sha256(repr(self._counting).encode()).hexdigest()

    def why_wrong(self, operation: str, kernel: str, config: str) -> str | None:
        """What was wrong with a candidate's results on this device; None: nothing that is known."""
        found = self._wrong.get((operation, kernel, config))
        return None if found is None else f"wrong results on this device, seen on {found.date}: {found.why}"

    def variants(self, subject: Subject) -> set[Variant]:
        """The candidates of which there are times that are used."""
        return {variant for table in self._tables for group in table.get(subject, {}).values() for variant in group
                if (subject, variant) not in self._refused}

    def entry(self, subject: Subject, sizes: Mapping[str, int], variant: Variant) -> Entry | None:
        """What was measured for the bucket of these sizes, by the closest table that knows it."""
        bucket = bucket_of(sizes)
        groups = (table.get(subject, {}).get(bucket, {}) for table in (self._found, *self._tables[1:]))
        return next((group[variant] for group in groups if variant in group), None)

    def own_entry(self, subject: Subject, sizes: Mapping[str, int], variant: Variant) -> Entry | None:
        """What was measured on this very device and driver for the bucket of these sizes."""
        return self._found.get(subject, {}).get(bucket_of(sizes), {}).get(variant)

    def ratio(self, subject: Subject, variant: Variant) -> MeasuredRatio | None:
        """How much longer than estimated a candidate takes; None: there are no times of what it computes."""
        key = subject, variant
        if subject not in self._subjects:
            return None
        found = self._ratios.get(key)
        if found is None:
            found = self._ratios[key] = MeasuredRatio(self._points(subject, variant))
        return found

    def refuse(self, subject: Subject, variant: Variant, why: str) -> None:
        """Use the times of a candidate no more, and warn of the first, since what spoils one often spoils many."""
        self._ratios = {key: ratio for key, ratio in self._ratios.items() if key[0] != subject}
        told = (f"clinfer does not use the measured times of {variant.kernel} {variant.config} ({subject.operation}, "
                f"{subject.traits}): {why}").replace("  ", " ")
        if self._refused:
            log(1, told)
        else:
            warn_once(f"{told}; of others CLINFER_DEBUG=1 tells")
        self._refused.add((subject, variant))

    def _points(self, subject: Subject, variant: Variant) -> Points:
        """Of the first table with times of a bucket. What was not measured where others were is taken to be as far
        off its estimate as the fastest of them: an estimate that is too low for all of them is so for it, too, and it
        is chosen before that only if it is estimated to take less. But where only what is far from its estimate was
        measured, that tells little of others."""
        found: dict[Sizes, Point] = {}
        for table in self._tables:
            for bucket, group in table.get(subject, {}).items():
                plain = [entry for entry in group.values()
                         if not entry.is_baked and (subject, entry.variant) not in self._refused]
                if bucket in found or not plain:
                    continue
                fastest = min(plain, key=attrgetter("measured"))
                own = next((entry for entry in plain if entry.variant == variant), None)
                scale = 1.0 if all(entry.is_alone for entry in plain) else fastest.ratio
                ratio = max(fastest.ratio / scale, LEAST_OF_OTHERS) if own is None else own.ratio / scale
                found[bucket] = tuple(size for _, size in plain[0].sizes), ratio
        return tuple(found.values())

    # -- adding ---------------------------------------------------------------------------------

    def add(self, entries: Iterable[Entry], wrong: Iterable[WrongKernel] = ()) -> None:
        """Keep what was measured, in place of what was known of the same (but not what was measured beside other work
        in place of what was measured alone), and nothing of what was refused; on disk too, unless caches are off."""
        with self._lock:
            known = {(entry.subject, entry.bucket, entry.variant): entry for entry in self._own.entries
                     if (entry.subject, entry.variant) not in self._refused}
            for entry in entries:
                key = entry.subject, entry.bucket, entry.variant
                if entry.is_alone or key not in known or not known[key].is_alone:
                    # Last of all, so that what goes beyond the limit is what is oldest.
                    known.pop(key, None)
                    known[key] = entry
            bad = {(row.operation, row.kernel, row.config): row for row in (*self._own.wrong, *wrong)}
            self._own = replace(self._own, entries=tuple(known.values())[-_MOST_ENTRIES:], wrong=tuple(bad.values()))
            self._index()
            if self._folder is not None and knobs.cache_enabled():
                self._folder.write(_file_name(self._hardware), [write_table(self._own)])

    def exported(self) -> Table:
        """What was measured on this device with nothing else running, for a table that comes with clinfer."""
        return Table(self._hardware, tuple(entry for entry in self._own.entries
                                           if entry.is_alone and not entry.is_baked))


def today() -> str:
    """The date that entries have."""
    return date.today().isoformat()


# -- ratios, as arithmetic on symbols calls for them --------------------------------------------------

@dataclass(frozen=True)
class MeasuredRatio:
    """How many times longer than estimated a candidate takes, as the nearest measured sizes tell; beyond `REACH` they
    tell nothing, and the less the farther they are."""

    points: Points

    def __call__(self, *sizes: int) -> float:
        known = self._by_count.get(len(sizes))
        if known is None:
            return 1.0
        here, found = logarithms(sizes), []
        for there, ratio in known:
            # One by one, as `tape.c` adds them: Python's own sum corrects what each addition rounds.
            away = 0.0
            for one, other in zip(there, here, strict=True):
                away += abs(one - other)
            found.append((away, ratio))
        away, ratio = min(found)
        return ratio ** (1 - away / REACH) if away < REACH else 1.0

    def rows(self, count: int) -> array[float]:
        """Of the points with so many sizes the logarithms and the ratio, one behind the other, as `tape.c` has them."""
        return array("d", [number for there, ratio in self._by_count.get(count, ()) for number in (*there, ratio)])

    @cached_property
    def _by_count(self) -> dict[int, list[tuple[tuple[float, ...], float]]]:
        """By how many sizes there are: their logarithms and the ratio of each point."""
        found: dict[int, list[tuple[tuple[float, ...], float]]] = {}
        for sizes, ratio in self.points:
            found.setdefault(len(sizes), []).append((logarithms(sizes), ratio))
        return found


# -- where tables are -------------------------------------------------------------------------------


def database_of(hardware: Hardware) -> Database:
    """The database of a device, read once for each folder of caches."""
    return _opened(hardware, knobs.value("CLINFER_CACHE_DIR"), knobs.cache_enabled())


def uses_times() -> bool:
    """Whether measured times count in the choice of kernels."""
    return knobs.tuning_enabled()


@lru_cache(maxsize=64)
def _opened(hardware: Hardware, folder_name: str, is_kept: bool) -> Database:
    folder = TrustedFolder(knobs.cache_dir(), "tuning")
    own = Table(hardware)
    text = folder.read(_file_name(hardware), _LARGEST_TABLE) if is_kept else None
    if text is not None:
        found = read_table(text, str(folder.path / _file_name(hardware)))
        own = found if found is not None and found.hardware == hardware else own
    return Database(hardware, own, shipped_tables(hardware), folder)


def shipped_tables(hardware: Hardware) -> tuple[Table, ...]:
    """Those of the tables that come with clinfer that hold for a device, the closest first."""
    ranked = [(rank, table) for table in _all_shipped() if (rank := _rank(table, hardware)) is not None]
    return tuple(table.read() for _, table in sorted(ranked, key=lambda pair: pair[0]))


def _rank(table: UnreadTable, hardware: Hardware) -> int | None:
    """How close a table's device is: 0 the same, 1 of its architecture, 2 of its vendor, 3 the default. CPUs of one
    name, as virtual machines have it, and of one vendor may have vectors of other widths, and so other tiles."""
    known = table.hardware
    if known.type != hardware.type:
        return None
    is_other_cpu = known.type == "CPU" and known.architecture != hardware.architecture
    if known.platform == hardware.platform and not is_other_cpu:
        if known.name == hardware.name:
            return 0
        if known.architecture and known.architecture == hardware.architecture:
            return 1
        if known.vendor == hardware.vendor:
            return 2
    return 3 if table.is_default else None


@lru_cache(maxsize=1)
def _all_shipped() -> tuple[UnreadTable, ...]:
    tables = []
    with suppress(FileNotFoundError, NotADirectoryError):
        for file in sorted(resources.files("clinfer.tuning").joinpath("tables").iterdir(), key=lambda file: file.name):
            if file.name.endswith(".json"):
                tables.append(open_table(file.read_bytes(), file.name))
    return tuple(table for table in tables if table is not None)


def _file_name(hardware: Hardware) -> str:
    return hashlib.sha256(repr(hardware).encode()).hexdigest()[:32] + ".json"


_Groups = dict[Sizes, dict[Variant, Entry]]


def _by_subject(entries: Iterable[Entry]) -> dict[Subject, _Groups]:
    found: dict[Subject, _Groups] = {}
    for entry in entries:
        found.setdefault(entry.subject, {}).setdefault(entry.bucket, {})[entry.variant] = entry
    return found
