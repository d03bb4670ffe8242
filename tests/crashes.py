"""A process of tests that crashes costs the test that it crashed in, and none of the others."""
from __future__ import annotations

from typing import Any

from xdist.scheduler import LoadGroupScheduling


class SurvivingScheduling(LoadGroupScheduling):
    """What a process that crashed had left to do is done by the others.

    The base class hands on all that the process ever was given: the test that it crashed in, which takes the next one
    along, and what is done, on which the one that takes its place waits for ever; as it does with a single test, which
    a process begins when it knows of a second one or that there is none.
    """

    def remove_node(self, node: Any) -> str | None:
        """The test that a process crashed in, None if it had nothing left to do."""
        left = {scope: dict.fromkeys((test for test, done in unit.items() if not done), False)
                for scope, unit in self.assigned_work.pop(node).items()}
        crashed = next((test for unit in left.values() for test in unit), None)
        for unit in left.values():
            unit.pop(crashed, None)
        self.workqueue.update((scope, unit) for scope, unit in left.items() if unit)
        if crashed is not None:
            for other in self.assigned_work:
                self._reschedule(other)
        return crashed

    def _reschedule(self, node: Any) -> None:
        # One that takes the place of another is given work once it has told which tests there are.
        if node not in self.registered_collections:
            return
        super()._reschedule(node)
        if not node.shutting_down and self._pending_of(self.assigned_work[node]) < 2:
            self._reschedule(node)
