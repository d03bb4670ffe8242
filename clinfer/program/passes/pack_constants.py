"""Computes what depends on constants alone by the kernels that were chosen for it: mostly weights, in the formats of
their readers.

The kernels run here, one after the other: there is nothing to choose, to plan or to lay out. What has no kernels of its
own is left to `propagate_constants`.
"""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from clinfer.kernels.implementation import Implementation, bind
from clinfer.kernels.refused_kernels import KernelBuildError
from clinfer.program.constants import ConstantData
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph, Node
from clinfer.program.passes.propagate_constants import remove_unread, replace_port
from clinfer.runtime.kernel import Kernel
from clinfer.runtime.launches import WorkSize
from clinfer.runtime.memory import Memory
from clinfer.topology import Port

GROUP_BYTES = 128 << 20
"""Constants that are read before it is waited for the kernels, so that few are there twice."""


def pack_constants(graph: Graph, context: BuildContext) -> None:
    """Replace nodes that read constants alone, and have kernels, by what these make; those of kernels that the driver
    does not build stay."""
    packable = dict(_packable(graph, context))
    with suppress(KernelBuildError):
        context.kernels.prepare(stage.code for each in packable.values() for stage in each.stages)
        _Packing(graph, context, packable).run()


def _packable(graph: Graph, context: BuildContext) -> Iterator[tuple[str, Implementation]]:
    """The implementations of the nodes that kernels can compute from constants, by id."""
    known = set(graph.constants)
    for node in graph:
        if node.selection is None or node.id in known or node.primitive.data_dependent_output:
            continue
        problem, candidates = node.selection.problem, node.selection.candidates
        if (len(candidates) > 1 or not problem.is_decided or candidates[0].accepts(problem) is not None
                or any(port.primitive not in known for port in node.inputs) or not node.inputs):
            continue
        implementation = context.alike.implementation(candidates[0], problem)
        if all(buffer.kind in ("input", "output") and buffer.picture is None
               for stage in implementation.stages for buffer in stage.buffers):
            known.add(node.id)
            yield node.id, implementation


class _Packing:
    """The kernels of one graph while they make constants."""

    def __init__(self, graph: Graph, context: BuildContext, packable: dict[str, Implementation]) -> None:
        self._graph = graph
        self._context = context
        self._packable = packable
        self._kernels: dict[str, Kernel] = {}
        self._read: list[Memory] = []

    def run(self) -> None:
        """Compute the nodes in the order of the graph."""
        for id, implementation in self._packable.items():
            self._compute(self._graph[id], implementation)
            if sum(memory.nbytes for memory in self._read) > GROUP_BYTES:
                self._finish()
        self._finish()

    def _compute(self, node: Node, implementation: Implementation) -> None:
        stream, constants = self._context.stream, self._graph.constants
        given = {index: constants[port.primitive].in_place(stream).on_device(stream)
                 for index, port in enumerate(node.inputs) if index not in node.primitive.value_inputs}
        made = [self._context.engine.allocate_memory(layout, what="constant") for layout in node.layouts]
        for stage, launch in zip(implementation.stages, bind(implementation, implementation.problem), strict=True):
            kernel = self._kernel(launch.kernel_id)
            for position, buffer in enumerate(stage.buffers):
                kernel.set_buffer(position, (given if buffer.kind == "input" else made)[buffer.index])
            if launch.block:
                kernel.set_bytes(len(stage.buffers), launch.block)
            stream.enqueue(kernel, WorkSize(launch.work.global_size, launch.work.local_size))
        self._read += given.values()
        for index, memory in enumerate(made):
            replace_port(self._graph, Port(node.id, index), ConstantData(node.layouts[index], memory=memory))
        remove_unread(self._graph, [node])

    def _kernel(self, kernel_id: str) -> Kernel:
        found = self._kernels.get(kernel_id)
        if found is None:
            program = self._context.kernels.program(kernel_id)
            found = self._kernels[kernel_id] = self._context.engine.create_kernel(program, kernel_id)
        return found

    def _finish(self) -> None:
        """Wait, and let go of what was read."""
        self._context.stream.finish()
        self._read.clear()
        for kernel in self._kernels.values():
            kernel.forget_buffers()
