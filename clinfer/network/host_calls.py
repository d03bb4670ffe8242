"""Primitives that the host computes whenever they run, from data that the device has."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.base.shape import admits, show
from clinfer.network.buffers import Given, GrowingBuffer
from clinfer.program.program import Program
from clinfer.runtime.stream import Stream


class HostCalls:
    """The results of such primitives lie in buffers of their own until they run again."""

    def __init__(self, program: Program, stream: Stream) -> None:
        self._program = program
        self._stream = stream
        self._buffers: dict[int, GrowingBuffer] = {}

    def run(self, index: int, inputs: Sequence[np.ndarray]) -> list[Given]:
        """The outputs of a node in their order, for the values of its inputs."""
        node = self._program.nodes[index]
        shapes = tuple(a.shape for a in inputs)
        node.primitive.check_inputs(shapes, dict(enumerate(inputs)), ())
        try:
            results = node.primitive.evaluate(tuple(inputs), shapes)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise ClinferError("the host cannot compute this primitive", where=node.primitive.where, values={
                "reason": error, "shapes": ", ".join(map(show, shapes))}) from None
        return [self._hand_over(tensor, value) for tensor, value in zip(node.outputs, results, strict=True)]

    def release(self) -> None:
        """Give the memory of the results back."""
        for buffer in self._buffers.values():
            buffer.release()

    def _hand_over(self, tensor: int, value: np.ndarray) -> Given:
        described = self._program.tensors[tensor]
        if not admits(described.layout.shape, value.shape):
            raise ClinferError("a shape lies outside what the model declares", where=str(described.port),
                               values={"declared": show(described.layout.shape), "actual": show(value.shape)})
        layout = described.layout.with_shape(value.shape)
        if tensor not in self._buffers:
            self._buffers[tensor] = GrowingBuffer(self._program.engine, f"output {described.port}")
        memory = self._buffers[tensor].fit(layout.byte_size)
        if layout.byte_size:
            self._stream.write(memory, layout.pack(value), blocking=True)
        return Given(memory, value.shape, value)
