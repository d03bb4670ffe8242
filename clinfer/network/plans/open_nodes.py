"""The nodes of a program whose plans change with sizes, described and planned outside of any network."""
from __future__ import annotations

from functools import partial
from typing import NoReturn

from clinfer.base.errors import ClinferError
from clinfer.kernels.contract import Problem
from clinfer.network.bindings import number_kernels
from clinfer.network.plans.planner import Planner, host_constant, open_segments
from clinfer.network.plans.segment_nodes import NodeStep, describe_nodes
from clinfer.program.program import Program
from clinfer.symbolic.shape_inference import ShapeInference


def open_nodes(program: Program) -> dict[int, tuple[NodeStep, ...]]:
    """The nodes of the segments that may have more than one plan, by segment."""
    opened = open_segments(program)
    if not opened:
        return {}
    constant = partial(host_constant, program, program.engine.create_stream())
    return {segment: describe_nodes(program, segment, constant).steps for segment in opened}


def planner_of(program: Program, shape_inference: ShapeInference) -> Planner:
    """What plans a program, and refuses problems that need other kernels than it has."""
    return Planner(program, program.engine.create_stream(), shape_inference, number_kernels(program), _refuse_large)


def _refuse_large(_: int, problem: Problem) -> NoReturn:
    raise ClinferError("no network has kernels for problems that large yet", where=problem.primitive.where)
