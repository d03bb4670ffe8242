"""Loops that cannot run: without end, with slices that do not fit, with results that are not to be had."""
from __future__ import annotations

import numpy as np
import pytest
from openvino import opset13 as ops

from clinfer.base.errors import ClinferError
from clinfer.frontend.reader import to_topology
from clinfer.runtime.engine import Engine
from tests.network.loop_models import TRUE, Condition, Rng, doubling, floats, scalar
from tests.network.running import network_of
from tests.ops.case_runner import execute
from tests.oracle import assert_close, ov


@pytest.mark.parametrize("condition_of", [None, lambda held, new: held])
def test_a_loop_without_end_is_refused(engine: Engine, rng: Rng,
                                       condition_of: Condition | None) -> None:
    network = network_of(engine, doubling(condition_of))
    with pytest.raises(ClinferError, match=r"never end(.|\n)*Loop 'doubling'"):
        execute(network, [scalar(-1), TRUE, floats(rng, 1, 2)])
    (got,) = execute(network, [scalar(2), TRUE, np.ones((1, 2), np.float32)])
    assert_close(got, np.full((1, 2), 4, np.float32), 0)


def test_more_runs_than_slices_are_refused(engine: Engine, rng: Rng) -> None:
    def is_small(held: ov.Node, new: ov.Node) -> ov.Node:
        return ops.less(ops.reduce_max(new, np.array([0, 1]), False), np.float32(1e6))

    for condition_of, trips in ((None, 4), (is_small, -1)):
        network = network_of(engine, doubling(condition_of, slices=True))
        with pytest.raises(ClinferError, match=r"fewer slices than runs(.|\n)*Loop 'doubling'"):
            execute(network, [scalar(trips), TRUE, np.ones((3, 2), np.float32)])
        (got,) = execute(network, [scalar(2), TRUE, np.ones((3, 2), np.float32)])
        assert_close(got, np.full((3, 2), 7, np.float32), 0)


def test_slices_that_do_not_fit_together_are_refused(engine: Engine, rng: Rng) -> None:
    a, b = ops.parameter([-1], np.float32), ops.parameter([-1], np.float32)
    left, right = ops.parameter([2], np.float32), ops.parameter([1], np.float32)
    both = ops.multiply(left, right)
    iterator = ops.tensor_iterator()
    iterator.set_function(ov.Model([both], [left, right]))
    iterator.set_sliced_input(left, a.output(0), 0, 2, 2, -1, 0)
    iterator.set_sliced_input(right, b.output(0), 0, 1, 1, -1, 0)
    network = network_of(engine, ov.Model([iterator.get_concatenated_slices(both.output(0), 0, 2, 2, -1, 0)], [a, b]))
    for sizes, message in (((4, 3), "same number of slices"), ((5, 2), "cannot be cut")):
        with pytest.raises(ClinferError, match=rf"{message}(.|\n)*TensorIterator"):
            execute(network, [floats(rng, size) for size in sizes])
    for pieces in (3, 0, 1):
        x, y = floats(rng, 2 * pieces), floats(rng, pieces)
        (got,) = execute(network, [x, y])
        assert_close(got, x * np.repeat(y, 2), 0)


def test_a_result_of_another_run_is_unsupported() -> None:
    x, part = ops.parameter([4], np.float32), ops.parameter([1], np.float32)
    new = ops.exp(part)
    iterator = ops.tensor_iterator()
    iterator.set_function(ov.Model([new], [part]))
    iterator.set_sliced_input(part, x.output(0), 0, 1, 1, -1, 0)
    model = ov.Model([iterator.get_iter_value(new.output(0), 0)], [x])
    with pytest.raises(ClinferError, match="run other than the last"):
        to_topology(model)
