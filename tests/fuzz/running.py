"""A case on a device of clinfer: the dynamic model over a sequence of shapes, and its static twin."""
from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

import clinfer
from tests.fuzz.case import Case
from tests.fuzz.graph import build
from tests.node_by_node import NodeByNode
from tests.oracle import assert_close, ov

CONFIG = {"INFERENCE_PRECISION_HINT": "f32"}
PACKAGE = str(Path(clinfer.__file__).parent)
STAGES = ("dynamic", "static")


@dataclass(frozen=True)
class Outcome:
    """How a case went. `kind`: "fine", "nothing" (there is no case, or OpenVINO refuses the model), "wrong" (other
    values, shapes or types), "error", "crash", "hang", or "oracle" (the oracle crashed or hung)."""

    kind: str
    stage: str = ""
    text: str = ""
    where: str = ""

    @property
    def is_finding(self) -> bool:
        return self.kind in ("wrong", "error", "crash", "hang")

    @property
    def skeleton(self) -> str:
        """What stays the same when the same thing happens in another graph."""
        if self.kind != "error":
            return self.kind
        said = re.sub(r"'[^']*'|\[[^\]]*\]|\([^)]*\)|\b[tx]?\d+\w*|-\d+", "", self.text.split("\n")[0])
        return f"{self.where} {' '.join(said.split())[:80]}"


@lru_cache(maxsize=1)
def _core() -> clinfer.Core:
    return clinfer.Core()


def check(case: Case, device: str, stages: Sequence[str] = STAGES,
          report: Callable[[str], None] = lambda text: None) -> Outcome:
    """Run it. `report` hears what is about to happen."""
    report("oracle: build")
    try:
        model = build(case.graph)
    except RuntimeError as error:
        return Outcome("nothing", "build", str(error))
    if "dynamic" in stages:
        outcome = _run(case, model, device, "dynamic", [*range(case.settings), *reversed(range(case.settings))], report)
        if outcome.is_finding:
            return outcome
    if "static" in stages:
        setting = max(range(case.settings), key=lambda s: sum(a.size for a in case.feed(s)))
        shapes = [array.shape for array in case.feed(setting)]
        try:
            model = build(case.graph, shapes)
        except RuntimeError as error:
            return Outcome("fine", "static", str(error))
        return _run(case, model, device, "static", [setting], report)
    return Outcome("fine")


def _run(case: Case, model: ov.Model, device: str, stage: str, settings: Sequence[int],
         report: Callable[[str], None]) -> Outcome:
    try:
        report(f"clinfer: {stage} compile")
        request = _core().compile_model(model, device, CONFIG).create_infer_request()
        for setting in settings:
            report(f"clinfer: {stage} inference")
            results = request.infer(case.feed(setting))
            told = _compare(case, results, setting)
            if told:
                return Outcome("wrong", stage, told)
    except Exception as error:
        return Outcome("error", stage, f"{type(error).__name__}: {error}", _where(error))
    return Outcome("fine")


def _compare(case: Case, results: Sequence[np.ndarray], setting: int) -> str:
    """What is wrong, or nothing."""
    for number, wanted in enumerate(case.expected(setting)):
        found = results[number]
        try:
            assert found.dtype == wanted.dtype, f"type {found.dtype}, expected {wanted.dtype}"
            assert_close(found, wanted, case.tolerance)
        except AssertionError as error:
            if found.shape == wanted.shape and _is_sensitive(case, setting, number, found):
                continue
            return f"setting {setting}, output {case.graph.outputs[number].name}: {error}"
    return ""


def _is_sensitive(case: Case, setting: int, number: int, found: np.ndarray) -> bool:
    """Whether rounded inputs change this output as much as it differs: then nobody can say who is right."""
    if not np.issubdtype(found.dtype, np.floating):
        return False
    wanted = case.expected(setting)[number].astype(np.float64)
    rng = np.random.default_rng(0)
    moved = [a * (1 + rng.uniform(-4e-7, 4e-7, a.shape)).astype(a.dtype) if a.dtype == np.float32 else a
             for a in case.feed(setting)]
    other = NodeByNode(build(case.graph))(moved)[number].astype(np.float64)
    difference = np.abs(found.astype(np.float64) - wanted).max()
    return bool(other.shape == wanted.shape and np.abs(other - wanted).max() * 30 > difference)


def _where(error: BaseException) -> str:
    """The innermost place in clinfer that an error came from."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(PACKAGE)]
    if not frames:
        return type(error).__name__
    return f"{type(error).__name__} in {Path(frames[-1].filename).relative_to(PACKAGE)}:{frames[-1].name}"
