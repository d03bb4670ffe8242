"""Every public name of OpenVINO, with clinfer's own in place of those of the same name."""
from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import clinfer.frontend as frontend
from clinfer.api.async_infer_queue import AsyncInferQueue
from clinfer.api.compiled_model import CompiledModel
from clinfer.api.core import Core, Version, compile_model
from clinfer.api.custom_operations import register_op, unregister_op
from clinfer.api.foreign_arrays import from_dlpack
from clinfer.api.hand_made import build_network
from clinfer.api.infer_request import InferRequest
from clinfer.api.op_check import check_op
from clinfer.api.ports import ConstOutput
from clinfer.api.tensor_copies import teach_host_tensors
from clinfer.base.errors import CancelledError, ClinferError, UnsupportedError, WrongTypeError
from clinfer.frontend.openvino_import import openvino
from clinfer.remote import ocl
from clinfer.remote.context import ClContext, RemoteContext
from clinfer.remote.media import D3DBufferTensor, D3DContext, D3DSurface2DTensor, VAContext, VASurfaceTensor
from clinfer.remote.tensors import ClBufferTensor, ClImage2DTensor, RemoteTensor, USMTensor

if TYPE_CHECKING:
    from openvino import *  # noqa: F403

# Spelt out, because a type checker that is strict takes names for exported only where they are listed.
__all__ = [
    "AsyncInferQueue", "CancelledError", "ClBufferTensor", "ClContext", "ClImage2DTensor", "ClinferError",
    "CompiledModel", "ConstOutput", "Core", "D3DBufferTensor", "D3DContext", "D3DSurface2DTensor", "InferRequest",
    "RemoteContext", "RemoteTensor", "USMTensor", "UnsupportedError", "VAContext", "VASurfaceTensor", "Version",
    "WrongTypeError", "build_network", "check_op", "compile_model", "from_dlpack",
    "register_op", "unregister_op",
]
# C++ has `ocl` in the namespace ov::intel_gpu. clinfer.frontend hands out what openvino.frontend holds, besides its
# own modules.
_OURS = {"frontend": frontend, "intel_gpu": SimpleNamespace(ocl=ocl), **{name: globals()[name] for name in __all__}}
PUBLIC = tuple(sorted({name for name in vars(openvino) if not name.startswith("_")} | set(_OURS)))

globals().update({name: _OURS.get(name) or getattr(openvino, name) for name in PUBLIC})
teach_host_tensors()
