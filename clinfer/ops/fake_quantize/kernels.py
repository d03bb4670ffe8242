"""Kernels of FakeQuantize. They walk the tensors as the element-wise ones do."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.kernels.contract import Constant, Formats, Kernel, KernelTable, Lowered, Problem, Stage
from clinfer.ops.eltwise.kernels import broadcast_formats, broadcast_operands
from clinfer.ops.fake_quantize.op import FakeQuantize
from clinfer.ops.shared import walk
from clinfer.ops.shared.copying import local_items


@dataclass(frozen=True)
class FakeQuantizeProblem(Problem):
    """Values, and bounds that stretch to them."""

    primitive: FakeQuantize

    @property
    def constants(self) -> dict[str, Constant]:
        """The operation as the kernels' text."""
        text = self.primitive.fused_text(tuple(x.element_type for x in self.inputs))
        assert text is not None
        return {"QUANTIZE(T, a, b, c, d, e)": text}


class Reference(Kernel[FakeQuantizeProblem, None]):
    """One element per work-item."""

    name = "fake_quantize_ref"
    supports_large = True

    def formats(self, problem: FakeQuantizeProblem) -> Formats:
        return broadcast_formats(problem)

    def supports(self, problem: FakeQuantizeProblem, config: None) -> str | None:
        kinds = {x.element_type for x in problem.inputs}
        if len(kinds) > 1 or not problem.inputs[0].element_type.is_float:
            return "bounds and values must have one float type"
        return None

    def lower(self, problem: FakeQuantizeProblem, config: None) -> Lowered:
        return Lowered((Stage("fake_quantize_ref.cl", broadcast_operands(problem),
                              local_items(problem.outputs[0].count), problem.constants),))


class Vector(Reference):
    """Vectors along merged axes."""

    name = "fake_quantize_vector"
    efficiency = 0.8

    def supports(self, problem: FakeQuantizeProblem, config: None) -> str | None:
        return super().supports(problem, config) or walk.why_not(problem)

    def lower(self, problem: FakeQuantizeProblem, config: None) -> Lowered:
        return Lowered((walk.walk_stage(problem, "fake_quantize_vector.cl", problem.constants, has_epilogue=False),))


KERNELS = KernelTable((Vector(), Reference()), FakeQuantizeProblem)
