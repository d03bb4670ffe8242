"""What operations along some axes of a tensor share: the axes, neutral elements, and how work-items share a row."""
from __future__ import annotations

from clinfer.base.errors import ClinferError
from clinfer.base.shape import Shape, show
from clinfer.kernels.contract import Constant, Problem
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Primitive

ROW_LANES_ON_GPU = 128
_STEP_ON_CPU, _STEP_ON_GPU = 2.0, 10.0

# The ends of each arithmetic type, in OpenCL C.
LOWEST = {"float": "-INFINITY", "double": "-INFINITY", "int": "INT_MIN", "long": "LONG_MIN", "uint": "0u",
           "ulong": "0ul"}
HIGHEST = {"float": "INFINITY", "double": "INFINITY", "int": "INT_MAX", "long": "LONG_MAX", "uint": "UINT_MAX",
            "ulong": "ULONG_MAX"}

Axes = tuple[int, ...]


def normalized_axes(values: Values, index: int, rank: int) -> Axes | None:
    """The axes in a value input, counted from the front and ascending, or None while they are unknown."""
    if index not in values:
        return None
    return tuple(sorted({int(axis) % rank for axis in values[index].reshape(-1)})) if rank else ()


def check_given_axes(primitive: Primitive, data: Shape | None, values: Values) -> None:
    """An error where value input 1 names an axis that the data does not have."""
    if data is None or 1 not in values:
        return
    wrong = [int(axis) for axis in values[1].reshape(-1) if not -len(data) <= axis < len(data)]
    if wrong:
        raise ClinferError("an axis lies outside the data", where=primitive.where,
                           values={"axes": wrong, "data": show(data)})


def row_lanes(problem: Problem) -> int:
    """Work-items that share a row: one on a CPU, where vectors fill a core."""
    return 1 if problem.runs_on_cpu else min(ROW_LANES_ON_GPU, problem.capabilities.max_work_group_size)


def rows_constants(problem: Problem) -> dict[str, Constant]:
    """LANES work-items per row, each loading vectors of VEC."""
    lanes = row_lanes(problem)
    return {"LANES": lanes, "VEC": 16 if lanes == 1 else 4}


def serial_time(problem: Problem, steps: float) -> float:
    """Nanoseconds that a work-item takes for so many elements one after the other: for the latency of their loads on
    GPUs, for the arithmetic of their indices on CPUs."""
    return steps * (_STEP_ON_CPU if problem.runs_on_cpu else _STEP_ON_GPU)
