"""Recurrent networks: LSTM, GRU and plain RNN, as whole sequences and as single cells."""
from clinfer.ops.operation import Operation
from clinfer.ops.recurrent.conversion import convert_cell, convert_sequence
from clinfer.ops.recurrent.kernels import KERNELS
from clinfer.ops.recurrent.op import Recurrence

OPERATION = Operation("recurrent", converters={
    **dict.fromkeys(("LSTMSequence", "GRUSequence", "RNNSequence"), convert_sequence),
    **dict.fromkeys(("LSTMCell", "GRUCell", "RNNCell"), convert_cell),
}, kernels={Recurrence: KERNELS})

__all__ = ["OPERATION", "Recurrence"]
