"""SliceScatter: a slice of a tensor replaced."""
from clinfer.ops.operation import Operation, by_attributes
from clinfer.ops.slice_scatter.kernels import KERNELS
from clinfer.ops.slice_scatter.op import SliceScatter

OPERATION = Operation("slice_scatter", converters={"SliceScatter": by_attributes(SliceScatter)},
                      kernels={SliceScatter: KERNELS})
