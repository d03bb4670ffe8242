"""What OpenVINO's RandomUniform-8 is made of: the state of the generator, and the numbers that it gives."""
from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.host_function import Evaluate
from clinfer.base.schema import Natural
from clinfer.base.shape import ANY, Shape
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Port, Primitive, SourceNode

_SKIPPED_PER_NUMBER = 256
_WORDS = 6


@dataclass(frozen=True)
class GeneratorState(Primitive):
    """The state of a Philox generator before each run: place, seed of the operation and key, u32 [6], of which each has
    a lower and an upper half. A run of n numbers (of the shape in input 0) moves the place on by 256 n.

    Both seeds 0: the key is another one for each network.
    """

    global_seed: Natural = 0
    op_seed: Natural = 0

    @property
    def computed_on_host(self) -> bool:
        return True

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return (ElementType.of("u32"),)

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        return ((_WORDS,),)

    def evaluator(self) -> Evaluate:
        key = self.global_seed if self.global_seed or self.op_seed else secrets.randbits(31)
        place = 0

        def evaluate(values: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
            nonlocal place
            state = np.array([place, self.op_seed, key], np.uint64).view(np.uint32)
            place = (place + prod(values[0].reshape(-1).tolist()) * _SKIPPED_PER_NUMBER) % 2**64
            return (state,)
        return evaluate


@dataclass(frozen=True)
class RandomUniform(Primitive):
    """Numbers from input 1 up to but without input 2, of the shape in input 0, from the generator's state in input 3.

    The generator gives blocks of four words; a number is made of one of them, in order, where the range is 2^32 or more
    of two. Narrow floats have the first bits of the f32 that OpenVINO's CPU plugin draws.
    """

    @property
    def value_inputs(self) -> tuple[int, ...]:
        return (0,)

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return (input_types[1],)

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        if 0 in values:
            return (tuple(values[0].reshape(-1).tolist()),)
        rank = shapes[0][0] if shapes[0] else 1
        return ((ANY,) * rank if isinstance(rank, int) else None,)


def convert_random_uniform(node: SourceNode) -> Sequence[Primitive]:
    """The state and the numbers."""
    if str(node.attributes.get("alignment", "tensorflow")).lower() != "tensorflow":
        raise ClinferError("random numbers aligned with PyTorch have no kernel", where=f"layer {node.name!r}",
                           values={"alignment": node.attributes["alignment"]})
    state = GeneratorState(f"{node.id}/state", node.inputs[:1], origin=node.name,
                           global_seed=int(node.attributes["global_seed"]), op_seed=int(node.attributes["op_seed"]))
    return state, RandomUniform(node.id, (*node.inputs, Port(state.id)), origin=node.name)
