"""The implementation of a problem: a candidate with the code that was generated for it."""
from __future__ import annotations

from dataclasses import dataclass, replace

from clinfer.base.errors import ClinferError
from clinfer.base.layout import LARGEST_INDEX
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import BufferRef, Candidate, Lowered, Operand, Problem, Stage, Work
from clinfer.kernels.epilogue import check_epilogue, epilogue_operands
from clinfer.kernels.jitter import StageCode, generate_stage, kernel_folder, pack_block


@dataclass(frozen=True)
class StageImpl:
    """The code of one stage, the buffers that it takes, in order, and its .cl file as (package, file); a text that is
    in no file has no package."""

    code: StageCode
    buffers: tuple[BufferRef, ...]
    source: tuple[str, str]


@dataclass(frozen=True)
class Implementation:
    """The code of all stages of a candidate, and the problem for which it was generated; `is_baked`: known sizes are
    constants in it."""

    candidate: Candidate
    problem: Problem
    stages: tuple[StageImpl, ...]
    is_baked: bool = False

    @property
    def name(self) -> str:
        """The candidate's name."""
        return self.candidate.name


@dataclass(frozen=True)
class StageLaunch:
    """What one stage needs to be launched on static layouts: the numbers of its argument block, of 64 bits where
    `is_large`, and work sizes."""

    kernel_id: str
    arguments: tuple[int, ...]
    work: Work
    is_large: bool = False

    @property
    def block(self) -> bytes:
        """The argument block; ClinferError where a number does not fit."""
        return pack_block(self.arguments, self.kernel_id, self.is_large)


def generate(candidate: Candidate, problem: Problem, bake: bool = False) -> Implementation:
    """The code of every stage for a problem (whose layouts may be open); with `bake` every size, pitch and offset that
    is known is a constant in it. What fused operations read must stretch to the result."""
    check_epilogue(problem)
    stages = candidate.lower(problem).stages
    return Implementation(candidate, problem, tuple(
        stage_with_code(stage, generate_stage(stage, problem, bake), problem) for stage in stages), bake)


def stage_with_code(stage: Stage, code: StageCode, problem: Problem) -> StageImpl:
    """A stage whose code was generated for this problem. Errors: ClinferError for the code of another stage."""
    operands = _operands(stage, problem)
    code.check_fields(operands, stage.arguments)
    if code.is_large != problem.is_large:
        raise ClinferError("the code of a stage indexes with another number of bits", where=code.kernel_id)
    if code.recipe != stage.recipe:
        raise ClinferError("the code of a stage was built by another recipe", where=code.kernel_id,
                           values={"recipe": code.recipe, "wanted": stage.recipe})
    return StageImpl(code, tuple(operand.buffer for operand in operands),
                     ("" if stage.text else kernel_folder(stage, problem.primitive), stage.source))


def bind(implementation: Implementation, problem: Problem,
         lowered: Lowered | None = None) -> tuple[StageLaunch, ...]:
    """Arguments and work sizes of every stage for static layouts; ClinferError for too large a tensor.

    `lowered`: what the candidate makes of the problem, where that is known already.
    """
    check_epilogue(problem)
    lowered = lowered or implementation.candidate.lower(problem)
    if not implementation.problem.is_large:
        _check_sizes(problem, lowered)
    launches = []
    for part, stage in zip(implementation.stages, lowered.stages, strict=True):
        assert stage.work is not None
        try:
            values = part.code.argument_values(_operands(stage, problem), stage.arguments)
        except ClinferError as error:
            raise error.at(problem.primitive.where) from None
        launches.append(StageLaunch(part.code.kernel_id, values, _with_local_size(stage.work, problem),
                                    part.code.is_large))
    return tuple(launches)


def holds_for(implementation: Implementation, problem: Problem) -> bool:
    """Whether the numbers that are constants in the code are those of static layouts."""
    if not implementation.is_baked:
        return True
    built = implementation.problem
    for before, now in zip(implementation.candidate.lower(built).stages,
                           implementation.candidate.lower(problem).stages, strict=True):
        pairs = zip(_operands(before, built), _operands(now, problem), strict=True)
        if not all(_is_instance(one.view, other.view) for one, other in pairs):
            return False
        if built.is_static and dict(before.arguments) != dict(now.arguments):
            return False
    return True


def _operands(stage: Stage, problem: Problem) -> tuple[Operand, ...]:
    return stage.operands + epilogue_operands(stage, problem)


def _is_instance(built: TensorView, view: TensorView) -> bool:
    """Whether a view is what another one becomes once its open numbers are known. The pitch of an axis of size 1
    does not count."""
    return (built.blocks == view.blocks and built.offset in (None, view.offset)
            and all(not isinstance(have, int) or have == want
                    for have, want in zip(built.sizes, view.sizes, strict=True))
            and all(have is None or have == want or size == 1
                    for have, want, size in zip(built.pitches, view.pitches, view.sizes, strict=True)))


def _check_sizes(problem: Problem, lowered: Lowered) -> None:
    for layout in problem.all_inputs + problem.outputs:
        if layout.is_large:
            raise ClinferError("a tensor is too large to be indexed with 32 bits", where=problem.primitive.where,
                               values={"tensor": layout, "elements": layout.physical_count},
                               hint="split the tensor along its batch")
    scratch = {operand.buffer.index: operand.view.element_type for stage in lowered.stages
               for operand in stage.operands if operand.buffer.kind == "scratch"}
    for index, element_type in scratch.items():
        if 8 * lowered.scratch[index] > LARGEST_INDEX * element_type.bits:
            raise ClinferError("a scratch buffer is too large to be indexed with 32 bits",
                               where=problem.primitive.where, values={"bytes": lowered.scratch[index]},
                               hint="split the tensors along their batch, or force another kernel")


def _with_local_size(work: Work, problem: Problem) -> Work:
    """On CPUs a work-item without a group is a group: a size that the driver chose would depend on the shape,
    and drivers that compile per group size (PoCL) would compile in the middle of an inference."""
    if work.local_size is not None or not problem.runs_on_cpu:
        return work
    return replace(work, local_size=(1,) * len(work.global_size))
