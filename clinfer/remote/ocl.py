"""The classes for OpenCL, together, as in OpenVINO's namespace of that name."""
from __future__ import annotations

from clinfer.remote.context import ClContext
from clinfer.remote.tensors import ClBufferTensor, ClImage2DTensor, USMTensor

__all__ = ["ClBufferTensor", "ClContext", "ClImage2DTensor", "USMTensor"]
