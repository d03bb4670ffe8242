"""What each launch must wait for where launches may run at the same time."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from clinfer.network.plans.plan import Launch, Step
from clinfer.program.program import Program


class WaitFinder:
    """Finds the waits of the steps of one program's plans.

    A launch waits for its node's launch before it, or else for what the node reads. Nodes that launch nothing hand
    on what they would wait for. Slots need no waits of their own: in a program that is built for this they share
    memory only where what is waited for keeps them apart.
    """

    def __init__(self, program: Program, kernel_nodes: Sequence[int]) -> None:
        """`kernel_nodes`: the node of each kernel of the network's table."""
        makers = {tensor: index for index, node in enumerate(program.nodes) for tensor in node.outputs}
        self._sources = [[makers[tensor] for tensor in node.inputs if tensor in makers] for node in program.nodes]
        self._kernel_nodes = kernel_nodes

    def waits(self, steps: Sequence[Step]) -> tuple[tuple[int, ...], ...]:
        """For each step of a segment the earlier ones that must be done when it begins, those left out that
        others wait for in turn. A step that is no launch has none: it waits for all and holds back all."""
        last: dict[int, int] = {}
        found: list[tuple[int, ...]] = []
        before: list[int] = []
        held_back = 0
        for number, step in enumerate(steps):
            needed, bits = [], 0
            if isinstance(step, Launch):
                node = self._kernel_nodes[step.kernel]
                wanted = {last[node]} if node in last else self._launches_behind(node, last, set())
                last[node] = number
                for other in sorted((w for w in wanted if w >= held_back), reverse=True):
                    if not bits >> other & 1:
                        needed.append(other)
                        bits |= before[other] | 1 << other
            else:
                held_back = number + 1
            found.append(tuple(needed))
            before.append(bits)
        return tuple(found)

    def _launches_behind(self, node: int, last: Mapping[int, int], seen: set[int]) -> set[int]:
        """The last launches of the nodes that a node reads, through those that launch nothing."""
        found: set[int] = set()
        for source in self._sources[node]:
            if source in last:
                found.add(last[source])
            elif source not in seen:
                seen.add(source)
                found |= self._launches_behind(source, last, seen)
        return found
