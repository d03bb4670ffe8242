"""What the driver is found to refuse while a program is built, and the warnings that tell of it."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from clinfer.base.tracing import warn_once
from clinfer.kernels.implementation import Implementation
from clinfer.kernels.refused_kernels import KernelBuildError, RefusedKernels
from clinfer.program.graph import Graph
from clinfer.runtime.device import DeviceInfo


@dataclass
class Refusals:
    """Candidates that were chosen for nodes of one graph and cannot be built: by node, the reasons by name.

    Each round of choosing and building adds some, so that in the end what is chosen can be built, or nothing is left.
    """

    known: RefusedKernels
    by_node: dict[str, dict[str, str]] = field(default_factory=dict)
    kernel_ids: set[str] = field(default_factory=set)
    _first: dict[tuple[str, str], str] = field(default_factory=dict)
    """By operation and candidate of which nobody was told, the node where it was refused first."""

    def add(self, error: KernelBuildError, graph: Graph,
            implementations: Mapping[str, tuple[Implementation, ...]]) -> None:
        """Take the candidates out of whose kernels an error tells; the error itself if it tells of none of these."""
        refused = [(node, each.name, stage.code.kernel_id) for node, parts in implementations.items()
                   for each in parts for stage in each.stages if stage.code.kernel_id in error.values]
        if not refused:
            raise error
        for node, name, kernel_id in refused:
            self.by_node.setdefault(node, {})[name] = str(error.values[kernel_id])
            self.kernel_ids.add(kernel_id)
            if not self.known.is_old(kernel_id):
                self._first.setdefault((type(graph[node].primitive).__name__, name), node)

    def keep(self, graph: Graph, device: DeviceInfo) -> None:
        """Let other processes know, and tell once of each candidate what runs in its stead in the finished graph."""
        self.known.keep(self.kernel_ids)
        for (operation, name), node in self._first.items():
            chosen = graph[node].selection if node in graph else None
            instead = " or ".join(each.name for each in chosen.candidates) if chosen else "something else"
            if self.known.tells((operation, name)):
                warn_once(f"clinfer on {device}: the kernel {name} of {operation} is left out, "
                          f"{self.by_node[node][name]}; {instead} runs instead")

    def forget(self) -> None:
        """Let everything be tried again: where nothing is left, something else is wrong than these kernels."""
        self.known.forget(self.kernel_ids)
