"""Every implementation that specialisation may choose computes what the one does that serves all shapes."""
from __future__ import annotations

import random
from importlib import import_module

import numpy as np
import pytest

from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.kernels.implementation_cache import TuningResult
from clinfer.kernels.specialisation import TuningTask, rivals
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.network.plans import special_plans
from clinfer.ops.operation import Case
from clinfer.runtime.engine import Engine
from tests.ops.case_runner import Variant, execute, needs, topology_of
from tests.oracle import TOLERANCE, CpuPlugin, assert_close, build_model, parameter_specs, random_inputs
from tests.seeds import seed_of

HEAVY = ("convolution", "deconvolution", "matmul", "sdpa", "softmax")
SAMPLES = 3


class Chosen:
    """A specialiser that at once settles tasks with the n-th candidate, or the last."""

    def __init__(self, number: int) -> None:
        self._number = number
        self.settled = 0

    def give(self, task: TuningTask, result: TuningResult) -> bool:
        found = rivals(task)
        winner = found[min(self._number, len(found) - 1)]
        index = winner.problem.primitive.weights_input
        repack = task.repack(winner.problem.inputs[index]) if task.repack and index is not None else None
        task.kernels.prepare(stage.code for each in (*found, *([repack] if repack else ())) for stage in each.stages)
        result.settle(winner)
        self.settled += 1
        return True


def _rows() -> list[tuple[str, Case]]:
    rows = []
    for op in HEAVY:
        chooser = random.Random(seed_of(op))
        cases = [case for case in import_module(f"clinfer.ops.{op}.cases").CASES if case.sequence]
        rows += [(op, case) for case in chooser.sample(cases, min(SAMPLES, len(cases)))]
    return rows


@pytest.mark.parametrize(("op", "case"), _rows(), ids=lambda value: value if isinstance(value, str) else value.name)
def test_every_candidate_is_right(engine: Engine, monkeypatch: pytest.MonkeyPatch, op: str, case: Case) -> None:
    if not needs(case, engine):
        pytest.skip("the device lacks a type")
    topology = topology_of(case, Variant(dynamic=True))
    program = compile_topology(engine, topology, OpenVinoShapeInference())
    oracle = CpuPlugin(build_model(case, True))
    shapes = list(dict.fromkeys((tuple(shape for shape, _ in parameter_specs(case)), *case.sequence)))
    seed = seed_of(case.name)
    rng = np.random.default_rng(seed)
    worst = max(TOLERANCE.get(kind, 0) for kind in ("f32", *(kind for _, kind in parameter_specs(case))))
    for number in range(1, 6):
        chosen = Chosen(number)
        monkeypatch.setattr(special_plans, "specialiser_of", lambda _, own=chosen: own)
        program.implementations.clear()
        network = Network(program, engine.create_stream(), OpenVinoShapeInference(), specialise_after=1)
        for given in (*shapes, *shapes):
            inputs = random_inputs(case, given, rng)
            for index, (got, wanted) in enumerate(zip(execute(network, inputs), oracle(inputs), strict=True)):
                assert_close(got, wanted, worst, f"{case.name} candidate {number} shapes {given} {index} seed {seed}")
        assert chosen.settled, "the operations are heavy"
