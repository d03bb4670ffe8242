"""ReverseSequence: the first elements of each sequence of a batch backwards."""
from clinfer.ops.reverse_sequence.kernels import KERNELS
from clinfer.ops.reverse_sequence.op import ReverseSequence
from clinfer.ops.room import Room, by_attributes

ROOM = Room("reverse_sequence", converters={"ReverseSequence": by_attributes(ReverseSequence)},
            kernels={ReverseSequence: KERNELS})

__all__ = ["ROOM", "ReverseSequence"]
