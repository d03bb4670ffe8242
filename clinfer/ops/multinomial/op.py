"""What OpenVINO's Multinomial-13 is made of: random numbers, and the classes that they draw."""
from __future__ import annotations

import secrets
from dataclasses import dataclass

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.host_function import Evaluate
from clinfer.base.schema import Natural
from clinfer.base.shape import ANY, Shape, StaticShape, show
from clinfer.ops.shape_of import ShapeOf
from clinfer.symbolic.shape_inference import Values
from clinfer.topology import Port, Primitive, SourceNode

_WORDS = 624
"""Of the state of a Mersenne Twister."""


@dataclass(frozen=True)
class TwisterNumbers(Primitive):
    """Random numbers from 0 to 1 by a Mersenne Twister that starts anew in each run, f32 [rows, columns]: as many rows
    as the first number of input 0 says, and as many columns as input 1. Both seeds 0: other ones in each run."""

    global_seed: Natural = 0
    op_seed: Natural = 0

    @property
    def computed_on_host(self) -> bool:
        return True

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return (ElementType.of("f32"),)

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        return ((ANY, ANY),)

    def check_inputs(self, shapes: tuple[StaticShape, ...], values: Values,
                     outputs: tuple[StaticShape, ...]) -> None:
        if values[1].size != 1 or values[1].reshape(-1)[0] < 0:
            raise ClinferError("so many numbers cannot be drawn", where=self.where, values={"given": values[1]})

    def evaluator(self) -> Evaluate:
        seeds = (self.global_seed, self.op_seed)
        start = twister_words(seeds) if any(seeds) else None

        def evaluate(values: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
            words = twister_words((secrets.randbits(32),)) if start is None else start
            generator = np.random.MT19937()
            generator.state = {"bit_generator": "MT19937", "state": {"key": words, "pos": _WORDS}}
            shape = (int(values[0].reshape(-1)[0]), int(values[1].reshape(-1)[0]))
            return ((generator.random_raw(shape).astype(np.float32) / np.float32(2**32 - 1)),)
        return evaluate


def twister_words(seeds: tuple[int, ...]) -> np.ndarray:
    """The first state of a Mersenne Twister, u32 [624], that seeds give as C++'s `std::seed_seq::generate` does."""
    given, count = [seed % 2**32 for seed in seeds], len(seeds)
    words, lag = [0x8B8B8B8B] * _WORDS, 11
    first, second = (_WORDS - lag) // 2, (_WORDS - lag) // 2 + lag

    def mixed(k: int, a: int, b: int) -> int:
        return (a ^ (b >> 27)) * k % 2**32
    for step in range(_WORDS):
        here, left, right = step % _WORDS, (step + first) % _WORDS, (step + second) % _WORDS
        before = words[here] ^ words[left] ^ words[step - 1]
        one = mixed(1664525, before, before)
        added = count if step == 0 else step + given[step - 1] if step <= count else step
        words[left] = (words[left] + one) % 2**32
        words[right] = (words[right] + one + added) % 2**32
        words[here] = (one + added) % 2**32
    for step in range(_WORDS, 2 * _WORDS):
        here, left, right = step % _WORDS, (step + first) % _WORDS, (step + second) % _WORDS
        before = words[here] + words[left] + words[(step - 1) % _WORDS]
        one = mixed(1566083941, before % 2**32, before % 2**32)
        words[left] ^= one
        words[right] ^= (one - here) % 2**32
        words[here] = (one - here) % 2**32
    if not any(words[1:]) and not words[0] >> 31:
        words[0] = 2**31
    return np.array(words, np.uint32)


@dataclass(frozen=True)
class DrawClasses(Primitive):
    """The classes that random numbers (input 1 [n, m], from 0 to 1) draw by their probabilities or, `log_probs`,
    logarithms of these (input 0 [n, c], in any scale). Without `with_replacement` each class is drawn once at most, as
    long as there are others."""

    with_replacement: bool = True
    log_probs: bool = False
    convert_type: str = "i32"

    def output_types(self, input_types: tuple[ElementType, ...]) -> tuple[ElementType, ...]:
        return (ElementType.of(self.convert_type),)

    def infer_shapes(self, shapes: tuple[Shape | None, ...], values: Values) -> tuple[Shape | None, ...]:
        if shapes[0] is not None and len(shapes[0]) != 2:
            raise ClinferError("probabilities need two axes", where=self.where, values={"given": show(shapes[0])})
        return (shapes[1],)


def convert_multinomial(node: SourceNode) -> tuple[Primitive, ...]:
    """The numbers follow from the seeds and from how many there are."""
    given = node.attributes
    sizes = ShapeOf(f"{node.id}/sizes", node.inputs[:1], origin=node.name)
    numbers = TwisterNumbers(f"{node.id}/numbers", (Port(sizes.id), node.inputs[1]), origin=node.name,
                             global_seed=int(given["global_seed"]), op_seed=int(given["op_seed"]))
    return sizes, numbers, DrawClasses(
        node.id, (node.inputs[0], Port(numbers.id)), origin=node.name, log_probs=bool(given["log_probs"]),
        with_replacement=bool(given["with_replacement"]), convert_type=str(given["convert_type"]).lower())
