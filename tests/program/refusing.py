"""Kernels with recipes and sources of a test's own, in the tables of operations."""
from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from clinfer.kernels.contract import Formats, Kernel, KernelTable, Lowered, Problem
from clinfer.kernels.jitter import kernel_source, read_source
from clinfer.kernels.recipe import USUAL, Recipe
from clinfer.ops import operation_within
from clinfer.topology import Primitive

PACKAGE = "clinfer_test_kernels"
NONSENSE = 'KERNEL(broken)(global float* x) { x[0] = nonsense; }\n'


class Twin(Kernel[Problem, Any]):
    """The last kernel of a table once more, under another name, for next to no time: with another source, if `source`
    names one in `PACKAGE`, and with a recipe."""

    def __init__(self, model: Kernel[Any, Any], name: str, recipe: Recipe = USUAL, source: str = "") -> None:
        self.name = name
        self.has_epilogue = model.has_epilogue
        self._model = model
        self._recipe = recipe
        self._source = source

    def formats(self, problem: Problem) -> Formats:
        return self._model.formats(problem)

    def configs(self, problem: Problem) -> tuple[Any, ...]:
        return self._model.configs(problem)

    def supports(self, problem: Problem, config: Any) -> str | None:
        return self._model.supports(problem, config)

    def accepts(self, problem: Problem, config: Any) -> str | None:
        return self._model.accepts(problem, config)

    def cost(self, problem: Problem, config: Any) -> float:
        return 1e-3

    def lower(self, problem: Problem, config: Any) -> Lowered:
        lowered = self._model.lower(problem, config)
        other = {"source": self._source, "package": PACKAGE} if self._source else {}
        return replace(lowered, stages=tuple(replace(stage, recipe=self._recipe, **other) for stage in lowered.stages))


def add_twin(monkeypatch: pytest.MonkeyPatch, kind: type[Primitive], name: str, recipe: Recipe = USUAL,
             source: str = "", alone: bool = False) -> None:
    """Put a twin before the kernels of an operation, or in their place."""
    tables = cast(dict[type[Primitive], KernelTable], operation_within(kind.__module__).kernels)
    table = tables[kind]
    twin = Twin(table.kernels[-1], name, recipe, source)
    monkeypatch.setitem(tables, kind, KernelTable((twin,) if alone else (twin, *table.kernels), table.problem))


def add_source(monkeypatch: pytest.MonkeyPatch, folder: Path, name: str, text: str) -> None:
    """Put a kernel file into `PACKAGE`, which lies in a folder."""
    (folder / PACKAGE).mkdir(exist_ok=True)
    (folder / PACKAGE / "__init__.py").touch()
    (folder / PACKAGE / name).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, PACKAGE, raising=False)
    read_source.cache_clear()
    kernel_source.cache_clear()
