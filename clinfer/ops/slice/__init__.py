"""Slice and StridedSlice: a regular part of a tensor."""
from clinfer.ops.operation import Operation, by_attributes
from clinfer.ops.slice.kernels import KERNELS
from clinfer.ops.slice.op import Cut, Slice, StridedSlice

OPERATION = Operation("slice",
            converters={"Slice": by_attributes(Slice), "StridedSlice": by_attributes(StridedSlice)},
            kernels={Slice: KERNELS, StridedSlice: KERNELS})

__all__ = ["OPERATION", "Cut", "Slice", "StridedSlice"]
