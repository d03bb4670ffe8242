"""Gather, GatherElements and GatherND: elements of one tensor looked up at the places that another names."""
from clinfer.ops.gather.kernels import KERNELS
from clinfer.ops.gather.op import (
    Gather,
    Gather7,
    GatherElements,
    Gathering,
    GatherND,
    GatherND5,
    convert_gather,
    convert_gather_elements,
    convert_gather_nd,
)
from clinfer.ops.operation import Operation

OPERATION = Operation("gather",
            converters={"Gather": convert_gather, "GatherElements": convert_gather_elements,
                        "GatherND": convert_gather_nd},
            kernels=dict.fromkeys((Gather, Gather7, GatherElements, GatherND, GatherND5), KERNELS))

__all__ = ["OPERATION", "Gather", "Gather7", "GatherElements", "GatherND", "GatherND5", "Gathering"]
