"""The implementation of a primitive: a kernel specification with its generated code."""
from __future__ import annotations

from dataclasses import dataclass, replace

from clinfer.base.errors import ClinferError
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.jitter import LARGEST_INDEX, StageCode, generate_stage, pack_block
from clinfer.kernels.spec import BufferRef, Dispatch, KernelParams, KernelSpec, Stage, stages_of
from clinfer.kernels.tails import tail_operands


@dataclass(frozen=True)
class StageImpl:
    """One kernel function: its specification, its code and the buffers it takes, in order."""

    stage: Stage
    code: StageCode
    buffers: tuple[BufferRef, ...]


@dataclass(frozen=True)
class Implementation:
    """All stages of a kernel for one primitive, and the parameters for which their code was generated."""

    spec: KernelSpec
    params: KernelParams
    stages: tuple[StageImpl, ...]


@dataclass(frozen=True)
class StageLaunch:
    """What one stage needs to be launched on static layouts: the numbers of its argument block, and work sizes."""

    kernel_id: str
    arguments: tuple[int, ...]
    dispatch: Dispatch

    @property
    def block(self) -> bytes:
        """The argument block; ClinferError where a number does not fit."""
        return pack_block(self.arguments, self.kernel_id)


def generate(spec: KernelSpec, params: KernelParams, bake: bool = False) -> Implementation:
    """The code of every stage for these parameters (layouts may be dynamic); with `bake` every size, pitch and
    offset that they fix is a constant in it."""
    stages = []
    for stage in stages_of(spec, params):
        stage = replace(stage, bake=stage.bake or bake)
        stages.append(stage_with_code(stage, generate_stage(stage, params), params))
    return Implementation(spec, params, tuple(stages))


def stage_with_code(stage: Stage, code: StageCode, params: KernelParams) -> StageImpl:
    """A stage whose code was generated for these parameters. Errors: ClinferError for the code of another stage."""
    operands = stage.operands(params) + tail_operands(stage, params)
    code.check_fields(operands, stage.arguments(params))
    return StageImpl(stage, code, tuple(operand.buffer for operand in operands))


def bind(implementation: Implementation, params: KernelParams) -> tuple[StageLaunch, ...]:
    """Arguments and work sizes of every stage for static layouts; ClinferError for too large a tensor."""
    _check_sizes(params)
    launches = []
    for part in implementation.stages:
        try:
            operands = part.stage.operands(params) + tail_operands(part.stage, params)
            values = part.code.argument_values(operands, part.stage.arguments(params))
            launches.append(StageLaunch(part.code.kernel_id, values,
                                        _with_local_size(part.stage.dispatch(params), params)))
        except ClinferError as error:
            raise error.at(params.primitive.where) from None
    return tuple(launches)


def holds_for(implementation: Implementation, params: KernelParams) -> bool:
    """Whether the numbers that are constants in the code are those of static layouts."""
    for part in implementation.stages:
        stage, built = part.stage, implementation.params
        if not stage.bake:
            continue
        pairs = zip(stage.operands(built) + tail_operands(stage, built),
                    stage.operands(params) + tail_operands(stage, params), strict=True)
        if not all(_is_instance(one.view, other.view) for one, other in pairs):
            return False
        if built.is_static and dict(stage.arguments(built)) != dict(stage.arguments(params)):
            return False
    return True


def _is_instance(built: TensorView, view: TensorView) -> bool:
    """Whether a view is what another one becomes once its open numbers are known. The pitch of an axis of size 1
    does not count."""
    return (built.blocks == view.blocks and built.offset in (None, view.offset)
            and all(not isinstance(have, int) or have == want
                    for have, want in zip(built.sizes, view.sizes, strict=True))
            and all(have is None or have == want or size == 1
                    for have, want, size in zip(built.pitches, view.pitches, view.sizes, strict=True)))


def _check_sizes(params: KernelParams) -> None:
    for layout in params.all_inputs + params.outputs:
        if layout.physical_count > LARGEST_INDEX:
            raise ClinferError("a tensor is too large to be indexed with 32 bits", where=params.primitive.where,
                               values={"tensor": layout, "elements": layout.physical_count},
                               hint="split the tensor along its batch")


def _with_local_size(dispatch: Dispatch, params: KernelParams) -> Dispatch:
    """On CPUs a work-item without a group is a group: a size that the driver chose would depend on the shape,
    and drivers that compile per group size (PoCL) would compile in the middle of an inference."""
    if dispatch.local_size is not None or params.capabilities.device_type != "CPU":
        return dispatch
    return replace(dispatch, local_size=(1,) * len(dispatch.global_size))
