"""CTCLoss: how unlikely sequences of classes are, whatever the steps at which they were meant."""
from clinfer.ops.ctc_loss.kernels import KERNELS
from clinfer.ops.ctc_loss.op import SequenceLoss, convert_ctc_loss
from clinfer.ops.operation import Operation

OPERATION = Operation("ctc_loss", converters={"CTCLoss": convert_ctc_loss}, kernels={SequenceLoss: KERNELS})
