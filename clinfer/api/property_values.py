"""Values of properties in the forms that OpenVINO's clients write: enums, their names, numbers and texts."""
from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast, get_args

from clinfer.api.encryption import Encryption
from clinfer.base.errors import ClinferError
from clinfer.base.format import Format
from clinfer.base.tracing import log
from clinfer.frontend.caches import CACHE_TYPES
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.transformations import PRECISIONS
from clinfer.kernels.build_progress import Progress
from clinfer.program.memory_dependencies import ExecutionOrder

Reader: TypeAlias = Callable[[str, Any], Any]
"""(name of the property, the user's value) -> the value that clinfer keeps; ClinferError for another."""

MAX_STREAMS = 64
_SWITCHES = {"YES": True, "NO": False, "TRUE": True, "FALSE": False, "ON": True, "OFF": False, "1": True, "0": False}
_AUTOMATIC_STREAMS = ("AUTO", "NUMA", "-1", "-2")


def wrong_value(name: str, value: object, expected: str) -> ClinferError:
    """The error for a value that a property cannot have."""
    return ClinferError(f"property {name} cannot have this value", where="configuration",
                        values={"given": repr(value), "expected": expected})


def read_switch(name: str, value: Any) -> bool:
    """True or False, also as YES/NO, TRUE/FALSE, ON/OFF, 1/0 in a text."""
    if isinstance(value, bool):
        return value
    found = _SWITCHES.get(value.upper()) if isinstance(value, str) else None
    if found is None:
        raise wrong_value(name, value, "True or False")
    return found


def read_count(name: str, value: Any) -> int:
    """A whole number from 0 on, also as a text."""
    if isinstance(value, bool) or not isinstance(value, int | str) or not str(value).isdecimal():
        raise wrong_value(name, value, "a whole number; 0 lets clinfer decide")
    return int(value)


def read_ratio(name: str, value: Any) -> float:
    """A number from 1 to 10, also as a text."""
    try:
        ratio = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        ratio = math.nan
    if not 1 <= ratio <= 10:
        raise wrong_value(name, value, "a number from 1 to 10")
    return ratio


def read_size(name: str, value: Any) -> float:
    """A number from 0 on, also as a text."""
    try:
        size = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        size = math.nan
    if not 0 <= size < math.inf:
        raise wrong_value(name, value, "a number from 0 on")
    return size


def read_order(name: str, value: Any) -> ExecutionOrder:
    """An order of execution."""
    if value not in get_args(ExecutionOrder):
        raise wrong_value(name, value, " or ".join(get_args(ExecutionOrder)))
    return cast(ExecutionOrder, value)


def read_folder(name: str, value: Any) -> str:
    """The path of a folder, which need not exist; empty for none."""
    path = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(path, str):
        raise wrong_value(name, value, "the path of a folder, or an empty text")
    return path


def read_encryption(name: str, value: Any) -> Encryption | None:
    """Two functions, of which the first encrypts bytes and the second decrypts them; None for an empty list."""
    if isinstance(value, list | tuple) and not value:
        return None
    if not (isinstance(value, list | tuple) and len(value) == 2 and all(map(callable, value))):
        raise wrong_value(name, value, "a list of two functions: bytes -> encrypted bytes, and the reverse")
    return Encryption(*value)


def read_progress(name: str, value: Any) -> Progress | None:
    """A function that takes two numbers, or None."""
    if value is not None and not callable(value):
        raise wrong_value(name, value, "a function of two numbers: kernels built, kernels to build; or None")
    return cast("Progress | None", value)


def read_choice(kind: Any, **spellings: str) -> Reader:
    """A reader for a member of one of OpenVINO's enums, also by its name or by other spellings of names."""
    members: Mapping[str, Any] = kind.__members__

    def read(name: str, value: Any) -> Any:
        if isinstance(value, kind):
            return value
        found = members.get(spellings.get(value, value)) if isinstance(value, str) else None
        if found is None:
            raise wrong_value(name, value, ", ".join(members))
        return found
    return read


def read_choices(kind: Any) -> Reader:
    """A reader for a set of members of one of OpenVINO's enums; a single member is a set of one."""
    read_one = read_choice(kind)

    def read(name: str, value: Any) -> frozenset[Any]:
        members = value if isinstance(value, set | frozenset | list | tuple) else (value,)
        return frozenset(read_one(name, member) for member in members)
    return read


def read_type(name: str, value: Any) -> Any:
    """An element type of OpenVINO, also by its name."""
    found = getattr(ov.Type, value, None) if isinstance(value, str) else value
    if not isinstance(found, ov.Type):
        raise wrong_value(name, value, "an openvino.Type, or the name of one such as u8")
    return found


def read_cache_type(name: str, value: Any) -> str:
    """The name of the element type in which caches are to be stored; empty: the model's."""
    found = str(read_type(name, value).get_type_name())
    if found not in (*CACHE_TYPES, "f32", "dynamic"):
        log(1, f"property {name} has no effect: caches are never stored as {found}")
    return "" if found == "dynamic" else found


def read_precision(name: str, value: Any) -> str:
    """The name of an element type that clinfer computes floats in, or `dynamic`: the device's own choice."""
    text = value.type_name if isinstance(value, ov.Type) else str(value)
    if text in ("", "dynamic", "undefined", "UNSPECIFIED"):
        return "dynamic"
    text = {"FP32": "f32", "FP16": "f16", "BF16": "bf16"}.get(text, text)
    if text not in PRECISIONS:
        raise wrong_value(name, value, f"{', '.join(PRECISIONS)}, or `dynamic` for the device's own choice")
    return text


def read_streams(name: str, value: Any) -> int:
    """A number of streams; 0 for AUTO."""
    text = str(value.to_integer() if isinstance(value, ov.properties.streams.Num) else value)
    if text in _AUTOMATIC_STREAMS:
        return 0
    if isinstance(value, bool) or not text.isdecimal() or not 1 <= int(text) <= MAX_STREAMS:
        raise wrong_value(name, value, f"1 to {MAX_STREAMS}, or AUTO")
    return int(text)


def read_forced(name: str, value: Any) -> Mapping[str, tuple[str, ...]]:
    """Per primitive a format, a kernel and, if so wished, an implementation type; each may be empty."""
    expected = ('a dictionary such as {"conv1": ("b_fs_yx_fsv16", "")}: per primitive, a format, a kernel, and, if '
                'you like, an implementation type')
    if not isinstance(value, Mapping):
        raise wrong_value(name, value, expected)
    for primitive, choice in value.items():
        if not (isinstance(primitive, str) and isinstance(choice, tuple | list) and len(choice) in (2, 3)
                and all(isinstance(part, str) for part in choice)):
            raise wrong_value(name, {primitive: choice}, expected)
        if choice[0]:
            Format.of(choice[0])
    return {primitive: tuple(choice) for primitive, choice in value.items()}
