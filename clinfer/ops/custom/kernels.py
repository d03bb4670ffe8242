"""The kernel of a custom operation: the user's own."""
from __future__ import annotations

import hashlib
from dataclasses import dataclass
from math import prod
from typing import Literal

from clinfer.base.expressions import evaluated
from clinfer.base.format import Format
from clinfer.base.layout import Layout
from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import (
    BufferRef,
    Kernel,
    KernelTable,
    Lowered,
    Operand,
    Problem,
    Stage,
    Work,
    stretched_epilogue,
)
from clinfer.kernels.recipe import Recipe
from clinfer.ops.custom.op import CustomOp
from clinfer.ops.shared.views import static
from clinfer.topology import CustomKernel

_AXES = "BFYX"


@dataclass(frozen=True)
class CustomProblem(Problem):
    """Planar tensors of any rank."""

    primitive: CustomOp

    @property
    def kernel(self) -> CustomKernel:
        assert self.primitive.kernel is not None
        return self.primitive.kernel

    @property
    def operands(self) -> tuple[Operand, ...]:
        """What the kernel takes, in its order."""
        named: dict[tuple[Literal["input", "output"], int], Layout] = {}
        named.update({("input", i): layout for i, layout in enumerate(self.inputs)})
        named.update({("output", i): layout for i, layout in enumerate(self.outputs)})
        wanted = [(a.kind, a.index) for a in self.kernel.arguments] or list(named)
        return tuple(Operand(f"{kind.upper()}{index}", BufferRef(kind, index), TensorView.of(named[kind, index]))
                     for kind, index in wanted)

    @property
    def names(self) -> dict[str, int]:
        """What work sizes are computed of: `<TENSOR>_SIZE_<n>` and `<TENSOR>_COUNT`, and the letters of axes."""
        tensors = {**{f"INPUT{i}": layout for i, layout in enumerate(self.inputs)},
                   **{f"OUTPUT{i}": layout for i, layout in enumerate(self.outputs)}}
        sizes = {f"{name}_SIZE_{axis}": size for name, layout in tensors.items()
                 for axis, size in enumerate(static(layout.shape))}
        counts = {f"{name}_COUNT": prod(static(layout.shape)) for name, layout in tensors.items()}
        shape = static(tensors[self.kernel.sized_by].shape) if self.kernel.sized_by in tensors else ()
        if len(shape) <= len(_AXES):
            return {**dict(zip(_AXES, (*shape, *(1,) * (len(_AXES) - len(shape))), strict=True)), **sizes, **counts}
        letters = Format.planar(len(shape)).axes.upper()
        return {**dict(zip(letters, shape, strict=True)), **sizes, **counts}


class UsersKernel(Kernel[CustomProblem, None]):
    """What the user wrote, in a program of its own: its helper functions may have any names."""

    name = "custom"
    has_epilogue = True

    def lower(self, problem: CustomProblem, config: None) -> Lowered:
        kernel, work = problem.kernel, None
        if problem.is_static:
            work = Work(*(tuple(evaluated(text, problem.names) for text in sizes) or None  # type: ignore[arg-type]
                          for sizes in (kernel.global_size, kernel.local_size)))
        identity = hashlib.sha256(f"{problem.primitive.id} {kernel.source}".encode()).hexdigest()[:8]
        epilogue = stretched_epilogue(problem) if problem.primitive.takes_fused_ops else None
        return Lowered((Stage(f"{kernel.entry}.cl", problem.operands, work, dict(problem.primitive.macros),
                              epilogue_views=epilogue, entry=kernel.entry, text=_text(problem),
                              recipe=Recipe((*kernel.options, f"-DCLINFER_CUSTOM=0x{identity}"))),))


def _text(problem: CustomProblem) -> str:
    """The source, in which the entry gets the name that the stage has, and its further parameters."""
    kernel = problem.kernel
    lines = [f"#define {kernel.entry}(...) KERNEL_ID(__VA_ARGS__ ARGS)"]
    if kernel.has_arrays:
        lines += [f"#define NUM_INPUTS {len(problem.inputs)}", *_work_macros("GLOBAL", "global"),
                  *_work_macros("LOCAL", "local")]
        for kind, layouts in (("INPUT", problem.inputs), ("OUTPUT", problem.outputs)):
            for index, layout in enumerate(layouts):
                lines += _array_macros(f"{kind}{index}", layout)
    return "\n".join([*lines, f'#line 1 "{kernel.entry}.cl"', kernel.source])


def _work_macros(name: str, kind: str) -> list[str]:
    return [_array_macro(f"{name}_WORKSIZE", [f"get_{kind}_size({n})" for n in range(3)]),
            f"#define {name}_WORKSIZE_SIZE 3"]


def _array_macros(tensor: str, layout: Layout) -> list[str]:
    """What OpenVINO defines of a tensor for custom layers, in the order B, F, Y, X (and more before Y)."""
    rank = max(layout.rank, len(_AXES))
    arrays = {"DIMS": [f"{tensor}_SIZE_{n}" if n < layout.rank else "1" for n in range(rank)],
              "PITCHES": [f"{tensor}_PITCH_{n}" if n < layout.rank else "1" for n in range(rank)],
              "LOWER_PADDING": ["0"] * rank, "UPPER_PADDING": ["0"] * rank}
    lines = [f"#define {tensor}_FORMAT_{Format.planar(rank).axes.upper()} 1"]
    for name, items in arrays.items():
        lines += [_array_macro(f"{tensor}_{name}", items), f"#define {tensor}_{name}_SIZE {rank}"]
    return lines


def _array_macro(name: str, items: list[str]) -> str:
    """A compound literal, so that `INPUT0_DIMS[3]` is a size, as in OpenVINO."""
    return f"#define {name} ((const size_t[]){{ {', '.join(items)} }})"


KERNELS = KernelTable((UsersKernel(),), CustomProblem)
