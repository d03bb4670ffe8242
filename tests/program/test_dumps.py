"""What CLINFER_DUMP and CLINFER_DEBUG write of a build."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clinfer.base.errors import ClinferError
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.softmax import Softmax
from clinfer.program.passes import INTERNAL_PIPELINE, PIPELINE
from clinfer.runtime.engine import Engine
from clinfer.topology import Topology
from tests.program.building import constant, given


def _topology() -> Topology:
    return Topology(given("x", 80, 70), constant("c", np.ones((80, 70), np.float32)), Softmax("folded", ("c",), axis=1),
                    Eltwise("sum", ("x", "folded"), mode="Add"))


def test_every_program_has_its_own_graphs(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINFER_DUMP", str(tmp_path))
    compile_topology(engine, _topology(), OpenVinoShapeInference())
    main, constants = sorted((tmp_path / "graphs").iterdir())
    assert constants.name.endswith("_constants")
    assert [p.stem[3:] for p in sorted(main.iterdir())] == [run.__name__ for run in PIPELINE]
    assert [p.stem[3:] for p in sorted(constants.iterdir())] == [run.__name__ for run in INTERNAL_PIPELINE]
    first, *_, last = (p.read_text(encoding="utf-8") for p in sorted(main.iterdir()))
    assert "folded = Softmax(c) -> f32:bfyx:[80,70]" in first and "output sum = sum" in first
    assert "Softmax" not in last and "sum = Eltwise(x, folded/folded)" in last


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
    for expected in ("building ", "Softmax 'a': softmax", "not softmax_ref: score 0 is below", "source of softmax",
                     "_infer_layouts:\n", "slot 0: a, steps 1 to 2, apart from [1]"):
        assert expected in told
