"""Whether a remote tensor can be an input or output: checked before anything is enqueued."""
from __future__ import annotations

import weakref

from clinfer.api.arrays import Declared
from clinfer.api.ports import describe
from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.base.shape import is_static, show
from clinfer.remote.host_memories import memory_for, reaches
from clinfer.remote.region import Region
from clinfer.remote.surfaces import check_plane
from clinfer.remote.tensors import ClImage2DTensor, RemoteTensor
from clinfer.runtime.engine import Engine
from clinfer.runtime.memory import Memory

WHERE = "infer request"
_MOST = 256
"""Of so many tensors that take turns each is checked once."""


class RemoteCheck:
    """`check_remote` for one input or output; what was found of the last tensors holds as long as they are the same
    regions of memory that is there."""

    def __init__(self, declared: Declared, engine: Engine) -> None:
        self._declared = declared
        self._engine = engine
        self._found: dict[int, tuple[weakref.ref[RemoteTensor], Region]] = {}

    def __call__(self, tensor: RemoteTensor) -> None:
        """Raise unless kernels can work on the tensor."""
        found = self._found.get(id(tensor))
        if (found is not None and found[0]() is tensor and found[1] is tensor.region
                and not tensor.whole.is_released):
            return
        check_remote(tensor, self._declared, self._engine)
        if len(self._found) >= _MOST:
            self._found.clear()
        self._found[id(tensor)] = weakref.ref(tensor), tensor.region


def check_remote(tensor: RemoteTensor, declared: Declared, engine: Engine) -> None:
    """Raise unless kernels of this engine can work on the tensor in place of what is declared."""
    check_context(tensor, declared.label, engine)
    if tensor.kind != declared.element_type:
        raise ClinferError(f"{declared.label} has the wrong element type", where=WHERE, values={
            "expected": describe(declared.port), "given": str(tensor)},
            hint="remote tensors are taken as they are; convert it by a kernel, or in the model (PrePostProcessor)")
    _check_surface(tensor, declared)
    if tensor.size:
        declared.check_shape(tensor.static_shape)
    if tensor.is_image:
        check_plane(tensor.as_(ClImage2DTensor).image, tensor.static_shape[-1], declared.label)
    memory_of(tensor, declared.label, engine)


def check_writable(tensor: RemoteTensor, declared: Declared) -> None:
    """Raise unless the tensor can take what is written."""
    if not tensor.is_writable:
        raise ClinferError(f"{declared.label} was given a buffer that kernels may only read", where=WHERE,
                           values={"given": str(tensor)}, hint="make the buffer with mem_flags.READ_WRITE")
    if declared.shape is None or not is_static(declared.shape):
        return
    needed = Layout.planar(declared.shape, declared.element_type).byte_size
    if tensor.memory.capacity < needed:
        raise ClinferError(f"{declared.label} does not fit into the tensor that was set for it", where=WHERE, values={
            "expected": f"{declared.element_type}{show(declared.shape)}", "bytes needed": needed,
            "bytes given": tensor.memory.capacity})


def _check_surface(tensor: RemoteTensor, declared: Declared) -> None:
    """Raise unless images meet surfaces, and what is no image the rest."""
    if tensor.is_image == declared.is_surface:
        return
    is_what, given, hint = (("is a surface", "no image", "give images, or leave set_memory_type out")
                            if declared.is_surface else
                            ("is no surface", "an image",
                             "give a buffer, or say set_memory_type('GPU_SURFACE') of PrePostProcessor"))
    raise ClinferError(f"{declared.label} {is_what}, and was given {given}", where=WHERE, values={
        "expected": describe(declared.port), "given": str(tensor)}, hint=hint)


def check_context(tensor: RemoteTensor, label: str, engine: Engine) -> None:
    """Raise unless this engine reaches the tensor, which lies in its OpenCL context or beside it, see
    `host_memories.reaches`; `label`: what it was given for."""
    if not reaches(engine, tensor.whole):
        raise _is_elsewhere(tensor, label, engine)


def memory_of(tensor: RemoteTensor, label: str, engine: Engine) -> Memory:
    """What kernels of this engine are given for a tensor that passed `check_context`."""
    found = memory_for(engine, tensor.memory)
    if found is None:
        raise _is_elsewhere(tensor, label, engine)
    return found


def _is_elsewhere(tensor: RemoteTensor, label: str, ours: Engine) -> ClinferError:
    theirs = tensor.context.engine
    return ClinferError(f"{label} was given a tensor of another context", where=WHERE, values={
        "given": str(tensor), "the tensor's context": f"{theirs.cl_context.int_ptr:#x} on {theirs.device}",
        "the model's context": f"{ours.cl_context.int_ptr:#x} on {ours.device}"},
        hint="make the tensor with compiled.get_context().create_tensor, or compile the model for the tensor's context")
