"""Remote contexts and tensors where users of OpenVINO's C++ API look for them: `clinfer.intel_gpu.ocl.ClContext`."""
from __future__ import annotations

from clinfer.remote import ocl

__all__ = ["ocl"]
