"""Lets OpenVINO's host tensors copy to and from clinfer's remote tensors."""
from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from clinfer.api.arguments import only
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.remote.copying import copy
from clinfer.remote.tensors import RemoteTensor

_REACHES = "reaches_remote_tensors"


def teach_host_tensors() -> None:
    """`openvino.Tensor.copy_to` and `copy_from` take remote tensors of clinfer from now on; again is harmless.

    Everything else goes to OpenVINO's own methods, which know only their own class of remote tensors.
    """
    if not hasattr(ov.Tensor.copy_to, _REACHES):
        ov.Tensor.copy_to = _copy_to(ov.Tensor.copy_to)
        ov.Tensor.copy_from = _copy_from(ov.Tensor.copy_from)


def _copy_to(theirs: Callable[..., None]) -> Callable[..., None]:
    @wraps(theirs)
    def copy_to(self: ov.Tensor, target_tensor: Any) -> None:
        if isinstance(target_tensor, RemoteTensor):
            copy(self, target_tensor)
        else:
            theirs(self, target_tensor)

    setattr(copy_to, _REACHES, True)
    return copy_to


def _copy_from(theirs: Callable[..., None]) -> Callable[..., None]:
    @wraps(theirs)
    def copy_from(self: ov.Tensor, source_tensor: Any = None, *, source: Any = None) -> None:
        given = only("copy_from", source_tensor=source_tensor, source=source)
        if isinstance(given, RemoteTensor):
            copy(given, self)
        else:
            theirs(self, given)

    return copy_from
