"""The FakeConvert primitive (OpenVINO FakeConvert-13)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from clinfer.topology import Primitive


@dataclass(frozen=True)
class FakeConvert(Primitive):
    """Input 0 times input 1, less input 2 where present, rounded to f16, then to the type, and all of that undone.

    The other inputs stretch to input 0. What is too large becomes the largest number of the type, as in OpenVINO.
    """

    destination_type: Literal["f8e4m3", "f8e5m2"] = "f8e4m3"
    op_type: ClassVar[str] = "FakeConvert"
    opset: ClassVar[str] = "opset13"
