"""Decoders with state, step by step against NumPy and OpenVINO."""
from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from clinfer.api.core import Core
from clinfer.base.errors import ClinferError
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.kernels.kernel_cache import KernelCache
from clinfer.network import network as network_module
from clinfer.network.foresight import LookAhead
from clinfer.network.memory.memory_pool import MemoryPool
from clinfer.network.plans import node_function
from clinfer.network.plans.node_planner import NodePlanner
from clinfer.network.plans.planner import Planner
from clinfer.network.runner import Runner
from clinfer.ops.concat import Concat
from clinfer.ops.transpose import Transpose
from clinfer.runtime.device import DeviceInfo
from clinfer.runtime.engine import Engine
from clinfer.runtime.megakernels import Megakernels
from clinfer.runtime.stream import Stream
from tests.api.state_models import memory_model
from tests.decoders import F32, ORACLE, Decoder, Reference, Run, Shape, count_calls, error


@pytest.fixture(scope="module", params=[True, False], ids=["fused", "written out"])
def decoder(request: pytest.FixtureRequest) -> Decoder:
    return Decoder(Shape(fused=request.param), np.random.default_rng(7))


@pytest.fixture(scope="module")
def compiled(core: Core, device: DeviceInfo, decoder: Decoder) -> Any:
    return core.compile_model(decoder.model(), device.name, F32)


@pytest.mark.parametrize("batch", [1, 3])
def test_tokens_follow_a_prompt(compiled: Any, decoder: Decoder, batch: int, rng: np.random.Generator) -> None:
    run = Run(compiled, decoder, batch, rng)
    for count in (9, 1, 1, 1, 4, 1, 1, 17, 1, 1):
        run.step(count)
    run.request.reset_state()
    run.reference = Reference(decoder, batch)
    for count in (1, 1, 3, 1):
        run.step(count)


def test_three_hundred_tokens(compiled: Any, decoder: Decoder, rng: np.random.Generator) -> None:
    tokens = rng.integers(decoder.shape.vocabulary, size=(1, 300))
    reference, request, found = Reference(decoder, 1), compiled.create_infer_request(), []
    oracle = ov.Core().compile_model(decoder.model(), "CPU", ORACLE).create_infer_request()
    for token in tokens.T:
        given = reference.feed(token[None])
        found.append(request.infer(given)["logits"])
        # Its rotated positions differ by 1e-4 from float64's.
        assert error(found[-1], oracle.infer(given)["logits"]) < 5e-4
    assert error(np.concatenate(found, 1), reference.logits(300)) < 1e-5


def test_padding_on_the_left(compiled: Any, decoder: Decoder, rng: np.random.Generator) -> None:
    run = Run(compiled, decoder, 3, rng)
    mask = (np.arange(6)[None] >= np.array([0, 2, 5])[:, None]).astype(np.int64)
    given = run.reference.feed(rng.integers(decoder.shape.vocabulary, size=(3, 6)), mask)
    # Rows that see nobody are nothing that anybody reads.
    found, wanted = run.request.infer(given)["logits"], run.reference.logits(6)
    assert error(found[:, -1], wanted[:, -1]) < 1e-4
    for _ in range(3):
        run.step()


def test_beams_are_selected(compiled: Any, decoder: Decoder, rng: np.random.Generator) -> None:
    run = Run(compiled, decoder, 1, rng)
    run.step(5)
    for beams in ([0, 0, 0], [0, 1, 2], [2, 0, 0], [1, 1, 1], [2, 1, 0], [0, 1], [1, 0, 1, 0], [3, 2, 1, 0]):
        run.step(1, np.array(beams))
        run.step(2 if len(beams) == 3 else 1, np.arange(len(beams)))


def test_two_requests_take_turns(compiled: Any, decoder: Decoder, rng: np.random.Generator) -> None:
    runs = [Run(compiled, decoder, 1, rng), Run(compiled, decoder, 3, rng)]
    for each, count in zip(runs, (12, 5), strict=True):
        each.step(count)
    for _ in range(8):
        runs[int(rng.integers(2))].step()


