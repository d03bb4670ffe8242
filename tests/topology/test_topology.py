"""Topologies made by hand: what can be wrong with them is said clearly."""
from __future__ import annotations

import pytest

from clinfer.base.errors import ClinferError
from clinfer.ops.softmax import Softmax
from clinfer.topology import Input, Port, Topology


def test_outputs_are_what_nobody_reads() -> None:
    topology = Topology(Softmax("b", ("a",)), Input("a", shape=(1, 3)), Softmax("c", ("a",)))
    assert topology.outputs == {"b": Port("b"), "c": Port("c")}
    assert [p.id for p in topology.sorted()] == ["a", "b", "c"]


def test_a_duplicate_id_is_refused() -> None:
    with pytest.raises(ClinferError, match="two primitives have the id 'a'"):
        Topology(Input("a"), Softmax("a", ("a",)))


def test_a_missing_input_is_named_with_its_reader() -> None:
    with pytest.raises(ClinferError, match="Softmax 'b' reads 'x', which does not exist"):
        Topology(Input("a"), Softmax("b", ("x",))).check()


def test_an_output_that_a_primitive_does_not_have() -> None:
    with pytest.raises(ClinferError, match="Softmax 'b' reads output 1 of Input 'a'"):
        Topology(Input("a"), Softmax("b", (Port("a", 1),))).check()


def test_a_cycle_names_those_on_it() -> None:
    with pytest.raises(ClinferError, match="cycle") as raised:
        Topology(Input("a"), Softmax("b", ("c",)), Softmax("c", ("b",))).check()
    assert raised.value.values == {"primitives on or behind it": "b, c"}
