"""Recurrent networks: LSTM, GRU and plain RNN, as whole sequences and as single cells."""
from clinfer.ops.recurrent.conversion import convert_cell, convert_sequence
from clinfer.ops.recurrent.kernels import KERNELS
from clinfer.ops.recurrent.op import Recurrence
from clinfer.ops.room import Room

ROOM = Room("recurrent", converters={
    **dict.fromkeys(("LSTMSequence", "GRUSequence", "RNNSequence"), convert_sequence),
    **dict.fromkeys(("LSTMCell", "GRUCell", "RNNCell"), convert_cell),
}, kernels={Recurrence: KERNELS})

__all__ = ["ROOM", "Recurrence"]
