"""Softmax and LogSoftmax along one axis."""
from clinfer.ops.room import Room, by_attributes
from clinfer.ops.softmax.kernels import KERNELS
from clinfer.ops.softmax.op import LogSoftmax, Softmax

ROOM = Room("softmax",
            converters={"Softmax": by_attributes(Softmax), "LogSoftmax": by_attributes(LogSoftmax)},
            kernels={Softmax: KERNELS, LogSoftmax: KERNELS})
