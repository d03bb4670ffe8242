"""ReverseSequence: the first elements of each sequence of a batch backwards."""
from clinfer.ops.operation import Operation, by_attributes
from clinfer.ops.reverse_sequence.kernels import KERNELS
from clinfer.ops.reverse_sequence.op import ReverseSequence

OPERATION = Operation("reverse_sequence", converters={"ReverseSequence": by_attributes(ReverseSequence)},
            kernels={ReverseSequence: KERNELS})

__all__ = ["OPERATION", "ReverseSequence"]
