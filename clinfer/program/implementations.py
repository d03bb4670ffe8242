"""The implementations of a graph's nodes, once their kernels are chosen."""
from __future__ import annotations

from clinfer.base.errors import ClinferError
from clinfer.kernels.contract import Problem
from clinfer.kernels.implementation import Implementation
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph
from clinfer.runtime.engine import Engine
from clinfer.topology import Primitive


def implementations_of(graph: Graph, context: BuildContext) -> dict[str, tuple[Implementation, ...]]:
    """The code of the nodes that launch kernels, by id: of each, for all candidates that were chosen for it. Errors:
    ClinferError for a tensor that the device cannot allocate."""
    made = {}
    for node in graph:
        if node.selection is not None and node.id not in graph.constants:
            _check_large(node.primitive, node.selection.problem, context.engine)
            made[node.id] = tuple(context.alike.implementation(candidate, node.selection.problem)
                                  for candidate in node.selection.candidates)
    return made


def _check_large(primitive: Primitive, problem: Problem, engine: Engine) -> None:
    """An error for a tensor of a large problem that the device cannot allocate."""
    for layout in problem.all_inputs + problem.outputs if problem.is_large and problem.is_static else ():
        try:
            engine.ledger.check_alone(layout.byte_size, f"tensor {layout}")
        except ClinferError as error:
            raise error.at(primitive.where) from None
