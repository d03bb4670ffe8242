"""Kernels of the user's, as plain data."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class KernelArgument:
    """A buffer that a kernel takes: the operation's n-th input or output."""

    kind: Literal["input", "output"]
    index: int


@dataclass(frozen=True)
class CustomKernel:
    """The OpenCL C of an operation and how it is launched.

    `operation` is the type of the operation, `entry` the kernel function in `source`. `arguments`: what the function
    takes, in order; empty: all inputs, then all outputs. `global_size` and `local_size` are expressions
    (`base/expressions.py`) of the sizes of all tensors; B, F, Y, X are those of `sized_by`. `defines`: macros, each a
    text or the name of an attribute with its default: (macro, type, attribute, default). `options`: the compiler's.
    `has_arrays`: the macros of OpenVINO's custom layers (`INPUT0_DIMS` and the like) are there too.
    """

    operation: str
    source: str
    entry: str
    global_size: tuple[str, ...]
    local_size: tuple[str, ...] = ()
    sized_by: str = "OUTPUT0"
    arguments: tuple[KernelArgument, ...] = ()
    defines: tuple[tuple[str, str, str, str], ...] = ()
    options: tuple[str, ...] = ()
    has_arrays: bool = False
