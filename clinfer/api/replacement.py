"""Puts clinfer in OpenVINO's place for clients that were written for OpenVINO."""
from __future__ import annotations

from clinfer.api import names
from clinfer.api.submodules import alias_former_package
from clinfer.frontend.openvino_import import openvino

REPLACED = ("AsyncInferQueue", "CompiledModel", "ConstOutput", "Core", "InferRequest", "RemoteContext", "RemoteTensor",
            "VAContext", "VASurfaceTensor", "Version", "compile_model")


def replace_openvino() -> None:
    """From now on `openvino.Core` and whatever else runs models is clinfer's, in this process; again is harmless.

    A module that took these names from OpenVINO before keeps them. `openvino.runtime` stands for `openvino`.
    """
    for name in REPLACED:
        setattr(openvino, name, getattr(names, name))
    alias_former_package()
