"""Rows of the operations whose kernels apply fused operations, each with a random chain of element-wise operations
behind it.

Every kernel meets some of its rows, static or as a sequence of shapes, in a random layout or with padding.
"""
from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from functools import lru_cache, partial
from importlib import import_module
from math import erf, sqrt

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.grid import Grid
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.ops.convert import Convert
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.operation import Case
from clinfer.program.options import BuildOptions
from clinfer.runtime.engine import Engine
from clinfer.topology import Port, Topology
from tests.candidates import candidates_of, candidates_of_op, of_kernel, refusals_of
from tests.deferring import Selection
from tests.ops.case_runner import PADDED, ModelOf, Variant, execute, is_unsupported, needs, run_case, topology_of
from tests.ops.epilogues import HOSTS, float_rows, fused_model
from tests.oracle import build_model, parameter_specs, random_inputs
from tests.seeds import FULL, seed_of

ROWS_PER_KERNEL = 8 if FULL else 1
LAYOUTS = {4: ("byxf", "b_fs_yx_fsv16"), 5: ("b_fs_zyx_fsv16",)}
WITHOUT = {"convert_nibbles"}
"""Kernels without an epilogue: fused operations compute floats, and this one writes 4-bit integers."""


def _kernels(op_name: str) -> list[str]:
    """Those of an operation."""
    return [kernel for kernel in candidates_of_op(op_name) if kernel not in WITHOUT]


@pytest.mark.parametrize("op, kernel", [(op, kernel) for op in HOSTS for kernel in _kernels(op)])
def test_a_kernel_applies_fused_operations(engine: Engine, op: str, kernel: str) -> None:
    """In each configuration that it has for some row."""
    chance, done = random.Random(f"{seed_of(kernel)}{kernel}"), Counter[str]()
    rows = _rows(engine, op)
    for case, variant, candidates in chance.sample(rows, len(rows)):
        for name in of_kernel(candidates, kernel):
            if done[name] < ROWS_PER_KERNEL:
                done[name] += _runs(engine, case, replace(variant, kernel=name), _models(op))
    if not done.total():
        pytest.skip("the device cannot run this kernel")


@pytest.mark.parametrize("op, kernel", [(op, kernel) for op in HOSTS for kernel in _kernels(op)])
def test_a_kernel_stores_whole_numbers_of_a_grid(engine: Engine, op: str, kernel: str) -> None:
    """What it stores as floats, rounded to the grid."""
    chance, done = random.Random(f"{seed_of(kernel)}{kernel}"), 0
    for case, variant, candidates in chance.sample(_rows(engine, op), len(_rows(engine, op))):
        names = of_kernel(candidates, kernel)
        if names and not (variant.layout == PADDED or "f64" in str(case)):
            done += _stores_on_grid(engine, case, replace(variant, kernel=chance.choice(names)), _models(op))
        if done == ROWS_PER_KERNEL:
            return
    if not done:
        pytest.skip("the device cannot run this kernel")


def _stores_on_grid(engine: Engine, case: Case, variant: Variant, build: ModelOf) -> bool:
    """Run a row with and without the grid; False if the kernel refuses it: some take no shapes that are not known."""
    topology, grid = topology_of(case, variant, build), Grid(1 / 32, 100)
    (port,) = topology.outputs.values()
    # A kernel is forced on what reads the whole numbers, so that it is not fused as well.
    stored = Topology(*topology, Convert("stored", (port,), destination_type=ElementType.on(grid).name),
                      Convert("floats", ("stored",)), outputs={"floats": Port("floats")})
    options = replace(variant.options(), force_implementations={
        **variant.options().force_implementations, "floats": ("", "convert_ref")})
    inputs = random_inputs(case, tuple(shape for shape, _ in parameter_specs(case)), np.random.default_rng(1))
    try:
        plain_program = compile_topology(engine, topology, OpenVinoShapeInference(), variant.options())
    except ClinferError as error:
        if not is_unsupported(error):
            raise
        return False
    program = compile_topology(engine, stored, OpenVinoShapeInference(), options)
    assert all(node.primitive.id != "stored" for node in program.nodes), f"{case.name} {variant}: not fused"
    plain, rounded = (execute(Network(each, engine.create_stream(), OpenVinoShapeInference()), inputs)[0]
                      for each in (plain_program, program))
    assert np.abs(rounded - grid.floats(grid.whole(plain))).max(initial=0) <= 1.01 * grid.step, f"{case.name} {variant}"
    return True


@lru_cache(maxsize=2)
def _rows(engine: Engine, op: str) -> list[tuple[Case, Variant, list[str]]]:
    """The rows of an operation, how each is run, and the candidates that support it then."""
    chance, selection, rows = random.Random(f"{seed_of(op)}{op}"), Selection(engine), []
    for case in map(_with_elements, float_rows(import_module(f"clinfer.ops.{op}.cases").CASES)):
        if needs(case, engine):
            layout = chance.choice(["", PADDED, *_layouts(case)])
            variant = Variant(bool(case.sequence) and chance.random() < 0.7, "", layout)
            program = selection.program(topology_of(case, variant, _models(op)), variant.options())
            refused = refusals_of(program)
            without = {name for name, reason in refused.items() if reason == "applies no fused operations"}
            assert without <= WITHOUT, f"{case.name} {variant}: {without}"
            rows.append((case, variant, [name for name in candidates_of(program) if name not in refused]))
    return rows


def _with_elements(case: Case) -> Case:
    """Without shapes of no elements: OpenVINO's CPU plugin fuses nothing behind a product of nothing, and says so."""
    return replace(case, sequence=tuple(shapes for shapes in case.sequence if all(map(all, shapes))))


def _models(op: str) -> ModelOf:
    return partial(fused_model, f"{seed_of(op)}")


def _layouts(case: Case) -> list[str]:
    return [name for rank in {len(shape) for shape, _ in parameter_specs(case)} for name in LAYOUTS.get(rank, ())]


def _runs(engine: Engine, case: Case, variant: Variant, build: ModelOf) -> bool:
    """Run a row; False if the kernel refuses it. The chain must be fused, all of it."""
    try:
        program = run_case(engine, case, variant, build)
    except ClinferError as error:
        if not is_unsupported(error):
            raise
        return False
    host = next(node.primitive for node in program.nodes if node.primitive.id == "node")
    left = [node.primitive.id for node in program.nodes if node.kind == "kernel"
            and isinstance(node.primitive, Eltwise) and node.primitive.mode != case.op]
    assert host.fused_ops and not left, f"{case.name} {variant} seed {seed_of(case.name)}: not fused: {left}"
    return True


def test_gelu_of_every_half(engine: Engine) -> None:
    """Near float64, beside what rounding takes; far from 0 it is 0 or the number itself."""
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    halves = every[np.isfinite(every)]
    case = Case("Gelu", "opset7", ((halves.shape, "f16"),))
    inference = OpenVinoShapeInference()
    program = compile_topology(engine, topology_of(case, Variant(), build_model), inference, BuildOptions())
    found = execute(Network(program, engine.create_stream(), inference), [halves])[0].astype(np.float64)
    numbers = halves.astype(np.float64)
    expected = numbers * np.array([0.5 * (1 + erf(number / sqrt(2))) for number in numbers])
    assert np.all(np.abs(found - expected) <= 7.2e-5 * (0.2 + np.abs(numbers)) + 2 ** -11 * np.abs(expected))
    assert np.all(np.abs(found[numbers < -6]) < 2e-6) and np.array_equal(found[numbers > 6], numbers[numbers > 6])
