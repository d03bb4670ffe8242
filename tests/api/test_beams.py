"""Beams of decoders with state: rows of caches that are selected stay in place, and are found by a table."""
from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from clinfer.api.core import Core
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.kernels.kernel_cache import KernelCache
from clinfer.network import network as network_module
from clinfer.network.plans import node_function
from clinfer.network.plans.node_planner import NodePlanner
from clinfer.network.plans.planner import Planner
from clinfer.network.runner import Runner
from clinfer.program.blobs.consistency import check_program
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.engine import Engine
from clinfer.runtime.megakernels import Megakernels
from clinfer.runtime.stream import Stream
from tests.decoders import F32, ORACLE, Decoder, Reference, Run, Shape, count_calls, error

op = ov.opset13


@pytest.fixture(scope="module")
def decoder() -> Decoder:
    return Decoder(Shape(), np.random.default_rng(7))


@pytest.fixture(scope="module")
def compiled(core: Core, device: DeviceInfo, decoder: Decoder) -> Any:
    return core.compile_model(decoder.model(), device.name, F32)


def states(run: Run) -> list[np.ndarray]:
    return [state.state.data.copy() for state in run.request.query_state()]


@pytest.mark.parametrize(("settings", "bound"), [
    (F32, 1e-4), ({**F32, "KV_CACHE_PRECISION": "f16"}, 2 ** -10), ({**F32, "KV_CACHE_PRECISION": "u8"}, 2 ** -5),
    ({"INFERENCE_PRECISION_HINT": "bf16"}, 5e-2)], ids=["f32", "f16 caches", "u8 caches", "bf16"])
@pytest.mark.parametrize("kv_heads", [1, 2, 6])
def test_any_history(core: Core, device: DeviceInfo, rng: np.random.Generator, kv_heads: int,
                     settings: dict[str, str], bound: float) -> None:
    """Rows are selected at random, as many as there are or others, between steps of one token and of several."""
    decoder = Decoder(Shape(kv_heads=kv_heads), np.random.default_rng(7))
    compiled = core.compile_model(decoder.model(), device.name, settings)
    assert len({state.table for state in compiled.program.states}) == 1 and compiled.program.states[0].table
    run = Run(compiled, decoder, 1, rng, bound)
    for rows in (4, 1, 3):
        run.request.reset_state()
        run.reference, run.batch = Reference(decoder, rows), rows
        run.step(7)
        for _ in range(14):
            if rng.integers(5) == 0:
                rows = int(rng.choice([1, 3, 4]))
            beams = rng.integers(run.reference.tokens.shape[0], size=rows)
            run.step(int(rng.choice([1, 1, 1, 5])), beams if rng.integers(4) else None)
            run.batch = run.reference.tokens.shape[0]


def test_openvino_has_the_same_states(compiled: Any, decoder: Decoder, rng: np.random.Generator) -> None:
    oracle = ov.Core().compile_model(decoder.model(), "CPU", ORACLE).create_infer_request()
    request = compiled.create_infer_request()
    for rows in (3, 4, 1):
        request.reset_state()
        oracle.reset_state()
        reference = Reference(decoder, rows)
        for count in (6, 1, 1, 2, 1, 1):
            beams = rng.integers(rows, size=rows) if count < 6 else None
            given = reference.feed(rng.integers(decoder.shape.vocabulary, size=(rows, count)), beams=beams)
            assert error(request.infer(given)["logits"], oracle.infer(given)["logits"]) < 5e-4
            theirs = {state.name: state.state.data for state in oracle.query_state()}
            for state in request.query_state():
                assert error(state.state.data, theirs[state.name]) < 5e-4


def test_nothing_is_moved(compiled: Any, decoder: Decoder, rng: np.random.Generator,
                          monkeypatch: pytest.MonkeyPatch) -> None:
    run, moved = Run(compiled, decoder, 4, rng), 0
    run.step(20)
    single = run.request._states.nbytes

    def count(*_: Any, **__: Any) -> None:
        nonlocal moved
        moved += 1

    monkeypatch.setattr(Stream, "copy_rows", count)
    for beams in ([1, 0, 3, 2], [0, 0, 0, 0], [3, 1, 3, 1], [0, 1, 2, 3]):
        run.step(1, np.array(beams))
    assert not moved
    held = [memory.buffers for memory in run.request._states._memories.values()]
    assert sorted(buffer.nbytes > 0 for pair in held for buffer in pair) == [False] * 4 + [True] * 4
    assert run.request._states.nbytes < 2 * single


