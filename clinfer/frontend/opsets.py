"""Which operations OpenVINO's opsets have, and which of them clinfer runs."""
from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module, util

from clinfer.base.element_type import ALL_TYPES
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.ops import CONVERTERS
from clinfer.ops.operation import Converter

_STRUCTURE = ("Constant", "Parameter", "Result")
_REPLACED = ("ConvertPromoteTypes",)
"""Operations that OpenVINO's transformations always replace by others."""
_WITHOUT_BUILDER = {
    "BGRtoNV12": 17, "ExperimentalDetectronDetectionOutput": 6, "ExperimentalDetectronGenerateProposalsSingleImage": 6,
    "ExperimentalDetectronPriorGridGenerator": 6, "ExperimentalDetectronROIFeatureExtractor": 6,
    "ExperimentalDetectronTopKROIs": 6, "If": 8, "Loop": 5, "RGBtoNV12": 17, "Reverse": 1, "TensorIterator": 1,
    "Xor": 1,
}
"""Operations that opsets have, from the given one on, without a function in Python that builds them."""
_CREATED = re.compile(r"""\.create\(\s*["'](\w+)["']""")


@dataclass(frozen=True)
class Operation:
    """An operation by its type's name, the first opset that has it, and whether clinfer runs it."""

    name: str
    opset: int
    is_there: bool


@dataclass(frozen=True)
class ElementTypes:
    """Names of OpenVINO's types of elements: those that clinfer holds, and the others."""

    there: tuple[str, ...]
    missing: tuple[str, ...]


def list_operations(converters: Mapping[str, Converter] = CONVERTERS) -> tuple[Operation, ...]:
    """All operations of all opsets by name."""
    there = {*converters, *_STRUCTURE, *_REPLACED}
    opsets = _opsets()
    return tuple(Operation(name, opsets[name], name in there) for name in sorted(opsets))


def list_element_types() -> ElementTypes:
    """OpenVINO's types of elements."""
    held = {kind.name for kind in ALL_TYPES}
    names = [kind.get_type_name() for kind in vars(ov.Type).values() if isinstance(kind, ov.Type)]
    return ElementTypes(tuple(name for name in names if name in held),
                        tuple(name for name in names if name not in held and name != "dynamic"))


def _opsets() -> dict[str, int]:
    """Type name -> first opset, read from the functions that build nodes: OpenVINO's bindings list types nowhere else.
    Errors: ClinferError where their sources are not installed."""
    found: dict[str, int] = dict(_WITHOUT_BUILDER)
    number = 1
    while util.find_spec(f"openvino.opset{number}") is not None:
        try:
            source = inspect.getsource(import_module(f"openvino.opset{number}.ops"))
        except (ImportError, OSError):
            source = ""
        for name in _CREATED.findall(source):
            found.setdefault(name, number)
        number += 1
    if len(found) == len(_WITHOUT_BUILDER):
        raise ClinferError("OpenVINO's operations cannot be listed", where="openvino.opset1.ops",
                           values={"OpenVINO": ov.get_version()}, hint="install OpenVINO's package from PyPI")
    return found
