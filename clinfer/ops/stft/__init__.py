"""STFT and ISTFT: spectra of the frames of signals, and signals of such spectra."""
from clinfer.ops.operation import Operation
from clinfer.ops.stft.conversion import convert_istft, convert_stft
from clinfer.ops.stft.kernels import FRAME_KERNELS, OVERLAP_KERNELS
from clinfer.ops.stft.op import OverlapFrames, TakeFrames

OPERATION = Operation("stft", converters={"STFT": convert_stft, "ISTFT": convert_istft},
                      kernels={TakeFrames: FRAME_KERNELS, OverlapFrames: OVERLAP_KERNELS})
