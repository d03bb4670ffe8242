"""Runs of a loop that only repeat the last one are enqueued together: what they give, and what ends them early."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from openvino import opset13 as ops

from clinfer.base.errors import ClinferError
from clinfer.network import loop_pieces, loops, repetition
from clinfer.network.network import Network
from clinfer.runtime.engine import Engine
from clinfer.runtime.memory import Memory
from clinfer.runtime.rounds import Rounds, can_take_rounds
from tests.network.loop_models import (
    TRUE,
    Rng,
    always,
    doubling,
    floats,
    loop_of,
    run_length,
    run_length_model,
    running_sums,
    scalar,
)
from tests.network.running import check, network_of
from tests.ops.case_runner import execute, give
from tests.oracle import CpuPlugin, assert_close, ov

Executed = list[Network]


@pytest.fixture
def executed(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Executed:
    """The networks that were executed, one after the other."""
    if not can_take_rounds(engine.create_stream(), ()):
        pytest.skip("no C compiler, or launches are joined")
    networks, plain = Executed(), Network.execute
    monkeypatch.setattr(Network, "execute", lambda self, *rest, **named: (
        networks.append(self), plain(self, *rest, **named))[1])
    return networks


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many copies rounds made of each run, by the execution."""
    counts, plain = list[int](), repetition._made_rounds

    def made_rounds(*given: Any) -> Any:
        counts.append(len(given[-1].ahead) + len(given[-1].behind))
        return plain(*given)
    monkeypatch.setattr(repetition, "_made_rounds", made_rounds)
    return counts


def _cells() -> ov.Model:
    """Two states of a cell, one of which is joined too; another result, of two rows, is joined backwards."""
    x, first, second = (ops.parameter(shape, np.float32) for shape in ([2, -1, 6], [2, 6], [2, 6]))
    part, one, other = (ops.parameter(shape, np.float32) for shape in ([2, 1, 6], [2, 6], [2, 6]))
    weights = np.random.default_rng(0).uniform(-1, 1, (12, 6)).astype(np.float32)
    both = ops.concat([ops.squeeze(part, np.array([1])), one], 1)
    told = ops.tanh(ops.matmul(both, ops.constant(weights), False, False))
    kept = ops.add(ops.multiply(other, np.float32(0.5)), ops.multiply(ops.sigmoid(told), one))
    row, doubled = ops.unsqueeze(told, np.array([1])), ops.unsqueeze(ops.abs(kept), np.array([1]))
    iterator = ops.tensor_iterator()
    iterator.set_function(ov.Model([told, kept, row, doubled], [part, one, other]))
    iterator.set_sliced_input(part, x.output(0), 0, 1, 1, -1, 1)
    iterator.set_merged_input(one, first.output(0), told.output(0))
    iterator.set_merged_input(other, second.output(0), kept.output(0))
    return ov.Model([iterator.get_concatenated_slices(row.output(0), 0, 1, 1, -1, 1),
                     iterator.get_concatenated_slices(doubled.output(0), -1, -1, 1, 0, 1),
                     iterator.get_iter_value(kept.output(0), -1)], [x, first, second])


def _numbered() -> ov.Model:
    """The number of the run chooses a row, on the device."""
    trips, x, start = ops.parameter([], np.int64), ops.parameter([-1, 3], np.float32), ops.parameter([1, 3], np.float32)
    number, rows, state = (ops.parameter(shape, kind) for shape, kind in (
        ([], np.int64), ([-1, 3], np.float32), ([1, 3], np.float32)))
    new = ops.add(ops.multiply(state, np.float32(0.5)), ops.unsqueeze(ops.gather(rows, number, np.array(0)), 0))
    loop = loop_of(trips, always(), ov.Model([always(), new], [number, rows, state]), 0)
    loop.set_merged_input(state, start.output(0), new.output(0))
    loop.set_invariant_input(rows, x.output(0))
    return ov.Model([loop.get_iter_value(new.output(0), -1),
                     loop.get_concatenated_slices(new.output(0), 0, 1, 1, -1, 0)], [trips, x, start])


def test_sequences_of_different_lengths(engine: Engine, rng: Rng, executed: Executed) -> None:
    network, oracle = network_of(engine, _cells()), CpuPlugin(_cells())
    for length in (5, 1, 2, 9, 5, 2, 30, 30):
        check(network, oracle, [floats(rng, 2, length, 6), floats(rng, 2, 6), floats(rng, 2, 6)])
    executed.clear()
    for length in (30, 7):
        check(network, oracle, [floats(rng, 2, length, 6), floats(rng, 2, 6), floats(rng, 2, 6)])
    (body,) = network._bodies._networks.values()
    assert executed.count(body) == executed.count(network), "only the first run is one by itself"


