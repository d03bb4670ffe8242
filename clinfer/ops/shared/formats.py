"""Formats that kernels of several operations want."""
from __future__ import annotations

from clinfer.base.format import Format
from clinfer.kernels.contract import Formats, Problem


def data_as_it_comes(problem: Problem) -> Formats:
    """Input 0 in the format that it has, everything else planar."""
    data, *others = problem.inputs
    return Formats((data.format, *(Format.planar(x.rank) for x in others)),
                   tuple(Format.planar(x.rank) for x in problem.outputs))
