"""GridSample: pictures sampled at the places that a grid names."""
from clinfer.ops.grid_sample.kernels import KERNELS
from clinfer.ops.grid_sample.op import GridSample
from clinfer.ops.operation import Operation, by_attributes

OPERATION = Operation("grid_sample", converters={"GridSample": by_attributes(GridSample)},
                      kernels={GridSample: KERNELS})

__all__ = ["OPERATION", "GridSample"]