def test_the_number_of_the_run_is_read_on_the_device(engine: Engine, rng: Rng, executed: Executed) -> None:
    network, oracle = network_of(engine, _numbered()), CpuPlugin(_numbered())
    for count, rows in ((4, 6), (1, 1), (12, 12), (5, 9), (12, 20)):
        check(network, oracle, [scalar(count), floats(rng, rows, 3), floats(rng, 1, 3)])
    (body,) = network._bodies._networks.values()
    assert executed.count(body) == executed.count(network)
    last, joined = execute(network, [scalar(0), floats(rng, 2, 3), np.ones((1, 3), np.float32)])
    assert_close(last, np.ones((1, 3), np.float32), 0)
    assert joined.size == 0


@pytest.mark.parametrize("most", [1024, 8])
def test_numbers_of_few_runs_are_read_where_they_are(engine: Engine, rng: Rng, executed: Executed, copied: list[int],
                                                     monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(loop_pieces, "_MOST_PLACES", most)
    network, oracle = network_of(engine, _numbered()), CpuPlugin(_numbered())
    for count in (12, 12, 5, 8, 12, 30, 30, 7, 7):
        inputs = [scalar(count), floats(rng, 30, 3), floats(rng, 1, 3)]
        give(network, inputs)
        for got, wanted in zip(network.execute().values(), oracle(inputs), strict=True):
            assert_close(got.to_numpy(), wanted, 1e-5)
    # Of what is joined a row is no piece that a memory may begin at.
    assert copied == ([2, 1, 1, 1, 1, 2, 1, 1, 1] if most == 1024 else [2, 2, 2, 2, 2, 2, 2, 2, 1])


def test_rounds_end_where_the_condition_says_so(engine: Engine, rng: Rng, executed: Executed) -> None:
    network = network_of(engine, run_length_model())
    for trips, limit in ((40, 9.0), (7, 1e9), (-1, 3.0), (40, 9.0), (0, 9.0), (1, 9.0)):
        x = rng.uniform(0, 1, (60, 5)).astype(np.float32)
        x[-1] = 1e6
        inputs = [scalar(trips), TRUE.reshape(()), x, floats(rng, 1, 5), np.array(np.float32(limit))]
        executed.clear()
        for got, wanted in zip(execute(network, inputs), run_length(inputs), strict=True):
            if wanted.size:
                assert_close(got, wanted, 1e-5)
        assert len(executed) <= 2 * executed.count(network)


def test_the_condition_may_be_a_state(engine: Engine, rng: Rng, executed: Executed) -> None:
    network = network_of(engine, doubling(lambda held, new: ops.logical_and(held, ops.reshape(
        ops.less(ops.reduce_max(ops.abs(new), np.array([0, 1]), False), np.float32(100)), np.array([1]), False))))
    for trips in (50, 3, 50):
        x = np.ones((2, 2), np.float32)
        (got,) = execute(network, [scalar(trips), TRUE, x])
        assert_close(got, x * np.float32(2 ** min(trips, 7)), 0)
    assert len(executed) == 2 * executed.count(network)


def test_runs_are_the_same_one_by_one(engine: Engine, rng: Rng, monkeypatch: pytest.MonkeyPatch) -> None:
    x, start = ops.parameter([-1, -1], np.float32), ops.parameter([-1, 1], np.float32)
    model = ov.Model(running_sums(x, start, 1, 1, (True, False)), [x, start])
    networks = [network_of(engine, model) for _ in range(2)]
    for rows, length in ((3, 8), (1, 20), (3, 8)):
        inputs, results = [floats(rng, rows, length), floats(rng, rows, 1)], list[list[np.ndarray]]()
        for network, able in zip(networks, (True, False), strict=True):
            with monkeypatch.context() as patch:
                if not able:
                    patch.setattr(repetition, "can_take_rounds", lambda *_: False)
                results.append(execute(network, inputs))
        for one, other in zip(*results, strict=True):
            np.testing.assert_array_equal(one, other)


def test_what_is_given_stays_as_it_is(engine: Engine, rng: Rng, executed: Executed) -> None:
    network = network_of(engine, _cells())
    inputs = [floats(rng, 2, 9, 6), floats(rng, 2, 6), floats(rng, 2, 6)]
    give(network, inputs)
    for _ in range(3):
        network.execute()
    for name, array in zip(network.program.inputs, inputs, strict=True):
        raw = network.stream.read(network._inputs.given[name].memory).view(np.float32)
        np.testing.assert_array_equal(raw.reshape(array.shape), array)


def _failing(at: int, error: type[BaseException]) -> Callable[[Rounds, int, int], None]:
    plain = Rounds.enqueue

    def enqueue(rounds: Rounds, first: int, last: int) -> None:
        if first >= at:
            raise error("in the middle")
        plain(rounds, first, last)
    return enqueue


@pytest.mark.parametrize("error", [ClinferError, KeyboardInterrupt])
def test_what_fails_in_the_middle_leaves_the_network_usable(engine: Engine, rng: Rng, executed: Executed,
                                                            monkeypatch: pytest.MonkeyPatch,
                                                            error: type[BaseException]) -> None:
    monkeypatch.setattr(loops, "_LAUNCHES_AHEAD", 12)
    network, oracle = network_of(engine, _cells()), CpuPlugin(_cells())
    inputs = [floats(rng, 2, 20, 6), floats(rng, 2, 6), floats(rng, 2, 6)]
    check(network, oracle, inputs)
    for at in (1, 10):
        with monkeypatch.context() as patch:
            patch.setattr(Rounds, "enqueue", _failing(at, error))
            give(network, inputs)
            with pytest.raises(error, match="in the middle"):
                network.execute()
        check(network, oracle, inputs)
        check(network, oracle, [floats(rng, 2, 4, 6), floats(rng, 2, 6), floats(rng, 2, 6)])


def test_arguments_that_cannot_be_restored_are_made_anew(engine: Engine, rng: Rng, executed: Executed,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    network, oracle = network_of(engine, _cells()), CpuPlugin(_cells())
    inputs = [floats(rng, 2, 20, 6), floats(rng, 2, 6), floats(rng, 2, 6)]
    check(network, oracle, inputs)

    def refuse(rounds: Rounds) -> None:
        raise ClinferError("the driver refuses")

    with monkeypatch.context() as patch:
        patch.setattr(Rounds, "restore", refuse)
        give(network, inputs)
        with pytest.raises(ClinferError, match="the driver refuses"):
            network.execute()
    (body,) = network._bodies._networks.values()
    assert not body._bindings.is_whole
    check(network, oracle, inputs)


def test_an_execution_may_be_ended_between_runs(engine: Engine, rng: Rng, executed: Executed,
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "_LAUNCHES_AHEAD", 12)
    network, oracle, calls = network_of(engine, _cells()), CpuPlugin(_cells()), list[int]()
    inputs = [floats(rng, 2, 40, 6), floats(rng, 2, 6), floats(rng, 2, 6)]

    def proceed() -> None:
        calls.append(0)
        if len(calls) == 5:
            raise ClinferError("cancelled")

    give(network, inputs)
    with pytest.raises(ClinferError, match="cancelled"):
        network.execute(proceed=proceed)
    check(network, oracle, inputs)


def test_loops_within_loops(engine: Engine, rng: Rng, executed: Executed) -> None:
    x, start = ops.parameter([-1, 2], np.float32), ops.parameter([1, 2], np.float32)
    trips, part, state = ops.parameter([], np.int64), *(ops.parameter([1, 2], np.float32) for _ in range(2))
    kept, given = ops.parameter([1, 2], np.float32), ops.parameter([1, 2], np.float32)
    more = ops.add(ops.multiply(kept, np.float32(0.5)), given)
    inner = loop_of(ops.constant(6), always(), ov.Model([always(), more], [kept, given]))
    inner.set_merged_input(kept, state.output(0), more.output(0))
    inner.set_invariant_input(given, part.output(0))
    last = ops.tanh(inner.get_iter_value(more.output(0), -1))
    outer = loop_of(trips, always(), ov.Model([always(), last], [part, state]))
    outer.set_sliced_input(part, x.output(0), 0, 1, 1, -1, 0)
    outer.set_merged_input(state, start.output(0), last.output(0))
    model = ov.Model([outer.get_iter_value(last.output(0), -1),
                      outer.get_concatenated_slices(last.output(0), 0, 1, 1, -1, 0)], [trips, x, start])
    network, oracle = network_of(engine, model), CpuPlugin(model)
    for count in (3, 1, 8, 3):
        check(network, oracle, [scalar(count), floats(rng, count, 2), floats(rng, 1, 2)])


def _aligned(backwards: bool = False, gives_slices: bool = False) -> ov.Model:
    """Slices and results that begin where memories may; the state is joined, and with `gives_slices` they are, too."""
    x, start = ops.parameter([-1, 128], np.float32), ops.parameter([1, 128], np.float32)
    part, state = ops.parameter([1, 128], np.float32), ops.parameter([1, 128], np.float32)
    new = ops.add(ops.multiply(state, np.float32(0.5)), part)
    other = ops.relu(ops.subtract(part, state))
    iterator = ops.tensor_iterator()
    iterator.set_function(ov.Model([new, other, *[part] * gives_slices], [part, state]))
    iterator.set_sliced_input(part, x.output(0), *((-1, -1, 1, 0) if backwards else (0, 1, 1, -1)), 0)
    iterator.set_merged_input(state, start.output(0), new.output(0))
    put = (-1, -1, 1, 0, 0) if backwards else (0, 1, 1, -1, 0)
    results = [iterator.get_iter_value(new.output(0), -1), iterator.get_concatenated_slices(new.output(0), *put),
               iterator.get_concatenated_slices(other.output(0), *put)]
    if gives_slices:
        results.append(iterator.get_concatenated_slices(part.output(0), *put))
    return ov.Model(results, [x, start])


@pytest.mark.parametrize("backwards", [False, True])
def test_slices_and_results_stay_where_they_are(engine: Engine, rng: Rng, executed: Executed, copied: list[int],
                                                backwards: bool) -> None:
    if engine.capabilities.buffer_alignment > 512:
        pytest.skip("memories begin at other places")
    network, oracle = network_of(engine, _aligned(backwards)), CpuPlugin(_aligned(backwards))
    for length in (5, 2, 30, 5):
        inputs = [floats(rng, length, 128), floats(rng, 1, 128)]
        wanted = oracle(inputs)
        give(network, inputs)
        copied.clear()
        for _ in range(3):
            for got, expected in zip(network.execute().values(), wanted, strict=True):
                assert_close(got.to_numpy(), expected, 1e-5, f"length {length}")
        assert copied == [3, 0, 0]
        # Other contents of the same memory.
        other = floats(rng, length, 128)
        network.stream.write(network._inputs.given[next(iter(network.program.inputs))].memory, other, blocking=True)
        for got, expected in zip(network.execute().values(), oracle([other, inputs[1]]), strict=True):
            assert_close(got.to_numpy(), expected, 1e-5)
    for memory in (given.memory for given in network._inputs.given.values()):
        memory.release()
    check(network, oracle, inputs)
    network.stream.finish()
    network.release_memory()
    check(network, oracle, inputs)


def test_memory_of_which_there_are_no_parts_is_copied(engine: Engine, rng: Rng, executed: Executed, copied: list[int],
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(memory: Memory, offset: int, nbytes: int) -> Memory:
        raise ClinferError("there are no parts of parts")

    network, oracle = network_of(engine, _aligned()), CpuPlugin(_aligned())
    inputs = [floats(rng, 7, 128), floats(rng, 1, 128)]
    give(network, inputs)
    network.execute()
    monkeypatch.setattr(Memory, "part", refuse)
    for _ in range(3):
        for got, wanted in zip(network.execute().values(), oracle(inputs), strict=True):
            assert_close(got.to_numpy(), wanted, 1e-5)
    assert copied == [3, 3, 3, 3]


def test_what_a_body_gives_of_its_input_is_copied(engine: Engine, rng: Rng, executed: Executed,
                                                  copied: list[int]) -> None:
    network, oracle = network_of(engine, _aligned(gives_slices=True)), CpuPlugin(_aligned(gives_slices=True))
    inputs = [floats(rng, 7, 128), floats(rng, 1, 128)]
    give(network, inputs)
    for _ in range(3):
        for got, wanted in zip(network.execute().values(), oracle(inputs), strict=True):
            assert_close(got.to_numpy(), wanted, 1e-5)
    assert copied == [4, 4, 4]


def test_results_go_to_memory_that_was_given(engine: Engine, rng: Rng, executed: Executed) -> None:
    network, oracle = network_of(engine, _aligned()), CpuPlugin(_aligned())
    inputs = [floats(rng, 9, 128), floats(rng, 1, 128)]
    wanted, names = oracle(inputs), [*network.program.outputs]
    give(network, inputs)
    memories = [{name: engine.allocate_bytes(array.nbytes) for name, array in zip(names, wanted, strict=True)}
                for _ in range(2)]
    for number in (0, 1, 0, 0, 0, 1, 1, 1):
        for memory in memories[number].values():
            network.stream.fill(memory, 0x55)
        network.set_outputs(memories[number])
        for (name, output), expected in zip(network.execute().items(), wanted, strict=True):
            assert output.memory is memories[number][name]
            assert_close(output.to_numpy(), expected, 1e-5)
