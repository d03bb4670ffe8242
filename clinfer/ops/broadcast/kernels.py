"""Kernels of Broadcast: copies of a view that stands still along the stretched axes."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from clinfer.base.tensor_view import TensorView
from clinfer.kernels.contract import Formats, KernelTable
from clinfer.ops.broadcast.op import Broadcast
from clinfer.ops.shared.copying import CopyReference, CopyRows, CopyStrided
from clinfer.ops.shared.data_formats import unblocked_data_formats
from clinfer.ops.shared.view_copy import CopyProblem, ViewCopy


@dataclass(frozen=True)
class BroadcastProblem(CopyProblem):
    """Data stretched to a shape."""

    primitive: Broadcast

    @property
    def formats(self) -> Formats:
        return unblocked_data_formats(self)

    @cached_property
    def copies(self) -> tuple[ViewCopy, ...]:
        data, result = TensorView.of(self.inputs[0]), self.outputs[0]
        inserted = self.primitive.inserted_axes(data.rank, result.rank, self.values)
        return (self.copy_to_output(None if inserted is None else
                                    data.insert_axes(inserted, pitch=1).broadcast(result.shape)),)


KERNELS = KernelTable(tuple(kernel("broadcast", has_epilogue=True)
                            for kernel in (CopyRows, CopyStrided, CopyReference)), BroadcastProblem)
