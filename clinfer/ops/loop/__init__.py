"""Loop and TensorIterator: a body that runs again and again on slices, on what the run before gave, or both."""
from clinfer.ops.loop.op import Loop, TensorIterator, convert_loop, convert_tensor_iterator
from clinfer.ops.operation import Operation

OPERATION = Operation("loop", converters={"Loop": convert_loop, "TensorIterator": convert_tensor_iterator})

__all__ = ["OPERATION", "Loop", "TensorIterator"]
