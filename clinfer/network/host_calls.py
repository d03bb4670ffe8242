"""Primitives that the host computes whenever they run, from data that the device has."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.base.host_function import Evaluate
from clinfer.base.layout import Layout
from clinfer.base.shape import admits, show
from clinfer.network.memory.buffers import GrowingBuffer
from clinfer.network.output import NetworkOutput, shaped
from clinfer.program.program import Program
from clinfer.runtime.memory import Memory
from clinfer.runtime.stream import Stream


@dataclass(frozen=True)
class HostResult:
    """An output: its value, and its memory if anything but the host reads it."""

    value: np.ndarray
    memory: Memory | None


@dataclass(frozen=True)
class _Read:
    """What a tensor of that layout is read into; `values`: those of `raw`, None where they must be made of it each
    time."""

    layout: Layout
    raw: np.ndarray
    values: np.ndarray | None

    @classmethod
    def of(cls, layout: Layout) -> _Read:
        """Room for such a tensor."""
        raw = np.zeros(layout.byte_size, np.uint8)
        values = layout.unpack(raw)
        return cls(layout, raw, values if np.may_share_memory(values, raw) else None)


class HostCalls:
    """The results of such primitives lie in buffers of their own until they run again."""

    def __init__(self, program: Program, stream: Stream) -> None:
        self._program = program
        self._stream = stream
        self._buffers: dict[int, GrowingBuffer] = {}
        self._evaluators: dict[int, Evaluate] = {}
        self._inputs: dict[int, _Read] = {}

    def read(self, tensor: int, output: NetworkOutput) -> np.ndarray:
        """The values of a tensor that the device has (blocking), valid until it is read again; in one array as long as
        its layout stays, where they lie in the device's memory as in an array."""
        known = self._inputs.get(tensor)
        if known is None or known.layout != output.layout:
            known = self._inputs[tensor] = _Read.of(output.layout)
        if known.values is None:
            return output.to_numpy(known.raw)
        if known.raw.size:
            self._stream.read(output.memory, known.raw)
        return known.values

    def run(self, index: int, inputs: Sequence[np.ndarray]) -> list[HostResult]:
        """The outputs of a node in their order, for the values of its inputs."""
        node = self._program.nodes[index]
        shapes = tuple(a.shape for a in inputs)
        node.primitive.check_inputs(shapes, dict(enumerate(inputs)), ())
        try:
            results = self._evaluator(index)(tuple(inputs))
        except ClinferError as error:
            raise error if node.primitive.where in error.where else error.at(node.primitive.where) from None
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise ClinferError("the host cannot compute this primitive", where=node.primitive.where, values={
                "reason": error, "shapes": ", ".join(map(show, shapes))}) from None
        return [self._hand_over(tensor, value) for tensor, value in zip(node.outputs, results, strict=True)]

    def _evaluator(self, index: int) -> Evaluate:
        if index not in self._evaluators:
            self._evaluators[index] = self._program.nodes[index].primitive.evaluator()
        return self._evaluators[index]

    def release(self) -> None:
        """Give the memory of the results back."""
        self._evaluators.clear()
        self._inputs.clear()
        for buffer in self._buffers.values():
            buffer.release()

    def _hand_over(self, tensor: int, value: np.ndarray) -> HostResult:
        described = self._program.tensors[tensor]
        if not admits(described.layout.shape, value.shape):
            raise ClinferError("a shape lies outside what the model declares", where=str(described.port),
                               values={"declared": show(described.layout.shape), "actual": show(value.shape)})
        if described.storage == "host":
            return HostResult(value, None)
        layout = shaped(described.layout, value.shape)
        if tensor not in self._buffers:
            self._buffers[tensor] = GrowingBuffer(self._program.engine, f"output {described.port}")
        memory = self._buffers[tensor].fit(layout.byte_size)
        if layout.byte_size:
            self._stream.write(memory, layout.pack(value), blocking=True)
        return HostResult(value, memory)
