"""Which operations OpenVINO's opsets have, and which of them clinfer runs."""
from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module, util
from typing import Literal

from clinfer.base.element_type import ALL_TYPES, HOST_TYPES
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.ops import CONVERTERS
from clinfer.ops.operation import Converter

_STRUCTURE = ("Constant", "Parameter", "Result")
_REPLACED = ("BinaryConvolution", "ConvertPromoteTypes", "ReadValue", "Assign")
"""Operations that become others, or inputs and outputs, before a model is read."""
_NOT_RUN_BY_OPENVINO = ("BGRtoNV12", "GroupedMatMul", "RGBtoNV12")
"""Operations that OpenVINO's CPU plugin refuses."""
_WITHOUT_BUILDER = {
    "BGRtoNV12": 17, "ExperimentalDetectronDetectionOutput": 6, "ExperimentalDetectronGenerateProposalsSingleImage": 6,
    "ExperimentalDetectronPriorGridGenerator": 6, "ExperimentalDetectronROIFeatureExtractor": 6,
    "ExperimentalDetectronTopKROIs": 6, "If": 8, "Loop": 5, "RGBtoNV12": 17, "Reverse": 1, "TensorIterator": 1,
    "Xor": 1,
}
"""Operations that opsets have, from the given one on, without a function in Python that builds them."""
_CREATED = re.compile(r"""_opset(\d+)\(\)\.create\(\s*["'](\w+)["']""")


@dataclass(frozen=True)
class Operation:
    """An operation by its type's name and the opsets that have a version of it. `runs`: "native" (clinfer computes it),
    "host" (OpenVINO does, on the host), or "no"."""

    name: str
    versions: tuple[int, ...]
    runs: Literal["native", "host", "no"]

    @property
    def opset(self) -> int:
        """The first opset that has it."""
        return self.versions[0]


@dataclass(frozen=True)
class ElementTypes:
    """Names of OpenVINO's types of elements: those that devices hold, those of tensors that stay on the host, and the
    others, which only constants can have."""

    there: tuple[str, ...]
    on_host: tuple[str, ...]
    missing: tuple[str, ...]


def list_operations(converters: Mapping[str, Converter] = CONVERTERS) -> tuple[Operation, ...]:
    """All operations of all opsets by name."""
    native = {*converters, *_STRUCTURE, *_REPLACED}

    def runs(name: str) -> Literal["native", "host", "no"]:
        return "native" if name in native else "no" if name in _NOT_RUN_BY_OPENVINO else "host"
    return tuple(Operation(name, versions, runs(name)) for name, versions in sorted(_versions().items()))


def list_element_types() -> ElementTypes:
    """OpenVINO's types of elements."""
    held, on_host = {kind.name for kind in ALL_TYPES}, {kind.name for kind in HOST_TYPES}
    names = [kind.get_type_name() for kind in vars(ov.Type).values() if isinstance(kind, ov.Type)]
    return ElementTypes(tuple(name for name in names if name in held), tuple(name for name in names if name in on_host),
                        tuple(name for name in names if name not in {*held, *on_host, "dynamic"}))


def _versions() -> dict[str, tuple[int, ...]]:
    """Type name -> opsets with a version of it, read from the functions that build nodes: OpenVINO's bindings list
    types nowhere else. Errors: ClinferError where their sources are not installed."""
    found: dict[str, list[int]] = {name: [opset] for name, opset in _WITHOUT_BUILDER.items()}
    number = 1
    while util.find_spec(f"openvino.opset{number}") is not None:
        try:
            source = inspect.getsource(import_module(f"openvino.opset{number}.ops"))
        except (ImportError, OSError):
            source = ""
        for version, name in set(_CREATED.findall(source)):
            versions = found.setdefault(name, [])
            if int(version) not in versions:
                versions.append(int(version))
        number += 1
    if len(found) == len(_WITHOUT_BUILDER):
        raise ClinferError("OpenVINO's operations cannot be listed", where="openvino.opset1.ops",
                           values={"OpenVINO": ov.get_version()}, hint="install OpenVINO's package from PyPI")
    return {name: tuple(sorted(versions)) for name, versions in found.items()}
