"""A case on a device of clinfer: the dynamic model over sequences of shapes, alone and in threads, and its twins."""
from __future__ import annotations

import re
import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

import clinfer
from clinfer.frontend.conversions import bodies_of
from tests.fuzz.case import Case
from tests.fuzz.graph import build
from tests.node_by_node import NodeByNode, NodeError
from tests.oracle import CpuPlugin, assert_close, ov

CONFIG = {"INFERENCE_PRECISION_HINT": "f32"}
PACKAGE = str(Path(clinfer.__file__).parent)
STAGES = ("dynamic", "threads", "static", "constants")
"""The declared shapes, run forwards and backwards; the same in two threads; the shapes of one setting only; these, and
the numbers of that setting in the place of small inputs of integers."""


@dataclass(frozen=True)
class Outcome:
    """How a case went. `kind`: "fine", "nothing" (there is no case, or OpenVINO refuses the model), "wrong" (other
    values, shapes or types), "error", "crash", "hang", "refused" (as documented: a rank depends on data), or "oracle"
    (the oracle crashed or hung)."""

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
    """Run it in each stage until one finds something. `report` hears what is about to happen."""
    outcome = Outcome("nothing")
    for stage in stages:
        report(f"oracle: build for {stage}")
        variant = case_of(case, stage)
        if variant is None:
            continue
        try:
            model = build(variant.graph)
        except RuntimeError as error:
            outcome = Outcome("nothing", stage, str(error)) if outcome.kind == "nothing" else outcome
            continue
        run = _in_threads if stage == "threads" else _run
        try:
            report(f"clinfer: {stage} compile")
            compiled = _core().compile_model(model, device, {**CONFIG, "NUM_STREAMS": 2 if stage == "threads" else 1})
            report(f"clinfer: {stage} inference")
            told = run(variant, compiled)
        except Exception as error:
            if _is_of_no_rank(error, variant):
                return Outcome("refused", stage, str(error))
            return Outcome("error", stage, f"{type(error).__name__}: {error}", _where(error))
        if told:
            return Outcome("wrong", stage, told)
        outcome = Outcome("fine")
    return outcome


def _is_of_no_rank(error: Exception, case: Case) -> bool:
    """Whether a model is refused because a rank depends on data, and OpenVINO has none for it either when it is given
    the sizes of a setting."""
    if not isinstance(error, clinfer.ClinferError) or "the rank of a tensor depends on data" not in str(error):
        return False
    return any(_has_open_rank(build(case.declared(setting).graph)) for setting in range(case.settings))


def _has_open_rank(model: ov.Model) -> bool:
    return any(any(port.get_partial_shape().rank.is_dynamic for port in node.outputs())
               or any(map(_has_open_rank, bodies_of(node))) for node in model.get_ordered_ops())


def case_of(case: Case, stage: str) -> Case | None:
    """What runs in a stage; None where it has nothing to run."""
    if stage == "constants":
        return case.with_constants()
    return case.largest() if stage == "static" else case


def _run(case: Case, compiled: clinfer.CompiledModel) -> str:
    """All settings forwards and, after the memory was given back, backwards, then from tensors on the device."""
    request = compiled.create_infer_request()
    for order, infer in ((range(case.settings), _infer), (reversed(range(case.settings)), _infer_from_tensors)):
        for setting in order:
            told = _compare(case, infer(request, case.feed(setting)), setting)
            if told:
                return told
        compiled.release_memory()
    return ""


def _infer(request: clinfer.InferRequest, arrays: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
    request.reset_state()
    return request.infer(arrays)


def _infer_from_tensors(request: clinfer.InferRequest, arrays: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
    """Every other input from memory of the device, the others where the arrays lie."""
    request.reset_state()
    context = request.get_compiled_model().get_context()
    for number, array in enumerate(map(np.asarray, arrays)):
        tensor = clinfer.Tensor(array, shared_memory=True) if number % 2 else context.create_tensor(
            request.model_inputs[number].get_element_type(), list(array.shape))
        if not number % 2:
            tensor.copy_from(array)
        request.set_input_tensor(number, tensor)
    return request.infer()


def _in_threads(case: Case, compiled: clinfer.CompiledModel) -> str:
    """Two requests at once, in different orders."""
    told: list[str] = []
    failures: list[BaseException] = []

    def one(order: list[int]) -> None:
        try:
            request = compiled.create_infer_request()
            told.extend(_compare(case, _infer(request, case.feed(setting)), setting) for setting in order)
        except BaseException as error:
            failures.append(error)
    order = [*range(case.settings), *range(case.settings)]
    threads = [threading.Thread(target=one, args=(given,)) for given in (order, order[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return next(filter(None, told), "")


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


def plugin_result(case: Case) -> str:
    """What OpenVINO's CPU plugin makes of the whole model, for who reads a finding."""
    try:
        plugin = CpuPlugin(build(case.graph))
        told = [_compare(case, plugin(case.feed(setting)), setting) for setting in range(case.settings)]
    except Exception as error:
        return f"fails: {str(error).splitlines()[0][:200]}"
    return next(filter(None, told), "gives what is expected")


def _is_sensitive(case: Case, setting: int, number: int, found: np.ndarray) -> bool:
    """Whether rounding, of inputs, constants and what each operation gives, changes this output as much as it differs:
    then nobody can say who is right. An element is rounded by its own size, or by the largest of its tensor, as where
    it is a difference or stands beside what does not matter behind it."""
    if not np.issubdtype(found.dtype, np.floating):
        return False
    difference = np.abs(found.astype(np.float64) - case.expected(setting)[number]).max()
    return any(_moved(case, setting, number, size) * 30 > difference for size in (_own, _largest))


def _moved(case: Case, setting: int, number: int, size: Callable[[np.ndarray], np.ndarray]) -> float:
    """How far rounding by 4e-7 of these sizes moves an output at most."""
    model, rng = build(case.graph), np.random.default_rng(0)

    def rounded(array: np.ndarray) -> np.ndarray:
        if array.dtype != np.float32 or not array.size:
            return array
        return (array + rng.uniform(-4e-7, 4e-7, array.shape) * size(array)).astype(np.float32)
    try:
        exact, rough = (NodeByNode(model, altered)([altered(array) for array in case.feed(setting)])[number].astype(
            np.float64) for altered in (np.asarray, rounded))
    except NodeError:
        return 0
    return float(np.abs(rough - exact).max()) if rough.shape == exact.shape else 0


def _own(array: np.ndarray) -> np.ndarray:
    """Of whole numbers nothing: they are exact, and as exponents they decide whether powers are numbers."""
    return np.where(array == np.round(array), 0, np.abs(array))


def _largest(array: np.ndarray) -> np.ndarray:
    return np.abs(array).max()  # type: ignore[no-any-return]


def _where(error: BaseException) -> str:
    """The innermost place in clinfer that an error came from."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(PACKAGE)]
    if not frames:
        return type(error).__name__
    return f"{type(error).__name__} in {Path(frames[-1].filename).relative_to(PACKAGE)}:{frames[-1].name}"
