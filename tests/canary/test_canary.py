"""What clinfer leans on in OpenVINO and pyopencl beyond what they promise: a failure says in words what broke."""
from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.canary import openvino_beliefs, pyopencl_beliefs
from tests.canary.belief import Belief, Beliefs

ROOT = Path(__file__).resolve().parents[2]
ALL = [*openvino_beliefs.BELIEFS, *pyopencl_beliefs.BELIEFS]
PRIVATE_MODULES = ("openvino._", "pyopencl._")
STANDARD = {"_exit"}
"""Underscored names of Python's own library."""


@pytest.mark.parametrize("belief", ALL, ids=lambda belief: f"{belief.library}{belief.check.__name__}")
def test_what_is_believed_holds(belief: Belief) -> None:
    belief.hold()


def test_a_failure_says_what_broke() -> None:
    beliefs = Beliefs("numpy")

    @beliefs.that("one and one are three", "clinfer/base/knobs.py")
    def _wrong() -> None:
        assert 1 + 1 == 3, "they are two"

    with pytest.raises(pytest.fail.Exception) as caught:
        beliefs[0].hold()
    told = str(caught.value)
    for words in ("numpy ", "one and one are three", "clinfer/base/knobs.py", "they are two", "upper bound of numpy"):
        assert words in told


@pytest.mark.parametrize("place", sorted({place for belief in ALL for place in belief.places}))
def test_who_leans_on_it_is_there(place: str) -> None:
    assert (ROOT / place).exists()


def trees() -> list[ast.Module]:
    return [ast.parse(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "clinfer").rglob("*.py"))]


def own_names(tree: ast.Module) -> Iterator[str]:
    """Names that clinfer itself defines: functions, methods, attributes of its objects, fields."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
            yield node.attr
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def private_names() -> set[str]:
    """Underscored names that clinfer asks others' objects for, and private modules that it imports."""
    parsed = trees()
    own = {name for tree in parsed for name in own_names(tree)} | STANDARD
    nodes = [node for tree in parsed for node in ast.walk(tree)]
    return {str(node.module) for node in nodes
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PRIVATE_MODULES)} | {
        node.attr for node in nodes if isinstance(node, ast.Attribute)
        and node.attr.startswith("_") and not node.attr.startswith("__") and node.attr not in own}


def test_every_private_name_is_believed_in() -> None:
    used = private_names()
    assert {"_cl", "_set_arg_buf", "openvino._offline_transformations"} <= used
    assert used <= {name for belief in ALL for name in belief.private}


@pytest.mark.parametrize("library", sorted({belief.library for belief in ALL}))
def test_it_has_an_upper_bound(library: str) -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(rf'"{library}>=[\d.]+,<[\d.]+"', project)
