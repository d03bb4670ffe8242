"""Several tensors that are together the contents of one input, one behind the other along its first axis."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from clinfer.api.arrays import Declared, HostData, check_tensor_type, tensor_shape
from clinfer.api.remote_checks import check_remote, memory_of
from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.base.shape import StaticShape, show
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.remote.tensors import RemoteTensor
from clinfer.runtime.engine import Engine
from clinfer.runtime.memory import Memory
from clinfer.runtime.pictures import Pictures
from clinfer.runtime.stream import Stream


class Batch:
    """At least two tensors, all of the host or all of a remote context.

    What lies on the host is joined there for each inference, buffers of the device are copied into one there; images
    stay where they are.
    """

    def __init__(self, tensors: Sequence[ov.Tensor | RemoteTensor], declared: Declared, engine: Engine) -> None:
        self.remotes = tuple(tensor for tensor in tensors if isinstance(tensor, RemoteTensor))
        self._hosts = tuple(tensor for tensor in tensors if not isinstance(tensor, RemoteTensor))
        self._declared = declared
        self._entry = replace(declared, shape=declared.shape and (1, *declared.shape[1:]))
        self._engine = engine
        self._pictures: Pictures | None = None
        if self.remotes and self._hosts:
            raise ClinferError(f"{declared.label} was given tensors of the host and of a remote context",
                               where="infer request", hint="copy those of the host with copy_to")
        if declared.element_type.is_packed:
            raise ClinferError(f"{declared.label} has elements that share bytes, and takes one tensor",
                               where="infer request", values={"element type": declared.element_type})

    @property
    def shape(self) -> StaticShape:
        """The shape of all of them together. Errors: one that is no entry of a batch, different shapes."""
        shapes = [tensor.static_shape for tensor in self.remotes]
        shapes += [tensor_shape(tensor, self._declared) for tensor in self._hosts]
        first = shapes[0]
        if any(shape != first for shape in shapes) or first[:1] != (1,):
            raise ClinferError(f"{self._declared.label} takes tensors of one shape, which begins with 1",
                               where="infer request", values={"given": " ".join(map(show, shapes))},
                               hint="each tensor is one entry of the batch")
        return (len(shapes), *first[1:])

    def check(self) -> None:
        """Raise unless the model admits them."""
        for tensor in self._hosts:
            check_tensor_type(tensor, self._declared)
        self._declared.check_shape(self.shape)
        for remote in self.remotes:
            check_remote(remote, self._entry, self._engine)

    def on_host(self) -> HostData | None:
        """What lies on the host, joined; None if all are remote."""
        if not self._hosts:
            return None
        return HostData(np.concatenate([tensor.data for tensor in self._hosts]), self.shape, is_private=True)

    @property
    def pictures(self) -> Memory:
        """Images as one memory, the same as long as the batch is."""
        if self._pictures is None:
            layout = Layout.planar(self.shape, self._declared.element_type)
            self._pictures = Pictures([tensor.memory for tensor in self.remotes], layout)
        return self._pictures

    def gather(self, stream: Stream, target: Memory) -> None:
        """Enqueue the copies of remote buffers into one memory."""
        offset = 0
        for tensor in self.remotes:
            source = memory_of(tensor, self._entry.label, self._engine)
            stream.copy(source, target, tensor.byte_size, target_offset=offset)
            offset += tensor.byte_size
