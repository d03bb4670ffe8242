"""ShapeOf: the shape of a tensor as a tensor; never leaves the host."""
from clinfer.ops.operation import Operation
from clinfer.ops.shape_of.op import ShapeOf, convert_shape_of

OPERATION = Operation("shape_of", converters={"ShapeOf": convert_shape_of})

__all__ = ["OPERATION", "ShapeOf"]
