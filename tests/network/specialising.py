"""What tests of specialisation share: a helper process that is none, models, and a look into networks."""
from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from openvino import opset13 as ops

from clinfer.frontend.reader import to_topology
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.network.plans.plan import Launch
from clinfer.network.plans.plan_cache import SeenPlan
from clinfer.program.program import Program
from clinfer.runtime.builder import build_in_processes
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.engine import Engine
from clinfer.runtime.trial import Trial, TrialResult
from tests.network.running import check
from tests.oracle import CpuPlugin, ov

Timing = Callable[[Trial], TrialResult | None]
FAKE_NS = 20_000


def last_wins(trial: Trial) -> TrialResult:
    """Each candidate is twice as fast as the one before it."""
    count = len(trial.candidates)
    return TrialResult(tuple((FAKE_NS << (count - n),) for n in range(count)))


def first_wins(trial: Trial) -> TrialResult:
    return TrialResult(((10 * FAKE_NS,) * 2,) + ((10 * FAKE_NS, 11 * FAKE_NS),) * (len(trial.candidates) - 1))


class FakeHelper:
    """Stands in for a helper process: builds here, and times as told."""

    timing: Timing = staticmethod(last_wins)
    trials = 0
    gate: threading.Event | None = None

    def __init__(self, device: DeviceInfo, is_in_background: bool = False) -> None:
        self._device = device

    def request(self, message: tuple[Any, ...], timeout: float) -> Any:
        if message[0] == "trial":
            FakeHelper.trials += 1
            if FakeHelper.gate is not None:
                assert FakeHelper.gate.wait(60)
            return FakeHelper.timing(message[1])
        result, = build_in_processes(self._device, [message[1]])
        return result.binary, result.error

    def close(self) -> None:
        pass


def products(rng: np.random.Generator) -> ov.Model:
    """Matrix products with constant weights, one of them behind a fused operation, and a softmax."""
    x = ops.parameter([-1, -1, 32], np.float32)
    first = ops.relu(ops.matmul(x, ops.constant(rng.standard_normal((32, 48)).astype(np.float32)), False, False))
    second = ops.matmul(first, ops.constant(rng.standard_normal((32, 48)).astype(np.float32) / 7), False, True)
    return ov.Model([ops.softmax(ops.add(second, x), -1)], [x])


def convolutions(rng: np.random.Generator) -> ov.Model:
    x = ops.parameter([-1, 16, -1, -1], np.float32)

    def layer(node: ov.Node, *shape: int) -> ov.Node:
        weights = ops.constant(rng.standard_normal(shape).astype(np.float32) / 12)
        return ops.relu(ops.convolution(node, weights, [1, 1], [1, 1], [1, 1], [1, 1]))
    return ov.Model([layer(layer(x, 32, 16, 3, 3), 16, 32, 3, 3)], [x])


def program_of(engine: Engine, model: ov.Model) -> Program:
    return compile_topology(engine, to_topology(model).topology, OpenVinoShapeInference())


def network_of(program: Program, after: int = 1, profiling: bool = False) -> Network:
    return Network(program, program.engine.create_stream(profiling=profiling), OpenVinoShapeInference(), profiling,
                   specialise_after=after)


def seen(network: Network) -> list[SeenPlan]:
    return list(network._plans._plans.values())


def special_launches(network: Network, plan: SeenPlan) -> int:
    """Launches of kernels that the network got after it was made."""
    first = len(network._bindings.kernel_index)
    return sum(isinstance(step, Launch) and step.kernel >= first for step in plan.plan.steps)


def launched(network: Network, plan: SeenPlan) -> set[str]:
    """The names of the kernels that a plan launches."""
    return {network._bindings.implementations[step.kernel].name for step in plan.plan.steps if isinstance(step, Launch)}


def run_all(network: Network, oracle: CpuPlugin, shapes: Sequence[tuple[int, ...]], rng: np.random.Generator) -> None:
    for shape in shapes:
        check(network, oracle, [rng.standard_normal(shape).astype(np.float32)])
