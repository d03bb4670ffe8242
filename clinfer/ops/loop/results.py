"""The shapes of a loop's results, where they follow from its inputs before it runs.

They do where each run gives the same sizes, those of the inputs: a state that a run stretches to another input has its
size from then on, one that grows with every run has none that is known. Where data decides on the number of runs, no
result may depend on it.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.base.schema import Natural
from clinfer.base.shape import Shape, StaticShape
from clinfer.ops.shared.result_sizes import ResultSize, lifted, shape_of_result
from clinfer.topology import BodyResult, BodySize, Constant, Input, LoopPorts, Slicing, SourceBody
from clinfer.topology.loop_ports import run_count

Sizes = tuple[BodySize, ...]
_CONDITION = 1
"""The input of a loop that is its condition before the first run."""


@dataclass(frozen=True)
class LoopResult:
    """One output: `sizes` of what each run gives. The results of all runs are joined along axis `joined`; without it
    the output is what the last run gave, or without a run the input `initial` (None: there is nothing then)."""

    sizes: tuple[ResultSize, ...]
    joined: Natural | None = None
    initial: Natural | None = None

    def shape(self, shapes: tuple[StaticShape, ...], count: int | None) -> StaticShape:
        """Its shape for those of the inputs and the number of runs (None: whatever that is)."""
        if count == 0 and self.joined is None:
            if self.initial is None:
                raise ClinferError("a loop that did not run once has no last result")
            return lifted(shapes[self.initial], len(self.sizes))
        part = shape_of_result(self.sizes, shapes)
        if self.joined is None:
            return part
        assert count is not None
        return (*part[:self.joined], part[self.joined] * count, *part[self.joined + 1:])


@dataclass(frozen=True)
class LoopResults:
    """All outputs, and what tells the number of runs: the inputs that are `sliced`, and whether a run `goes_on` to the
    next one (None: data decides, and no output depends on the number)."""

    outputs: tuple[LoopResult, ...]
    sliced: tuple[tuple[Natural, Slicing], ...]
    goes_on: bool | None
    is_limited: bool

    def shapes(self, shapes: tuple[StaticShape, ...], limit: int | None) -> tuple[StaticShape, ...]:
        """The shapes of the outputs for those of the inputs, of a loop that runs at most `limit` times."""
        count = None
        if self.goes_on is not None:
            pieces = {f"input {index}": slicing.count(shapes[index][slicing.axis]) for index, slicing in self.sliced}
            count = run_count(pieces, limit, self.is_limited, self.goes_on)
        return tuple(result.shape(shapes, count) for result in self.outputs)


def known_results(body: SourceBody, given: Mapping[str, BodyResult],
                  declared: tuple[Shape | None, ...]) -> LoopResults | None:
    """What is known of a loop's results by those that its body has `given`; None: they are known only behind it."""
    assert body.loop is not None
    finder = _Finder(body, body.loop, given)
    goes_on = _goes_on(body, body.loop)
    outputs = [finder.result(index, shape, goes_on) for index, shape in enumerate(declared)]
    known = tuple(output for output in outputs if output is not None)
    if len(known) < len(outputs):
        return None
    sliced = tuple((body.inputs[name], slicing) for name, slicing in body.loop.sliced.items())
    return LoopResults(known, sliced, goes_on, bool(body.loop.condition))


class _Finder:
    """Finds the results of one loop."""

    def __init__(self, body: SourceBody, ports: LoopPorts, given: Mapping[str, BodyResult]) -> None:
        self._body = body
        self._ports = ports
        self._given = given

    def result(self, index: int, declared: Shape | None, goes_on: bool | None) -> LoopResult | None:
        """An output of the loop, if it is known."""
        name, joining = self._body.outputs[index], self._ports.joined.get(index)
        sizes = self._given[name].sizes
        if sizes is None or declared is None or not self._stay(sizes):
            return None
        state = next((state for state, output in self._ports.carried.items() if output == name), "")
        if goes_on is None and (joining is not None or (state and not self._is_state(sizes, state))):
            return None
        sizes = lifted(sizes, len(declared))
        if len(sizes) != len(declared):
            return None
        return LoopResult(tuple(map(self._of_inputs, sizes)),
                          None if joining is None else joining.axis % len(declared),
                          self._body.inputs[state] if state else None)

    def _stay(self, sizes: Sizes) -> bool:
        """Whether sizes are the same for the states behind a run."""
        return all(isinstance(size, int) or self._behind_a_run(size) == size for size in sizes)

    def _behind_a_run(self, size: frozenset[tuple[str, int]]) -> BodySize | None:
        """What a size is where states are what a run made of them."""
        found: set[tuple[str, int]] = set()
        for name, axis in size:
            after: BodySize = frozenset([(name, axis)])
            if name in self._ports.carried:
                sizes = self._given[self._ports.carried[name]].sizes
                if sizes is None or axis >= len(sizes):
                    return None
                after = sizes[axis]
            if isinstance(after, int):
                return None
            found |= after
        return frozenset(found)

    def _is_state(self, sizes: Sizes, state: str) -> bool:
        """Whether these are the sizes that a state has in every run."""
        before = self._declared(state)
        return before is not None and len(before) == len(sizes) and all(
            size == own if isinstance(size, int) else size == frozenset([(state, axis)])
            for axis, (size, own) in enumerate(zip(sizes, before, strict=True)))

    def _declared(self, name: str) -> Shape | None:
        primitive = self._body.topology[name]
        assert isinstance(primitive, Input)
        return primitive.shape

    def _of_inputs(self, size: BodySize) -> ResultSize:
        """A size by the inputs of the loop."""
        if isinstance(size, int):
            return size
        numbers = {1, *(number for name, axis in size if (number := self._number(name, axis)) is not None)}
        if numbers != {1}:
            return max(numbers)
        return tuple(sorted((self._body.inputs[name], axis) for name, axis in size if self._number(name, axis) is None)
                     ) or 1

    def _number(self, name: str, axis: int) -> int | None:
        """The size of an axis of the body's inputs, where it is none of the loop's."""
        if name == self._ports.counter:
            return 1
        slicing, shape = self._ports.sliced.get(name), self._declared(name)
        is_cut = slicing is not None and shape is not None and axis == slicing.axis % len(shape)
        return slicing.size if slicing is not None and is_cut else None


def _goes_on(body: SourceBody, ports: LoopPorts) -> bool | None:
    """Whether each run is followed by another one; None: that is seen behind each."""
    if not ports.condition:
        return True
    port = body.topology.outputs[ports.condition]
    primitive = body.topology[port.primitive]
    if isinstance(primitive, Constant):
        return bool(np.any(primitive.value))
    # Where the condition before the first run is that of all others, there is a run only if it is true.
    is_first = body.inputs.get(port.primitive) == _CONDITION and ports.stays(port.primitive, ports.condition)
    return True if isinstance(primitive, Input) and is_first else None
