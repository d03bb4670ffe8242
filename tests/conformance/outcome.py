"""What became of one case."""
from __future__ import annotations

from dataclasses import dataclass

PASS, WRONG, UNSUPPORTED, IMPORT_FAIL, ERROR = "pass", "wrong", "unsupported", "import-fail", "error"
STATUSES = (PASS, WRONG, UNSUPPORTED, IMPORT_FAIL, ERROR)


@dataclass(frozen=True)
class CaseName:
    """A case and the ONNX operation that it tests."""

    name: str
    op: str


@dataclass(frozen=True)
class Outcome:
    """The result of a case: one of STATUSES, why, and how long it took in seconds.

    Of a wrong one: whether OpenVINO's CPU plugin gives the same, and if not, what it gives.
    """

    name: str
    op: str
    status: str
    detail: str = ""
    seconds: float = 0.0
    is_openvinos: bool = False
    openvino: str = ""
