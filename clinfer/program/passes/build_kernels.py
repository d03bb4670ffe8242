"""Builds the kernels of all nodes at once.

Those that pack constants are among them, which the next pass runs: they need not be built by themselves before. What
the driver refuses is told when the graph is finished.
"""
from __future__ import annotations

from contextlib import suppress

from clinfer.kernels.refused_kernels import KernelBuildError
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph
from clinfer.program.implementations import implementations_of


def build_kernels(graph: Graph, context: BuildContext) -> None:
    """Have the kernels of all nodes ready, as far as they can be built."""
    found = implementations_of(graph, context)
    with suppress(KernelBuildError):
        context.kernels.prepare(stage.code for parts in found.values() for each in parts for stage in each.stages)
