"""Every public method has the overloads and keyword names that OpenVINO's stubs tell."""
from __future__ import annotations

import ast
import inspect
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import clinfer
from clinfer.api.absent import Absent
from clinfer.api.handles import Handle
from clinfer.frontend.openvino_import import openvino as ov

STUBS = Path(ov.__file__).parent
DOCUMENT = Path(__file__).parents[2] / "docs" / "coming_from_openvino.md"
CLASSES = ("AsyncInferQueue", "CompiledModel", "ConstOutput", "Core", "InferRequest", "RemoteContext", "RemoteTensor",
           "VAContext", "VASurfaceTensor", "Version")

# What clinfer has otherwise; the document names each with its reason.
DIFFERENCES = {"Core.register_plugin", "Core.register_plugins"}
# pybind11 has no name for these, so that no keyword can give them.
_NAMELESS = re.compile(r"arg\d+")
_NOT_GIVEN = object()


@dataclass(frozen=True)
class Parameter:
    name: str
    default: Any
    is_keyword: bool

    @property
    def has_name(self) -> bool:
        return not _NAMELESS.fullmatch(self.name)


@dataclass(frozen=True)
class Member:
    """A method with its overloads, each a tuple of parameters without `self`, or a property."""

    owner: str
    name: str
    is_property: bool
    overloads: tuple[tuple[Parameter, ...], ...]

    def __str__(self) -> str:
        return f"{self.owner}.{self.name}"


def _parameters(function: ast.FunctionDef) -> tuple[Parameter, ...]:
    arguments = function.args
    placed = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(placed) - len(arguments.defaults)) + list(arguments.defaults)
    pairs = [(a, d, False) for a, d in zip(placed, defaults, strict=True)]
    pairs += [(a, d, True) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    return tuple(Parameter(a.arg, _NOT_GIVEN if d is None else ast.literal_eval(d), is_keyword)
                 for a, d, is_keyword in pairs[1:])


def _members_in(stub: str, owner: str) -> dict[str, Member]:
    """The members of a class in one stub; an empty dictionary if the class is not there."""
    found: dict[str, list[ast.FunctionDef]] = defaultdict(list)
    for node in ast.parse((STUBS / stub).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and node.name == owner:
            for function in node.body:
                if isinstance(function, ast.FunctionDef):
                    found[function.name].append(function)
    return {name: Member(owner, name, any(ast.unparse(d) == "property" for d in functions[0].decorator_list),
                         tuple(_parameters(function) for function in functions))
            for name, functions in found.items()}


def _members() -> Iterator[Member]:
    """Of every class; what OpenVINO's Python layer overrides comes from there."""
    for owner in CLASSES:
        found = {**_members_in("_pyopenvino/__init__.pyi", owner), **_members_in("_ov_api.pyi", owner)}
        assert found, owner
        yield from (member for name, member in found.items()
                    if name in ("__call__", "__init__") or not name.startswith("_"))


MEMBERS = list(_members())


def _ours(member: Member) -> Any:
    owner = getattr(clinfer, member.owner)
    return inspect.getattr_static(owner, member.name, getattr(owner, "__dataclass_fields__", {}).get(member.name))


def _binds(function: Any, *given: object, **named: object) -> bool:
    try:
        inspect.signature(function).bind(None, *given, **named)
    except TypeError:
        return False
    return True


def _calls(overload: tuple[Parameter, ...]) -> Iterator[tuple[list[Parameter], list[Parameter]]]:
    """(given by place, given by name) for every way to call an overload: with and without what has defaults."""
    for given in (overload, tuple(p for p in overload if p.default is _NOT_GIVEN)):
        by_place = [p for p in given if not p.is_keyword]
        for count in range(len(by_place) + 1):
            named = [*by_place[count:], *(p for p in given if p.is_keyword)]
            if all(p.has_name for p in named):
                yield by_place[:count], named


def test_the_stubs_are_read() -> None:
    names = {str(member): member for member in MEMBERS}
    assert len(names["InferRequest.set_tensors"].overloads) == 5
    assert [p.name for p in names["Core.compile_model"].overloads[0]] == ["model", "device_name", "config", "weights"]
    assert names["InferRequest.latency"].is_property
    assert len(names) > 100


@pytest.mark.parametrize("member", [m for m in MEMBERS if str(m) not in DIFFERENCES], ids=str)
def test_every_overload_can_be_called(member: Member) -> None:
    ours = _ours(member)
    if member.name == "__init__" and isinstance(getattr(clinfer, member.owner), Handle):
        ours = inspect.getattr_static(Handle, "__call__")
    assert ours is not None and not isinstance(ours, Absent), f"clinfer has no {member}"
    if member.is_property:
        assert not inspect.isroutine(ours)
        return
    assert inspect.isroutine(ours)
    if ours is inspect.getattr_static(ov.Output, member.name, None):
        return
    for overload in member.overloads:
        for by_place, named in _calls(overload):
            assert _binds(ours, *by_place, **{p.name: p for p in named}), (
                f"{member}({', '.join(p.name for p in by_place)}; {', '.join(f'{p.name}=' for p in named)})")


@pytest.mark.parametrize("member", [m for m in MEMBERS if not m.is_property and str(m) not in DIFFERENCES], ids=str)
def test_defaults_are_the_same(member: Member) -> None:
    ours = _ours(member)
    if ours is inspect.getattr_static(ov.Output, member.name, None):
        return
    own = inspect.signature(ours).parameters
    for parameter in (p for overload in member.overloads for p in overload if p.name in own):
        if parameter.default is not _NOT_GIVEN:
            assert own[parameter.name].default in (parameter.default, parameter.default or None)


def test_the_module_s_functions() -> None:
    (function,) = (node for node in ast.parse((STUBS / "_ov_api.pyi").read_text(encoding="utf-8")).body
                   if isinstance(node, ast.FunctionDef))
    assert function.name == "compile_model"
    assert list(inspect.signature(clinfer.compile_model).parameters) == [a.arg for a in function.args.args]


@pytest.mark.parametrize("name", sorted(DIFFERENCES))
def test_differences_are_told(name: str) -> None:
    owner, _, member = name.partition(".")
    assert any(str(m) == name for m in MEMBERS), "OpenVINO has no such member"
    assert isinstance(inspect.getattr_static(getattr(clinfer, owner), member), Absent)
    assert f"`{member}`" in DOCUMENT.read_text(encoding="utf-8")
