"""An execution that can be enqueued again as it is."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from clinfer.network.bindings import Bindings, Wanted
from clinfer.network.memory.buffers import Given, GrowingBuffer
from clinfer.network.output import NetworkOutput
from clinfer.network.plans.plan_cache import SeenPlan
from clinfer.network.replay import ReadyStep
from clinfer.program.program import Program
from clinfer.runtime.launches import Launches
from clinfer.runtime.memory import RELEASES, Memory
from clinfer.runtime.stream import Stream


@dataclass(eq=False)
class Repetition:
    """What the last execution did, where that was launches alone and none of its shapes or memories was new.

    It may stand for the next one as long as inputs and outputs are the same and nothing else ran on the kernels; who
    has it sees to that. `seen`: the plan. `memories`: those of inputs and outputs, which others may release.
    `releases`: how many releases there had been when these were there, as far as somebody looked. `is_elsewhere`:
    whether some inputs or outputs have another memory by now.
    """

    seen: SeenPlan
    launches: Launches
    memories: Sequence[Memory]
    outputs: Mapping[str, NetworkOutput]
    releases: int = -1
    is_elsewhere: bool = False

    def holds(self, is_counted: bool) -> bool:
        """Whether all memories are still there, and the plan is not to be looked at for a faster one (where the
        execution `is_counted`, see `SeenPlan`)."""
        if is_counted and self.seen.countdown == 1:
            return False
        releases = RELEASES.count
        if releases != self.releases:
            if any(each.is_released for each in self.memories):
                return False
            self.releases = releases
        return True

    def enqueue(self, stream: Stream, proceed: Callable[[], None] | None, is_counted: bool) -> None:
        """Enqueue it again, see `Network.execute`."""
        if proceed is not None:
            proceed()
        stream.pace = self.seen.pace
        if self.launches:
            stream.enqueue_all(self.launches)
        if is_counted and self.seen.countdown:
            self.seen.countdown -= 1


def is_repeatable(program: Program) -> bool:
    """Whether executions of a program may be repeated: no value decides what is done, and nothing is left to the
    host."""
    types = (*(declared.element_type for declared in program.inputs.values()),
             *(output.layout.element_type for output in program.outputs.values()))
    return (len(program.segments) == 1 and not program.segments[0].values and not program.states
            and not any(each.is_on_host_only for each in types))


def repetition_of(seen: SeenPlan, steps: Sequence[ReadyStep], given: Mapping[str, Given],
                  outputs: Mapping[str, NetworkOutput], delivered: Mapping[str, NetworkOutput]) -> Repetition | None:
    """The execution that these steps were, if they were launches alone, and no output was copied to where it was
    `delivered`."""
    launches = steps[0] if steps else Launches()
    if len(steps) > 1 or not isinstance(launches, Launches):
        return None
    if any(not delivered[name].memory.shares_buffer(output.memory) for name, output in outputs.items()):
        return None
    memories = (*(each.memory for each in given.values()), *(output.memory for output in delivered.values()))
    return Repetition(seen, launches, memories, delivered)


def moved(repetition: Repetition, program: Program, bindings: Bindings, given: Mapping[str, Given],
          wanted: Mapping[str, Memory | GrowingBuffer]) -> Repetition | None:
    """The same with inputs and outputs where they lie now; None where that is more than to bind them."""
    plan, releases = repetition.seen.plan, RELEASES.count
    places = Wanted({program.tensors[program.outputs[name].tensor].root: memory for name, memory in wanted.items()})
    if not bindings.holds_wanted(plan.output_bytes, places):
        return None
    memories = [each.memory for each in given.values()]
    for name, memory in zip(given, memories, strict=True):
        bindings.bind(program.input_tensors[name], memory)
    bindings.bind_wanted(plan.output_bytes, places)
    bindings.alias(0, plan.aliases)
    outputs: dict[str, NetworkOutput] = {}
    for name, before in repetition.outputs.items():
        memory, target = bindings.memory(program.outputs[name].tensor), wanted.get(name)
        if target is not None and memory is not (target.held if isinstance(target, GrowingBuffer) else target):
            return None
        outputs[name] = before if before.memory is memory else NetworkOutput(before.layout, memory, before.stream)
        memories.append(memory)
    return Repetition(repetition.seen, repetition.launches, memories, outputs, releases)
