"""Case rows in shards: how each row is run, and programs of a shard's rows, whose kernels are built in one go.

A kernel is forced on a part of the rows that it may compute, and all kernels are on some.

What runs follows from what the selector answers about the rows of a device, never from what ran before.
"""
from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from clinfer.ops.operation import Case
from clinfer.program.program import Program
from clinfer.runtime.engine import Engine
from tests.candidates import candidates_of, candidates_of_op, reaches, refusals_of
from tests.deferring import Selection
from tests.ops.case_runner import PADDED, Variant, needs, topology_of
from tests.oracle import parameter_specs
from tests.seeds import FULL, seed_of

Row = tuple[str, Case]
LAYOUTS = {4: ("byxf", "yxfb", "b_fs_yx_fsv16"), 5: ("b_fs_zyx_fsv16",)}
FORCED = 1 / 2
"""How many of the rows that a kernel may compute run with it forced on the first device of a type, chosen by the seed.
"""
REFUSED = 1 / 16
"""How many of the rows that a kernel does not support ask for it all the same."""
LEAST = 2
"""On how many rows each is forced at least, where so many take it: all that further devices do."""
WEIGHT = 1200
"""About how many variants of rows a shard holds."""


def layouts_of(case: Case) -> list[str]:
    """The formats that fit an input of the row, besides the planar one."""
    ranks = sorted({len(shape) for shape, _ in parameter_specs(case)})
    return [name for rank in ranks for name in LAYOUTS.get(rank, ())]


def variants_of(engine: Engine, case: Case) -> list[Variant]:
    """How a row is run, besides forced kernels and the formats that only some of them need; GPUs compute in f16 as
    well."""
    modes = [True, False] if case.sequence else [False]
    layouts = layouts_of(case)
    variants = [Variant(dynamic) for dynamic in modes]
    chance = random.Random(f"{seed_of(case.name)}{case.name}")
    chosen = [*(layouts if FULL else chance.sample(layouts, min(1, len(layouts)))), PADDED]
    variants += [Variant(dynamic, "", layout) for layout in chosen for dynamic in (modes if FULL else modes[:1])]
    half = engine.capabilities.fp16 and (FULL or engine.device.type == "GPU") and _computes_f32(case)
    return [*variants, *(replace(v, half=True) for v in variants)] if half else variants


def forces_kernels(case: Case, variant: Variant) -> bool:
    """Whether a row is run in a way with each kernel forced, too."""
    return FULL or (not variant.layout and variant.dynamic == bool(case.sequence))


def weight_of(op: str, case: Case) -> int:
    """About how much work a row is."""
    return len(candidates_of_op(op)) + 2 + len(case.sequence)


def shards_of(rows: Iterable[Row]) -> dict[str, int]:
    """The shard of each operation: operations stay whole, and shards are about as much work each."""
    weights: dict[str, int] = {}
    for op, case in rows:
        weights[op] = weights.get(op, 0) + weight_of(op, case)
    shards = [0] * max(1, round(sum(weights.values()) / WEIGHT))
    found = {}
    for op in sorted(weights, key=lambda name: (-weights[name], name)):
        found[op] = shards.index(min(shards))
        shards[found[op]] += weights[op]
    return found


class Shard:
    """The programs of some rows on a device; their kernels are built in batches when the first one is run."""

    def __init__(self, engine: Engine, rows: Sequence[Row]) -> None:
        self._selection = Selection(engine)
        self._forced: Counter[str] = Counter()
        self._share = FORCED if engine.device.name.endswith(".0") else 0.0
        able = [(op, case) for op, case in rows if needs(case, engine)]
        self._programs = {id(case): self._all_ways(engine, case) for _, case in able}
        for op in dict(able):
            self._add_formats(candidates_of_op(op, engine.capabilities), [case for name, case in able if name == op])
        self._selection.build()

    def programs(self, case: Case) -> Mapping[Variant, Program | Exception]:
        """What a row is run as, or why it cannot be; once: the programs of a shard are hundreds of megabytes."""
        return self._programs.pop(id(case))

    def select(self, case: Case, variant: Variant) -> Program | Exception:
        """The program of a row, whose kernels are not built yet, or the error."""
        try:
            return self._selection.program(topology_of(case, variant), variant.options())
        except Exception as error:
            return error

    def _all_ways(self, engine: Engine, case: Case) -> dict[Variant, Program | Exception]:
        programs = {variant: self.select(case, variant) for variant in variants_of(engine, case)}
        for variant, program in tuple(programs.items()):
            names = candidates_of(program) if forces_kernels(case, variant) else []
            refused = refusals_of(program)
            for name in names if len(names) > 1 else ():
                if self._is_chosen(case, name, name in refused):
                    forced = replace(variant, kernel=name)
                    programs[forced] = found = self.select(case, forced)
                    self._forced[name] += not isinstance(found, Exception)
        return programs

    def _is_chosen(self, case: Case, name: str, is_refused: bool) -> bool:
        """Whether a row runs with a kernel forced, or is refused with it."""
        chance = random.Random(f"{seed_of(case.name)}{case.name}{name}")
        if is_refused and not FULL:
            return chance.random() < REFUSED
        return FULL or self._forced[name] < LEAST or chance.random() < self._share

    def _add_formats(self, kernels: Iterable[str], cases: Sequence[Case]) -> None:
        """Have those kernels of an operation that none of its rows reached run on inputs in a format that they want."""
        reached = set().union(*(reaches(p) for case in cases for p in self._programs[id(case)].values()))
        for kernel in set(kernels) - reached:
            for case, variant in in_formats(cases, kernel):
                program = self.select(case, variant)
                if kernel in reaches(program):
                    forced = (replace(variant, kernel=name) for name in candidates_of(program, kernel=kernel))
                    self._programs[id(case)] |= {each: self.select(case, each) for each in forced}
                    break


def in_formats(cases: Iterable[Case], kernel: str) -> Iterator[tuple[Case, Variant]]:
    """Rows with a forced kernel, and with every format that fits their inputs."""
    for case in cases:
        for layout in layouts_of(case):
            yield case, Variant(bool(case.sequence), kernel, layout)


def _computes_f32(case: Case) -> bool:
    return not case.ordered and any(kind == "f32" for _, kind in parameter_specs(case))
