"""The kernel of GatherTree."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.shape import StaticShape
from clinfer.kernels.contract import Work
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.only_kernel import OnlyKernelProblem, only_kernel
from clinfer.ops.shared.views import static


@dataclass(frozen=True)
class GatherTreeProblem(OnlyKernelProblem):
    """Beams, each of which is followed back."""

    @property
    def work(self) -> Work:
        sizes: StaticShape = static(self.outputs[0].shape)
        return local_items(sizes[1] * sizes[2])


KERNELS = only_kernel("gather_tree_ref", GatherTreeProblem)
