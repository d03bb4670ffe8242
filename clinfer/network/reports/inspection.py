"""Launching one kernel at a time, to time it (CLINFER_DEBUG=2) or to check its results (CLINFER_VALIDATE=1)."""
from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np

from clinfer.base import knobs
from clinfer.base.errors import ClinferError
from clinfer.base.shape import StaticShape
from clinfer.base.tracing import log
from clinfer.network.bindings import Bindings
from clinfer.network.plans.plan import Launch
from clinfer.program.program import Program, ProgramNode
from clinfer.runtime.stream import Stream


def inspected() -> bool:
    """Whether kernels must be launched one at a time."""
    return knobs.debug_level() >= 2 or knobs.validate()


def inspect_launch(program: Program, stream: Stream, bindings: Bindings, launch: Launch,
                   shapes: Mapping[int, StaticShape], is_last: bool, enqueue: Callable[[Launch], None]) -> None:
    """Launch a kernel by `enqueue`, wait, log its time, and after the last stage of its node check the outputs."""
    kernel = bindings.kernels[launch.kernel]
    stream.finish()
    start = time.perf_counter()
    enqueue(launch)
    stream.finish()
    node = program.nodes[bindings.kernel_nodes[launch.kernel]]
    log(2, f"{(time.perf_counter() - start) * 1e6:9.1f} us  {kernel.entry}  {node.primitive.where}  {launch.work!r}")
    if is_last and knobs.validate():
        check_outputs(program, stream, bindings, node, kernel.entry, shapes)


def check_outputs(program: Program, stream: Stream, bindings: Bindings, node: ProgramNode, kernel: str,
                  shapes: Mapping[int, StaticShape]) -> None:
    """Read back the float outputs of a node and raise where one holds NaN; padding and block tails may."""
    for tensor in node.outputs:
        layout = program.tensors[tensor].layout.with_shape(shapes[tensor])
        if not layout.element_type.is_float:
            continue
        raw = np.empty(layout.byte_size, np.uint8)
        stream.read(bindings.memory(tensor), raw)
        if np.isnan(layout.unpack(raw)).any():
            raise ClinferError("a kernel produced NaN", where=node.primitive.where,
                               values={"kernel": kernel, "output": layout, **_fused(node)})


def _fused(node: ProgramNode) -> dict[str, str]:
    """What else the node computes, for messages."""
    fused_ops = ", ".join(fused.primitive.where for fused in node.primitive.fused_ops)
    return {"fused into it": fused_ops} if fused_ops else {}
