"""Kernels of Convert."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.format import Format
from clinfer.kernels.contract import (
    Formats,
    Kernel,
    KernelTable,
    Lowered,
    Problem,
    Stage,
    all_operands,
    present_formats,
    stretched_epilogue,
)
from clinfer.ops.convert.op import Convert, way_between
from clinfer.ops.shared import walk
from clinfer.ops.shared.copying import local_items


@dataclass(frozen=True)
class ConvertProblem(Problem):
    """The same values as another type."""

    primitive: Convert

    @property
    def through(self) -> str:
        """The type in which kernels convert."""
        return way_between(self.inputs[0].element_type.is_float, self.outputs[0].element_type).cl_compute


class Reference(Kernel[ConvertProblem, None]):
    """One element per work-item."""

    name = "convert_ref"
    has_epilogue = True
    supports_large = True

    def formats(self, problem: ConvertProblem) -> Formats:
        return present_formats(problem)

    def supports(self, problem: ConvertProblem, config: None) -> str | None:
        return "packed 4-bit outputs" if problem.outputs[0].element_type.is_packed else None

    def lower(self, problem: ConvertProblem, config: None) -> Lowered:
        return Lowered((Stage("convert_ref.cl", all_operands(problem), local_items(problem.outputs[0].count),
                              {"THROUGH": problem.through}, epilogue_views=stretched_epilogue(problem)),))


class Vector(Reference):
    """Vectors along merged axes."""

    name = "convert_vector"
    efficiency = 0.8

    def supports(self, problem: ConvertProblem, config: None) -> str | None:
        if problem.inputs[0].element_type.is_packed:
            return "packed 4-bit inputs"
        return super().supports(problem, config) or walk.why_not(problem)

    def lower(self, problem: ConvertProblem, config: None) -> Lowered:
        through = problem.through
        constants = {"THROUGH": through, "THROUGH4": f"{through}4", "THROUGH16": f"{through}16"}
        return Lowered((walk.walk_stage(problem, "convert_vector.cl", constants),))


class Nibbles(Kernel[ConvertProblem, None]):
    """Two elements of 4 bits per work-item."""

    name = "convert_nibbles"
    writes_packed = True
    supports_large = True

    def formats(self, problem: ConvertProblem) -> Formats:
        return Formats((problem.inputs[0].format,), (Format.planar(problem.outputs[0].rank),))

    def supports(self, problem: ConvertProblem, config: None) -> str | None:
        output = problem.outputs[0]
        if not output.element_type.is_packed:
            return "made for outputs of 4 bits"
        return "a padded output" if output.padding else None

    def lower(self, problem: ConvertProblem, config: None) -> Lowered:
        pairs = -(-problem.outputs[0].count // 2)
        return Lowered((Stage("convert_nibbles.cl", all_operands(problem), local_items(pairs),
                              {"THROUGH": problem.through}),))


KERNELS = KernelTable((Nibbles(), Vector(), Reference()), ConvertProblem)
