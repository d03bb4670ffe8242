"""A node as the functions that plan it see it, the same for all networks of a program."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.layout import Layout
from clinfer.network.plans.node_arguments import NodeArguments, is_small
from clinfer.program.program import Program, ProgramNode
from clinfer.symbolic.tape import Tape
from clinfer.topology import SourceBody, attributes_of


@dataclass(frozen=True, eq=False)
class NodeForm:
    """A node by its index, how the numbers that it is given make up its inputs, and the layouts of these and of its
    outputs. `is_traced`: whether it has `traces`; nodes that are alike share them."""

    index: int
    node: ProgramNode
    arguments: NodeArguments
    inputs: tuple[Layout, ...]
    outputs: tuple[Layout, ...]
    is_traced: bool
    traces: list[Tape]

    @property
    def kernel_count(self) -> int:
        """How many kernels it has in a network's table."""
        return sum(len(each.stages) for each in self.node.implementations)


def form_of(program: Program, index: int, arguments: NodeArguments) -> NodeForm:
    """The form of a node, with the traces that those like it have by now."""
    node = program.nodes[index]
    inputs, outputs = (tuple([program.tensors[t].layout for t in tensors]) for tensors in (node.inputs, node.outputs))
    small = node.kind != "host" or all(map(is_small, outputs))
    is_traced = small and not arguments.has_arrays
    traces = program.traces.setdefault(_identity(node, arguments, inputs, outputs), []) if is_traced else []
    return NodeForm(index, node, arguments, inputs, outputs, is_traced, traces)


def _identity(node: ProgramNode, arguments: NodeArguments, inputs: tuple[Layout, ...],
              outputs: tuple[Layout, ...]) -> object:
    """Equal for nodes whose plans differ in nothing but the numbers of their kernels; hashable."""
    primitive = node.primitive
    own = tuple([each for each in attributes_of(primitive) if not isinstance(each[1], SourceBody)])
    attributes = (type(primitive), own, primitive.output_padding, tuple(
        (type(fused.primitive), attributes_of(fused.primitive), fused.operands) for fused in primitive.fused_ops))
    kernels = tuple((implementation.name, tuple((stage.code.kernel_id, stage.code.fields)
                                                for stage in implementation.stages))
                    for implementation in node.implementations)
    identity = (node.kind, attributes, kernels, node.is_forced, len(node.scratch_slots),
                tuple(aliased.alias for aliased in node.aliases), inputs, outputs, arguments.identity())
    try:
        hash(identity)
    except TypeError:
        return id(node)
    return identity
