"""DFT, IDFT, RDFT and IRDFT: discrete Fourier transforms, one axis at a time."""
from clinfer.ops.dft.kernels import KERNELS
from clinfer.ops.dft.op import FourierTransform, convert_dft
from clinfer.ops.operation import Operation

OPERATION = Operation("dft", converters=dict.fromkeys(("DFT", "IDFT", "RDFT", "IRDFT"), convert_dft),
            kernels={FourierTransform: KERNELS})

__all__ = ["OPERATION", "FourierTransform"]
