"""The kernel of Range."""
from __future__ import annotations

import struct
from dataclasses import dataclass

from clinfer.kernels.contract import Operand, output_operand
from clinfer.ops.range.op import Range
from clinfer.ops.shared.only_kernel import OnlyKernelProblem, only_kernel


@dataclass(frozen=True)
class RangeProblem(OnlyKernelProblem):
    """Evenly spaced numbers."""

    primitive: Range

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (output_operand(self),)

    @property
    def arguments(self) -> dict[str, int]:
        """Start and step: the bits of a float in the low half, or of a double or long in both."""
        start: float = 0
        step: float = 0
        if all(i in self.values for i in self.primitive.value_inputs):
            start, _, step = self.primitive.bounds(self.values)
        kind = self.outputs[0].element_type
        code = "q" if not kind.is_float else "d" if kind.name == "f64" else "fi"
        return {f"{name}_{half}": word for name, number in (("start", start), ("step", step))
                for half, word in zip(("low", "high"), _words(code, number), strict=True)}


def _words(code: str, number: float) -> tuple[int, int]:
    if code == "q":
        # As arithmetic, for symbols.
        high = number // 2**32
        return (number + 2**31) % 2**32 - 2**31, high  # type: ignore[return-value]
    raw = struct.pack(f"<{code}", *((number, 0) if code == "fi" else (number,)))
    return struct.unpack("<2i", raw)


KERNELS = only_kernel("range_ref", RangeProblem)
