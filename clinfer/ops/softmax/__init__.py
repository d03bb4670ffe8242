"""Softmax and LogSoftmax along one axis."""
from clinfer.ops.operation import Operation, by_attributes
from clinfer.ops.softmax.kernels import KERNELS
from clinfer.ops.softmax.op import LogSoftmax, Softmax

OPERATION = Operation("softmax",
            converters={"Softmax": by_attributes(Softmax), "LogSoftmax": by_attributes(LogSoftmax)},
            kernels={Softmax: KERNELS, LogSoftmax: KERNELS})
