"""Formats for operations of which input 0 alone is data."""
from __future__ import annotations

from clinfer.base.format import Format
from clinfer.kernels.contract import Formats, Problem


def data_formats(problem: Problem, data: Format, output: Format | None = None) -> Formats:
    """Input 0 and the outputs in these formats (None: planar), the other inputs planar."""
    return Formats((data, *(Format.planar(x.rank) for x in problem.inputs[1:])),
                   tuple(output or Format.planar(x.rank) for x in problem.outputs))


def channels_last(rank: int) -> Format:
    """The format of data [B, C, spatial...] in which the channels of a pixel lie together."""
    return Format.of("bzyxf" if rank > 4 else "byxf")


def data_as_it_comes(problem: Problem) -> Formats:
    """Input 0 in the format that it has, everything else planar."""
    return data_formats(problem, problem.inputs[0].format)


def unblocked_data_formats(problem: Problem) -> Formats:
    """Input 0 as it comes unless it is blocked, everything else planar."""
    data = problem.inputs[0]
    return data_formats(problem, Format.planar(data.rank) if data.format.blocks else data.format)
