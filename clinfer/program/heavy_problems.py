"""The problems of a topology that take most of its time, for sizes that may well come."""
from __future__ import annotations

from collections.abc import Iterator

from clinfer.base.format import Format
from clinfer.kernels.contract import Formats, Problem
from clinfer.program.context import BuildContext
from clinfer.program.format_choice import problem_of, samples_of
from clinfer.program.graph import Graph, Node
from clinfer.program.passes import run_pipeline
from clinfer.topology import Topology


def heavy_problems(topology: Topology, context: BuildContext) -> Iterator[tuple[str, Problem]]:
    """(primitive's id, static problem) of what is worth tuning, those of bodies included: as the model declares its
    sizes, else one for each of the sample sizes for which kernels are built."""
    graph = Graph(topology)
    run_pipeline(graph, context)
    samples = samples_of(graph, context)
    for node in graph:
        for body in node.primitive.bodies:
            yield from heavy_problems(body.topology, context.of_part())
        if node.selection is None or not node.primitive.is_heavy:
            continue
        for sample in samples:
            problem = sample.problem(node, problem_of(graph, node, context), node.primitive.value_inputs)
            if sample.is_inferred(node) and all(layout.count for layout in problem.outputs):
                yield node.id, _with_planar_weights(problem, graph, node)


def _with_planar_weights(problem: Problem, graph: Graph, node: Node) -> Problem:
    """A problem with weights and other constants as models have them. In the graph they lie as the chosen kernel wants
    them, and what is to be tuned must not depend on what is chosen."""
    def wanted(index: int) -> Format:
        layout = problem.inputs[index]
        is_free = index == node.primitive.weights_input or node.inputs[index].primitive in graph.constants
        return Format.planar(layout.rank) if is_free else layout.format

    inputs = tuple(map(wanted, range(len(problem.inputs))))
    return problem.in_formats(Formats(inputs, tuple(x.format for x in problem.outputs)))
