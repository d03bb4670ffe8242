"""Macros that choose by a number: OpenCL C has no arrays of arguments."""
from __future__ import annotations


def numbered_choice(name: str, count: int) -> str:
    """An expression in n: `<name>_<n>` for n below `count`, and the last of these (or `<name>_0`) for every other."""
    text = f"{name}_{max(count - 1, 0)}"
    for number in reversed(range(count - 1)):
        text = f"((n) == {number} ? {name}_{number} : {text})"
    return text