@pytest.mark.parametrize("seed", range(3))
def test_whatever_comes_instead_of_what_is_ready(compiled: Any, decoder: Decoder, rng: np.random.Generator, seed: int,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    """The next token is made ready with each; then anything may happen, also in another request on the same stream."""
    taken = Counter[bool]()
    take = LookAhead.take

    def noted(ahead: LookAhead, *given: Any) -> Any:
        found = take(ahead, *given)
        taken[found is not None] += 1
        return found

    monkeypatch.setattr(LookAhead, "take", noted)
    runs = [Run(compiled, decoder, 2, rng) for _ in range(2)]

    def shorten(run: Run) -> None:
        length = max(run.reference.tokens.shape[1] - 2, 0)
        for state in run.request.query_state():
            state.shorten(length)
        run.reference.tokens, run.reference.mask = run.reference.tokens[:, :length], run.reference.mask[:, :length]

    def reset(run: Run) -> None:
        run.request.reset_state()
        run.reference = Reference(decoder, 2)

    def fail(run: Run) -> None:
        run.step(1)
        given = {**run.reference.feed(np.zeros((2, 1), np.int64)), "beam_idx": np.array([0, 7], np.int32)}
        with pytest.raises(ClinferError):
            run.request.infer(given)
        run.reference.tokens, run.reference.mask = run.reference.tokens[:, :-1], run.reference.mask[:, :-1]

    def select(run: Run) -> None:
        run.step(1)
        run.step(1, rng.integers(2, size=2))
        reset(run)

    def hold_results(run: Run) -> None:
        found = run.step(1)
        kept = found.copy()
        run.step(1)
        assert np.array_equal(found, kept)

    events = [shorten, reset, fail, select, hold_results, lambda run: run.step(3),
              lambda run: [setattr(state, "state", state.state) for state in run.request.query_state()]]
    for _ in range(10):
        for _ in range(int(rng.integers(4, 9))):
            runs[0].step()
        rng.choice(np.array(events, object))(runs[int(rng.integers(2))])
        runs[int(rng.integers(2))].step()
    assert taken[True] > 2 and taken[False] > 5, taken


def test_states_move_between_requests(compiled: Any, decoder: Decoder, rng: np.random.Generator) -> None:
    one, other = Run(compiled, decoder, 3, rng), Run(compiled, decoder, 1, rng)
    one.step(6)
    other.step(2)
    kept, tokens, mask = [s.state for s in one.request.query_state()], one.reference.tokens, one.reference.mask
    assert {tuple(tensor.shape) for tensor in kept} == {(3, 2, 6, 8)}
    one.step(2)
    for run in (one, other):
        for state, tensor in zip(run.request.query_state(), kept, strict=True):
            state.state = tensor
        run.reference.tokens, run.reference.mask, run.batch = tokens, mask, 3
        run.step()
        run.step(3)


def test_openvino_has_the_same_states(compiled: Any, decoder: Decoder, rng: np.random.Generator) -> None:
    oracle = ov.Core().compile_model(decoder.model(), "CPU", ORACLE).create_infer_request()
    request, reference = compiled.create_infer_request(), Reference(decoder, 2)
    for count, beams in ((4, None), (1, None), (1, [1, 0]), (1, [1, 1])):
        given = reference.feed(rng.integers(decoder.shape.vocabulary, size=(2, count)),
                               beams=None if beams is None else np.array(beams))
        assert error(request.infer(given)["logits"], oracle.infer(given)["logits"]) < 5e-4
    theirs = {state.name: state.state.data for state in oracle.query_state()}
    for state in request.query_state():
        assert error(state.state.data, theirs[state.name]) < 5e-4
    # What was taken from OpenVINO goes on here.
    for state in request.query_state():
        state.state = ov.Tensor(theirs[state.name].copy())
    given = reference.feed(np.zeros((2, 1), np.int64))
    assert error(request.infer(given)["logits"], oracle.infer(given)["logits"]) < 5e-4


def fail(*_: Any) -> None:
    raise ClinferError("broken")


def interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def test_runs_that_fail_leave_the_cache(compiled: Any, decoder: Decoder, rng: np.random.Generator,
                                        monkeypatch: pytest.MonkeyPatch) -> None:
    run, original = Run(compiled, decoder, 2, rng), Runner.run
    run.step(3)
    for number, (fault, count, beams) in enumerate((
            (fail, 1, [0, 1]), (interrupt, 40, [0, 1]), (fail, 2, [1, 0]), (interrupt, 1, [1, 1, 0]))):
        before = [state.state.data.copy() for state in run.request.query_state()]
        kept = run.reference.tokens, run.reference.mask

        def late(*arguments: Any, fault: Any = fault) -> None:
            original(*arguments)
            fault()

        with monkeypatch.context() as patch:
            patch.setattr(Runner, "run", late)
            with pytest.raises((ClinferError, KeyboardInterrupt)):
                run.step(count, np.array(beams))
        run.reference.tokens, run.reference.mask = kept
        for state, value in zip(run.request.query_state(), before, strict=True):
            np.testing.assert_array_equal(state.state.data, value)
        run.step(1 + number)


@pytest.mark.parametrize("beams", [[0, 2], [-3, 0]])
def test_beams_that_do_not_exist(compiled: Any, decoder: Decoder, rng: np.random.Generator, beams: list[int]) -> None:
    run = Run(compiled, decoder, 2, rng)
    run.step(3)
    given = Reference(decoder, 2).feed(np.zeros((2, 1), np.int64))
    with pytest.raises(ClinferError, match=r"'beam_idx' selects entries(.|\n)*entries: 2"):
        run.request.infer({**given, "attention_mask": np.ones((2, 4), np.int64), "beam_idx": np.array(beams, np.int32)})
    run.step()


def test_states_of_different_lengths_are_refused(compiled: Any, decoder: Decoder, rng: np.random.Generator) -> None:
    run = Run(compiled, decoder, 1, rng)
    run.step(3)
    state = run.request.query_state()[0]
    kept = state.state
    state.state = ov.Tensor(np.zeros((1, 2, 5, 8), np.float32))
    with pytest.raises(ClinferError, match=r"different lengths(.|\n)*: 5"):
        run.request.infer(Reference(decoder, 1).feed(np.zeros((1, 1), np.int64)))
    state.state = kept
    run.step()


def test_blobs_keep_caches(core: Core, device: DeviceInfo, compiled: Any, decoder: Decoder,
                           rng: np.random.Generator) -> None:
    run = Run(core.import_model(compiled.export_model(), device.name), decoder, 2, rng)
    for beams in (None, None, np.array([1, 0]), None):
        run.step(2, beams)


def test_attention_reads_caches_where_they_lie(compiled: Any, decoder: Decoder) -> None:
    program = compiled.program
    assert [state.grows for state in program.states] == [True] * 4
    assert len({state.sizes for state in program.states}) == 1
    caches = {program.outputs[state.output].tensor for state in program.states}
    readers = {type(node.primitive).__name__ for node in program.nodes if {*node.inputs} & caches}
    assert readers <= {"ScaledDotProductAttention", "ShapeOf"}
    assert not [node for node in program.nodes if type(node.primitive) is Transpose and "read" in node.primitive.id]


def test_nothing_is_made_or_moved_per_token(compiled: Any, decoder: Decoder, rng: np.random.Generator,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    run, allocated, moved = Run(compiled, decoder, 1, rng), [0], [0]
    run.step(20)
    for _ in range(12):
        run.step()
    allocate, copy = Engine.allocate_bytes, Stream.copy

    def count_allocation(*arguments: Any, **named: Any) -> Any:
        allocated[0] += 1
        return allocate(*arguments, **named)

    def count_copy(stream: Stream, source: Any, target: Any, nbytes: int | None = None, *rest: Any) -> None:
        moved[0] += nbytes or 0
        copy(stream, source, target, nbytes, *rest)

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("something is compiled")

    monkeypatch.setattr(Engine, "allocate_bytes", count_allocation)
    monkeypatch.setattr(Stream, "copy", count_copy)
    monkeypatch.setattr(KernelCache, "prepare", never)
    token = decoder.shape.kv_heads * decoder.shape.head * 4 * len(compiled.program.states)
    for _ in range(64):
        run.step()
        copies = [node for node in run.request.dynamic_record.nodes
                  if node.primitive == Concat.__name__ and node.memory == "external"]
        assert all(node.left_out for node in copies)
    # 32 to 96 tokens: with an eighth ahead, each cache moves at most ten times, and not at each token.
    assert allocated[0] <= 10 * len(compiled.program.states) + 8
    assert moved[0] <= 10 * 96 * token


@pytest.mark.parametrize(("settings", "kept", "bound"), [
    ({**F32, "KV_CACHE_PRECISION": "f16"}, "f16", 2 ** -10), ({**F32, "KV_CACHE_PRECISION": "bf16"}, "bf16", 2 ** -7),
    ({**F32, "KV_CACHE_PRECISION": "u8"}, "u8", 2 ** -6),
    ({"INFERENCE_PRECISION_HINT": "f16"}, "f16", 2e-2), ({"INFERENCE_PRECISION_HINT": "bf16"}, "bf16", 4e-2)],
    ids=["f16", "bf16", "u8", "computed in f16", "computed in bf16"])
def test_caches_of_narrow_floats(core: Core, device: DeviceInfo, decoder: Decoder, rng: np.random.Generator,
                                 settings: dict[str, str], kept: str, bound: float) -> None:
    """Twice the rounding of a key or value bounds what it makes of the logits."""
    narrow = core.compile_model(decoder.model(), device.name, settings)
    assert all(state.grows and state.stored_type.name == kept for state in narrow.program.states)
    run, batch = Run(narrow, decoder, 2, rng, bound), np.arange(2)
    for count, beams in ((9, None), (1, None), (1, batch[::-1]), (4, None), (1, None), (1, None)):
        run.step(count, beams)
    states = run.request.query_state()
    assert {str(state.state.element_type) for state in states} == {"<Type: 'float32'>"}
    other = Run(narrow, decoder, 2, rng, bound)
    for source, target in zip(states, other.request.query_state(), strict=True):
        target.state = source.state
        np.testing.assert_allclose(target.state.data, source.state.data, atol=1e-6 if kept == "u8" else 0)
    other.reference = run.reference
    other.step()


def test_attention_reads_narrow_caches(core: Core, device: DeviceInfo, decoder: Decoder,
                                       rng: np.random.Generator) -> None:
    compiled = core.compile_model(decoder.model(), device.name, {**F32, "KV_CACHE_PRECISION": "f16"})
    caches = {compiled.program.outputs[state.output].tensor for state in compiled.program.states}
    readers = {type(node.primitive).__name__ for node in compiled.program.nodes if {*node.inputs} & caches}
    assert readers <= {"ScaledDotProductAttention", "ShapeOf"}
    requests = [each.create_infer_request() for each in (
        compiled, core.compile_model(decoder.model(), device.name, F32))]
    given = Reference(decoder, 1).feed(rng.integers(decoder.shape.vocabulary, size=(1, 64)))
    for request in requests:
        request.infer(given)
    narrow, wide = (request._states.nbytes for request in requests)
    assert wide - 2 * len(caches) <= 2 * narrow <= wide, "but for what rounding sizes down leaves"


def test_caches_are_shortened(compiled: Any, decoder: Decoder, rng: np.random.Generator) -> None:
    run = Run(compiled, decoder, 2, rng)

    def shorten(length: int) -> None:
        for state in run.request.query_state():
            state.shorten(length)

    run.step(9)
    for length in (12, 12, 3, 0):
        run.step(4)
        shorten(length)
        run.reference.tokens, run.reference.mask = run.reference.tokens[:, :length], run.reference.mask[:, :length]
    run.step(2)
    for length in (3, -1):
        with pytest.raises(ClinferError, match="wanted"):
            shorten(length)
    run.step()
    run.request.query_state()[0].shorten(2)
    with pytest.raises(ClinferError, match="different lengths"):
        run.step()


def test_what_does_not_grow_is_not_shortened(core: Core, device: DeviceInfo) -> None:
    request = core.compile_model(memory_model(), device.name, F32).create_infer_request()
    total = next(state for state in request.query_state() if state.name == "sum")
    with pytest.raises(ClinferError, match="does not grow"):
        total.shorten(0)


@pytest.mark.parametrize("decoder", [True], indirect=True, ids=["fused"])
def test_three_hundred_tokens_make_nothing(core: Core, device: DeviceInfo, decoder: Decoder, rng: np.random.Generator,
                                           monkeypatch: pytest.MonkeyPatch) -> None:
    """Once there is memory for a text of that length, and lengths with kernels of their own were seen."""
    # Plans are not made a second time by nodes, which would count.
    monkeypatch.setattr(network_module, "Planner", Planner)
    # The tables of megakernels are made when these are built, whenever that is.
    monkeypatch.setattr(Megakernels, "launch", lambda *_: False)
    request = core.compile_model(decoder.model(), device.name, F32).create_infer_request()
    tokens = rng.integers(decoder.shape.vocabulary, size=(1, 320))
    made: Counter[str] = Counter()

    def generate() -> None:
        request.reset_state()
        reference = Reference(decoder, 1)
        for given in (tokens[:, :20], *tokens[0, 20:, None, None]):
            request.infer(reference.feed(given))
            record = request.dynamic_record
            made.update(plans=record.plans_made, bytes=record.grown_bytes)

    count_calls(monkeypatch, made, [(Engine, "allocate_bytes"), (KernelCache, "prepare"), (NodePlanner, "plan"),
                                    (node_function, "make_tape"), (MemoryPool, "_plan_again"), (Stream, "copy")])
    generate()
    assert made["plans"] and made["bytes"] and made["allocate_bytes"] and made["copy"]
    generate()
    made.clear()
    generate()
    assert not +made