def test_runs_that_fail_leave_rows_where_they_are(compiled: Any, decoder: Decoder, rng: np.random.Generator,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    run, original = Run(compiled, decoder, 3, rng), Runner.run
    run.step(3)
    run.step(1, np.array([2, 0, 0]))
    for fault, beams in ((ClinferError("broken"), [1, 0, 2]), (KeyboardInterrupt(), [2, 2, 2]),
                         (ClinferError("broken"), [1, 0])):
        before, kept = states(run), (run.reference.tokens, run.reference.mask)

        def late(*arguments: Any, fault: BaseException = fault) -> None:
            original(*arguments)
            raise fault

        with monkeypatch.context() as patch:
            patch.setattr(Runner, "run", late)
            with pytest.raises((ClinferError, KeyboardInterrupt)):
                run.step(1, np.array(beams))
        run.reference.tokens, run.reference.mask = kept
        for found, wanted in zip(states(run), before, strict=True):
            np.testing.assert_array_equal(found, wanted)
        run.step(1, np.array([0, 2, 1]))


def test_states_that_are_set_begin_a_table_of_their_own(compiled: Any, decoder: Decoder,
                                                        rng: np.random.Generator) -> None:
    """What is set lies in order, what is not set where it did."""
    run = Run(compiled, decoder, 3, rng)
    run.step(4)
    for number, beams in enumerate(([1, 1, 0], [2, 0, 1], [0, 2, 2])):
        run.step(1, np.array(beams))
        before = states(run)
        for state in run.request.query_state()[number:2 * number]:
            state.state = state.state
        for found, wanted in zip(states(run), before, strict=True):
            np.testing.assert_array_equal(found, wanted)
        run.step(1, None if number == 1 else np.array(beams))
    other = Run(compiled, decoder, 3, rng)
    other.step(9, np.array([0, 1, 2]))
    other.step(1, np.array([2, 1, 0]))
    for source, target in zip(run.request.query_state(), other.request.query_state(), strict=True):
        target.state = source.state
    other.reference = run.reference
    other.step(1, np.array([1, 2, 0]))


def test_caches_are_shortened(compiled: Any, decoder: Decoder, rng: np.random.Generator) -> None:
    run = Run(compiled, decoder, 3, rng)
    run.step(5)
    run.step(2, np.array([1, 2, 0]))
    run.step(1, np.array([1, 1, 0]))
    for length in (7, 3, 0):
        for state in run.request.query_state():
            state.shorten(length)
        run.reference.tokens, run.reference.mask = run.reference.tokens[:, :length], run.reference.mask[:, :length]
        run.step(1)
        run.step(3, np.array([2, 2, 1]))


def test_nothing_is_made_per_token(core: Core, device: DeviceInfo, decoder: Decoder, rng: np.random.Generator,
                                   monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_module, "Planner", Planner)
    # The tables of megakernels are made when these are built, whenever that is.
    monkeypatch.setattr(Megakernels, "launch", lambda *_: False)
    request = core.compile_model(decoder.model(), device.name, F32).create_infer_request()
    tokens = rng.integers(decoder.shape.vocabulary, size=(4, 100))
    beams = rng.integers(4, size=(100, 4))
    made: Counter[str] = Counter()

    def generate() -> None:
        request.reset_state()
        reference = Reference(decoder, 4)
        request.infer(reference.feed(tokens[:, :20]))
        for step in range(20, 100):
            request.infer(reference.feed(tokens[:, step:step + 1], beams=beams[step]))
            made.update(plans=request.dynamic_record.plans_made)

    count_calls(monkeypatch, made, [(Engine, "allocate_bytes"), (KernelCache, "prepare"), (NodePlanner, "plan"),
                                    (node_function, "make_tape"), (Stream, "copy"), (Stream, "copy_rows")])
    generate()
    assert made["plans"] and made["allocate_bytes"] and made["copy"]
    generate()
    made.clear()
    generate()
    assert not +made


@pytest.mark.parametrize("order", [(), (2, 1, 0, 3)])
def test_a_blob_whose_states_are_selected_along_another_axis_is_refused(compiled: Any, order: tuple[int, ...]) -> None:
    program = compiled.program
    states = tuple(replace(state, order=order) for state in program.states)
    with pytest.raises(ClinferError, match="selected along another axis"):
        check_program(replace(program, states=states))


# -- caches that are moved --------------------------------------------------------------------------


def _attention(shown: bool, window: int) -> ov.Model:
    """One attention to caches; they are `shown` as an output too, or seen through a window."""
    query, new = (op.parameter([-1, 2, -1, 8], np.float32, name=name) for name in ("query", "new"))
    beams = op.parameter([-1], np.int32, name="beam_idx")
    joined = []
    for row, name in ((new, "key"), (op.sin(new), "value")):
        first = op.broadcast(np.float32(0), op.concat([op.gather(op.shape_of(row), [0], 0), np.array([2, 0, 8])], 0))
        held = op.gather(op.read_value(first, name, ov.Type.f32, ov.PartialShape([-1, 2, -1, 8])), beams, 0)
        joined.append(op.concat([held, row], 2))
    seen = [op.slice(each, [-window], [2 ** 31], [1], [2]) if window else each for each in joined]
    results = [op.scaled_dot_product_attention(query, *seen), *([op.relu(joined[1])] if shown else [])]
    sinks = [op.assign(each, name) for each, name in zip(joined, ("key", "value"), strict=True)]
    return ov.Model([op.result(each) for each in results], sinks, [query, new, beams], "attention")


@pytest.mark.parametrize(("shown", "window", "by_table"), [(False, 0, True), (True, 0, False), (False, 3, False)])
def test_only_attention_reads_by_a_table(core: Core, device: DeviceInfo, rng: np.random.Generator, shown: bool,
                                         window: int, by_table: bool) -> None:
    model = _attention(shown, window)
    compiled = core.compile_model(model, device.name, F32)
    assert [bool(state.table) for state in compiled.program.states] == [by_table] * 2
    request = compiled.create_infer_request()
    oracle = ov.Core().compile_model(model, "CPU", {**ORACLE, "KV_CACHE_PRECISION": "f32"}).create_infer_request()
    for beams in ([0, 1, 2], [1, 1, 0], [2, 0, 1], [0, 1, 2], [2, 1]):
        given = [rng.standard_normal((len(beams), 2, 1, 8)).astype(np.float32) for _ in range(2)]
        given.append(np.array(beams, np.int32))
        found, wanted = request.infer(given), oracle.infer(given)
        for index in range(1 + shown):
            assert error(found[index], wanted[index]) < 1e-5
