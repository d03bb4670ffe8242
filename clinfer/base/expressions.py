"""Whole numbers as texts, such as `B * F * ((X + 7) / 8)`: work sizes of custom kernels."""
from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from clinfer.base.errors import ClinferError

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.floordiv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod}


def parsed(text: str) -> ast.expr:
    """The tree of an expression of whole numbers, names, parentheses and + - * / %. Errors: ClinferError."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        raise _wrong(text) from None
    for node in ast.walk(tree):
        is_number = isinstance(node, ast.Constant) and type(node.value) is int
        is_known = isinstance(node, ast.Name | ast.Load) or is_number or type(node) in _OPERATORS
        if not is_known and not (isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS):
            raise _wrong(text)
    return tree


def evaluated(text: str, names: Mapping[str, int]) -> int:
    """The value of an expression; divisions round down. Numbers may be symbols. Errors: ClinferError for a name that
    is not there, and for a division by 0."""
    try:
        return _value(parsed(text), names)
    except (KeyError, ZeroDivisionError) as error:
        raise ClinferError("a work size of a custom kernel cannot be computed", values={
            "expression": text, "because": "division by 0" if isinstance(error, ZeroDivisionError)
            else f"there is no {error.args[0]}", "names": ", ".join(names)}) from None


def _value(node: ast.expr, names: Mapping[str, int]) -> int:
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_value(node.left, names), _value(node.right, names))
    if isinstance(node, ast.Name):
        return names[node.id]
    assert isinstance(node, ast.Constant) and isinstance(node.value, int)
    return node.value


def _wrong(text: str) -> ClinferError:
    return ClinferError("a work size of a custom kernel is no expression", values={"given": text},
                        hint="write whole numbers, names, parentheses and + - * / %, such as B * F * ((X + 7) / 8)")
