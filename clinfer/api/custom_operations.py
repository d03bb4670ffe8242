"""Kernels of the user's for operations that clinfer does not have, or computes in another way."""
from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clinfer.api.config import CompileConfig
from clinfer.api.custom_layers import checked
from clinfer.base.errors import ClinferError, WrongTypeError
from clinfer.ops import converters_with
from clinfer.ops.operation import Converter
from clinfer.topology import CustomKernel

_registered: dict[str, CustomKernel] = {}
_lock = threading.Lock()


def register_op(op: Any, source: str | Path, *, kernel: str, global_size: Sequence[str | int],
                local_size: Sequence[str | int] = (), defines: Mapping[str, str] | None = None,
                options: Sequence[str] = ()) -> None:
    """Compute an operation by a kernel in OpenCL C, in every model that is compiled from now on.

    `op`: a subclass of openvino.Op, which tells the shapes and types of its outputs, or the type of an operation by
    name. `source`: the path of a file that ends in .cl, or OpenCL C; `kernel`: the function in it, which takes all
    inputs, then all outputs. `global_size`, `local_size`: work-items, as whole numbers or expressions of the sizes
    of tensors such as `OUTPUT0_COUNT` or `B * F`. `defines`: macros that have the values of attributes, by the names
    of these. `options`: the compiler's. See docs/custom_operations.md.
    Errors: ClinferError for a function that is not in the source, for sizes that are no expressions, and for a file
    that cannot be read.
    """
    made = CustomKernel(_type_of(op), _text_of(source), kernel, tuple(map(str, global_size)),
                        tuple(map(str, local_size)), defines=tuple((macro, "", attribute, "")
                                                                   for macro, attribute in (defines or {}).items()),
                        options=tuple(options))
    with _lock:
        _registered[made.operation] = checked(made)


def unregister_op(op: Any) -> None:
    """Forget the kernel of an operation; models that were compiled with it keep it. Errors: ClinferError if there is
    none."""
    name = _type_of(op)
    with _lock:
        if _registered.pop(name, None) is None:
            raise ClinferError("no kernel is registered for this operation", values={
                "operation": name, "registered": ", ".join(sorted(_registered)) or "none"})


def registered_kernels() -> tuple[CustomKernel, ...]:
    """All that are registered, in the order of their operations' names."""
    with _lock:
        return tuple(_registered[name] for name in sorted(_registered))


def converters_of(config: CompileConfig) -> Mapping[str, Converter]:
    """The converters of all operations, those of custom kernels in place of clinfer's own."""
    return converters_with((*config.custom_layers.kernels, *config.registered))


def _type_of(op: Any) -> str:
    name = op if isinstance(op, str) else getattr(op, "__name__", None)
    if not name or not isinstance(op, str | type):
        raise WrongTypeError("an operation is named by its type, or by its class", values={"given": repr(op)})
    return str(name)


def _text_of(source: str | Path) -> str:
    if isinstance(source, str) and not source.endswith(".cl"):
        return source
    try:
        return Path(source).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ClinferError("the source of a custom kernel cannot be read", values={
            "file": source, "because": error}) from None
