"""The classes for OpenCL, together, as in OpenVINO's namespace of that name."""
from __future__ import annotations

from clinfer.remote.context import ClContext
from clinfer.remote.media import D3DBufferTensor, D3DContext, D3DSurface2DTensor, VAContext, VASurfaceTensor
from clinfer.remote.tensors import ClBufferTensor, ClImage2DTensor, USMTensor

__all__ = ["ClBufferTensor", "ClContext", "ClImage2DTensor", "D3DBufferTensor", "D3DContext", "D3DSurface2DTensor",
           "USMTensor", "VAContext", "VASurfaceTensor"]
