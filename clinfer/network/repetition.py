"""An execution that can be enqueued again as it is."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from clinfer.network.bindings import Bindings, Wanted
from clinfer.network.memory.buffers import Given, GrowingBuffer
from clinfer.network.output import NetworkOutput
from clinfer.network.plans.plan_cache import SeenPlan
from clinfer.network.replay import ReadyStep
from clinfer.program.program import Program
from clinfer.runtime.launches import Launches
from clinfer.runtime.memory import RELEASES, Memory, NativeBuffer
from clinfer.runtime.rounds import InTurns, MovingCopy, Rounds, can_take_rounds
from clinfer.runtime.stream import Stream


@dataclass(frozen=True)
class Changes:
    """What changes between executions that follow one another: inputs and outputs, by the roots of their tensors, that
    take turns, and what is copied ahead of each and behind it."""

    in_turns: Mapping[int, InTurns]
    ahead: Sequence[MovingCopy] = ()
    behind: Sequence[MovingCopy] = ()


class MadeRounds(NamedTuple):
    """What enqueues an execution again and again where these take turns, made when there had been so many releases."""

    in_turns: Mapping[int, InTurns]
    rounds: Rounds
    releases: int


@dataclass(eq=False)
class Repetition:
    """What the last execution did, where that was launches alone and none of its shapes or memories was new.

    It may stand for the next one as long as inputs and outputs are the same and nothing else ran on the kernels; who
    has it sees to that. `seen`: the plan. `memories`: those of inputs and outputs, which others may release.
    `releases`: how many releases there had been when these were there, as far as somebody looked. `is_elsewhere`:
    whether some inputs or outputs have another memory by now. `rounds`: what enqueues it again and again with changes.
    """

    seen: SeenPlan
    launches: Launches
    memories: Sequence[Memory]
    outputs: Mapping[str, NetworkOutput]
    releases: int = -1
    is_elsewhere: bool = False
    rounds: MadeRounds | None = None

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
    return Repetition(repetition.seen, repetition.launches, memories, outputs, releases, rounds=repetition.rounds)


@contextmanager
def rounds_of(repetition: Repetition | None, bindings: Bindings, stream: Stream, find: Callable[[], Changes | None],
              ) -> Iterator[MadeRounds | None]:
    """The same again and again, with the changes that `find` gives; None where that is more than launches, copies and
    arguments. Behind the `with` all inputs and outputs lie where they did."""
    may_repeat = repetition is not None and not repetition.is_elsewhere and repetition.holds(is_counted=False)
    changes = find() if may_repeat else None
    made = None if repetition is None or changes is None else _made_rounds(repetition, bindings, stream, changes)
    if made is None:
        yield None
        return
    with bindings.lent(made.rounds):
        yield made


def _made_rounds(repetition: Repetition, bindings: Bindings, stream: Stream, changes: Changes) -> MadeRounds | None:
    """Those of the time before where the same take turns and nothing was released since."""
    made, launches, releases, in_turns = repetition.rounds, repetition.launches, RELEASES.count, changes.in_turns
    copied = chain.from_iterable(copy.sources + copy.targets for copy in (*changes.ahead, *changes.behind))
    if not can_take_rounds(stream, launches.kernels) or not _are_buffers(copied):
        return None
    if made is None or made.releases != releases or made.in_turns != in_turns:
        turns = bindings.turns(in_turns, launches.kernels)
        if turns is None or not _are_buffers(chain.from_iterable(in_turns.values())):
            return None
        made = repetition.rounds = MadeRounds(in_turns, Rounds(stream, launches, turns), releases)
    made.rounds.copy(changes.ahead, changes.behind)
    return made


def _are_buffers(memories: Iterable[Memory]) -> bool:
    return all(isinstance(memory.native, NativeBuffer) for memory in memories)
