"""Random models in random settings, beside OpenVINO's CPU plugin."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np

from clinfer.base.errors import ClinferError
from tests.oracle import CpuPlugin, assert_close, ov
from tests.sequences.graphs import CHANNELS, Recipe, build

Infer = Callable[[Sequence[np.ndarray]], Sequence[np.ndarray]]


@dataclass(frozen=True)
class Setting:
    """The free sizes of one inference, the numbers for its value inputs in turn, and the seed of its data."""

    batch: int
    length: int
    width: int
    numbers: tuple[int, ...] = (2,)
    seed: int = 0


@dataclass(frozen=True)
class Inference:
    """Inputs, and OpenVINO's outputs from the dynamic model; None where it refuses them."""

    setting: Setting
    inputs: list[np.ndarray]
    expected: list[np.ndarray] | None


class RandomModel:
    """A recipe's model, its inputs for a setting, and what OpenVINO computes from them."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.model = build(recipe)
        self.values = len(self.model.inputs) - 1
        self._oracle: CpuPlugin | None = None

    def inference(self, setting: Setting) -> Inference:
        """Fresh data, a number for each value, and the answer."""
        sizes = (setting.batch, setting.length, CHANNELS)
        if self.recipe.start == "image":
            sizes = (setting.batch, CHANNELS, setting.length, setting.width)
        data = np.random.default_rng(setting.seed).uniform(-1, 1, sizes).astype(np.float32)
        numbers = (setting.numbers[i % len(setting.numbers)] for i in range(self.values))
        inputs = [data, *(np.array([number], np.int64) for number in numbers)]
        return Inference(setting, inputs, self._expected(inputs))

    def _expected(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray] | None:
        if self._oracle is None:
            self._oracle = CpuPlugin(self.model)
        try:
            return self._oracle(inputs)
        except (RuntimeError, ValueError):
            self._oracle = None
            return None

    def alone(self, inputs: Sequence[np.ndarray]) -> ov.Model:
        """The model for the size of the data and for these values only; its input is the data."""
        model = self.model.clone()
        for parameter, value in zip(model.get_parameters()[1:], inputs[1:], strict=True):
            parameter.output(0).replace(ov.op.Constant(value).output(0))
            model.remove_parameter(parameter)
        model.reshape({0: list(inputs[0].shape)})
        return model

    def check(self, infer: Infer, inference: Inference) -> None:
        """What `infer` gives equals OpenVINO's answer.

        The model for these inputs alone is the judge where the answers differ, because OpenVINO's dynamic one is wrong
        for some tensors without elements. What it refuses, `infer` may refuse as well.
        """
        try:
            results = infer(inference.inputs)
            if inference.expected is not None:
                _compare(results, inference.expected, inference.setting)
        except (ClinferError, AssertionError) as error:
            if isinstance(error, ClinferError) and inference.expected is None:
                return
            alone = self._answer_alone(inference.inputs)
            if alone is not None:
                _compare(infer(inference.inputs), alone, inference.setting)
            elif isinstance(error, AssertionError):
                raise

    def _answer_alone(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray] | None:
        """What the model for these inputs alone gives; None if it is refused."""
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            try:
                return pool.submit(answer_alone, self.recipe, inputs).result(120)
            except (RuntimeError, ValueError):
                return None


def answer_alone(recipe: Recipe, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """What OpenVINO gives for a model that takes these inputs alone; in a process of its own, because OpenVINO
    crashes on some models whose tensors are known to have no elements."""
    return CpuPlugin(RandomModel(recipe).alone(inputs))(inputs[:1])


def _compare(results: Sequence[np.ndarray], expected: Sequence[np.ndarray], setting: Setting) -> None:
    for number, wanted in enumerate(expected):
        assert_close(results[number], wanted, 1e-4, f"{setting} output {number}")
