"""Kernels whose inline PTX is written out in OpenCL C (ptx.h): what NVIDIA's compiler is given of them runs on devices
of others, too. Their files have no seam for that: each instruction in them becomes a call of the macro of its name."""
from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from clinfer.kernels.contract import Kernel, KernelTable, Lowered, Problem, Stage
from clinfer.kernels.jitter import kernel_folder, kernel_source
from clinfer.kernels.recipe import Recipe
from clinfer.ops import operation_within
from clinfer.runtime.capabilities import Capabilities
from clinfer.topology import Primitive

_INSTRUCTIONS = Path(__file__).with_name("ptx.h")
_ASSEMBLY = re.compile(r"\basm\s*(?:volatile\s*)?\(")
_TEXT = re.compile(r'\s*"((?:[^"\\]|\\.)*)"')
_OPERAND = re.compile(r'"[=+]?[a-z]"\s*\(')
_TO_LOCAL_MEMORY = "((uint)(ulong)(p))"
"""An address as instructions take it, in the macro that makes one of a local pointer."""
_RECIPE = Recipe(("-cl-std=CL2.0", "-cl-opt-disable"))
"""A program of OpenCL C 2.0 may have variables; what runs a few times is not worth a long compilation."""


def has_warps(device: Capabilities) -> bool:
    """Whether sub-groups can be warps, each of which may go its own way; else all of a group must go the same."""
    return 32 in device.subgroup_sizes and "khr" in device.subgroup_builtins and not device.subgroup_option


def written_out(kernel: Kernel[Any, Any]) -> Kernel[Any, Any]:
    """The same kernel, for every device."""
    class WrittenOut(type(kernel)):  # type: ignore[misc]
        def targets(self, device: Capabilities) -> str | None:
            return None

        def cost(self, problem: Problem, config: Any) -> float:
            return 1.0  # what it takes where there are no tensor cores tells nobody anything

        def lower(self, problem: Problem, config: Any) -> Lowered:
            lowered = super().lower(problem, config)
            return replace(lowered, stages=tuple(_stage_written_out(each, problem) for each in lowered.stages))

    return cast(Kernel[Any, Any], WrittenOut())


def write_out(monkeypatch: pytest.MonkeyPatch, kind: type[Primitive], *names: str) -> None:
    """Have these kernels of an operation written out."""
    tables = cast(dict[type[Primitive], KernelTable], operation_within(kind.__module__).kernels)
    kernels = tuple(written_out(each) if each.name in names else each for each in tables[kind].kernels)
    monkeypatch.setitem(tables, kind, replace(tables[kind], kernels=kernels))


def without_assembly(text: str) -> str:
    """OpenCL C in which statements of inline PTX are calls."""
    pieces, at = [], 0
    for match in _ASSEMBLY.finditer(text):
        end = _closing(text, match.end())
        pieces += [text[at:match.start()], _calls(text[match.end():end])]
        at = end + 1
    return "".join([*pieces, text[at:]])


def _stage_written_out(stage: Stage, problem: Problem) -> Stage:
    text = kernel_source(kernel_folder(stage, problem.primitive), stage.source)
    if not _ASSEMBLY.search(text):
        return stage
    assert text.count(_TO_LOCAL_MEMORY) == 1
    text = text.replace(_TO_LOCAL_MEMORY, "FUNC(address_of)((ulong)(p))")
    return replace(stage, recipe=_RECIPE, text="\n".join([
        f"#define WARPS_ARE_SUB_GROUPS {int(has_warps(problem.capabilities))}", "#define __NV_CL_C_VERSION 1",
        _INSTRUCTIONS.read_text(encoding="utf-8"), without_assembly(text)]))


def _closing(text: str, at: int) -> int:
    """Where the parenthesis is closed that was opened before `at`."""
    depth = 1
    while depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at - 1


def _calls(statement: str) -> str:
    """What stands between the parentheses of a statement of assembly, as one statement of OpenCL C."""
    statement, template, at = statement.replace("\\\n", " "), "", 0
    while match := _TEXT.match(statement, at):
        template, at = template + match[1], match.end()
    operands = [f"({statement[match.end():_closing(statement, match.end())]})"
                for match in _OPERAND.finditer(statement, at)]
    lines = re.sub(r"//.*", "", template.replace("\\n", "\n")).split(";")
    return f"do {{ {' '.join(_call(line.strip().lstrip('{'), operands) for line in lines)} }} while (0)"


def _call(instruction: str, operands: list[str]) -> str:
    """The call of an instruction, or the declaration of its registers."""
    name, _, rest = instruction.partition(" ")
    words = re.findall(r"[^\s,{}\[\]]+", rest)
    if name.startswith("."):
        return f"uint {', '.join(words[1:])};"
    given = ", ".join(operands[int(word[1:])] if word.startswith("%") else word for word in words)
    return f"ptx_{re.sub(r'[^0-9A-Za-z]+', '_', name)}({given});" if name.strip("}") else ""
