"""What CLINFER_DUMP and CLINFER_DEBUG write of a build."""
from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from clinfer.base.errors import ClinferError
from clinfer.base.shape import ANY
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.shape_of import ShapeOf
from clinfer.ops.softmax import Softmax
from clinfer.program import passes
from clinfer.program.context import BuildContext
from clinfer.program.graph import Graph
from clinfer.program.graph_drawing import draw_graph
from clinfer.program.passes import INTERNAL_PIPELINE, PIPELINE
from clinfer.program.passes.infer_layouts import infer_layouts
from clinfer.program.passes.mark_host_nodes import mark_host_nodes
from clinfer.program.passes.select_kernels import select_kernels
from clinfer.runtime.engine import Engine
from clinfer.topology import Topology
from tests.program.building import constant, given, graph_after


def _topology() -> Topology:
    return Topology(given("x", 80, 70), constant("c", np.ones((80, 70), np.float32)), Softmax("folded", ("c",), axis=1),
                    Eltwise("sum", ("x", "folded"), mode="Add"))


def test_every_program_has_its_own_graphs(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINFER_DUMP", str(tmp_path))
    compile_topology(engine, _topology(), OpenVinoShapeInference())
    main, constants = sorted((tmp_path / "graphs").iterdir())
    assert constants.name.endswith("_constants")
    for kind in ("txt", "dot"):
        assert [p.stem[3:] for p in sorted(main.glob(f"*.{kind}"))] == [run.__name__ for run in PIPELINE]
        assert [p.stem[3:] for p in sorted(constants.glob(f"*.{kind}"))] == [run.__name__ for run in INTERNAL_PIPELINE]
    first, *_, last = (p.read_text(encoding="utf-8") for p in sorted(main.glob("*.txt")))
    assert "folded = Softmax(c) -> f32:bfyx:[80,70]" in first and "output sum = sum" in first
    assert "Softmax" not in last and "sum = Eltwise(x, folded/folded)" in last


_STRING = r'"((?:[^"\\]|\\.)*)"'
_NODE = re.compile(rf"  {_STRING} \[(?:label={_STRING}, )?shape=\w+\];")
_EDGE = re.compile(rf"  {_STRING} -> {_STRING} \[label={_STRING}\];")


def test_a_drawing_is_in_the_dot_language(engine: Engine) -> None:
    """Every line is a node or an edge between nodes, whatever the names are."""
    odd = 'a "quoted" \\ name;\n-> [x]'
    topology = Topology(given(odd, ANY, 7), Softmax("soft", (odd,), axis=1), ShapeOf("shape", (odd,)),
                        outputs={"out": "soft", "size": "shape"})
    graph = graph_after(engine, topology, (infer_layouts, mark_host_nodes, select_kernels))
    first, *lines, last = draw_graph(graph).splitlines()
    assert (first, last) == ("digraph program {", "}")
    nodes = [match for line in lines if (match := _NODE.fullmatch(line))]
    edges = [match for line in lines if (match := _EDGE.fullmatch(line))]
    assert len(nodes) + len(edges) == len(lines)
    names = [match[1] for match in nodes]
    quoted = 'a \\"quoted\\" \\\\ name;\\n-> [x]'
    assert names == [quoted, "soft", "shape", "output out", "output size"]
    assert {(match[1], match[2]) for match in edges} == {
        (quoted, "soft"), (quoted, "shape"), ("soft", "output out"), ("shape", "output size")}
    labels = {match[1]: match[2] for match in nodes}
    assert labels["shape"] == "shape\\nShapeOf\\nhost" and labels["soft"].startswith("soft\\nSoftmax\\nsoftmax_")
    assert edges[0][3] == "f32:bfyx:[?,7]"


def test_what_a_pass_breaks_is_told_with_its_name(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def forget_readers(graph: Graph, context: BuildContext) -> None:
        graph._users["x"].clear()
    broken = (*PIPELINE[:3], forget_readers, *PIPELINE[3:])
    monkeypatch.setattr(passes, "PIPELINE", broken)
    with pytest.raises(ClinferError, match=r"'x' does not know its user 'sum'[^$]*where: after pass forget_readers"):
        compile_topology(engine, _topology(), OpenVinoShapeInference())


def test_a_dump_that_cannot_be_written_is_an_error(engine: Engine, tmp_path: Path,
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("CLINFER_DUMP", str(tmp_path / "file"))
    with pytest.raises(ClinferError, match="a dump cannot be written"):
        compile_topology(engine, _topology(), OpenVinoShapeInference())


def test_the_ladder_shows_kernels_graphs_and_slots(engine: Engine, monkeypatch: pytest.MonkeyPatch,
                                                   capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("CLINFER_DEBUG", "6")
    monkeypatch.setenv("CLINFER_CACHE", "0")
    topology = Topology(given("x", 3, 7), Softmax("a", ("x",), axis=1), Softmax("b", ("a",), axis=1))
    compile_topology(Engine(engine.device, engine.capabilities), topology, OpenVinoShapeInference())
    told = capsys.readouterr().err
    for expected in ("building ", "Softmax 'a': softmax", " of softmax_rows", "source of softmax",
                     "_infer_layouts:\n", "slot 0: a, steps 1 to 2, apart from [1]"):
        assert expected in told
