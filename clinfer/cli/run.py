"""`clinfer run`: one model, once compiled and twice run, with its inputs, outputs and times."""
from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clinfer.api.arrays import Declared, logical_values
from clinfer.api.infer_request import InferRequest
from clinfer.api.ports import port_name
from clinfer.base.errors import ClinferError
from clinfer.base.shape import StaticShape, show
from clinfer.cli.inputs import InputOrder, make_inputs
from clinfer.cli.session import ModelOrder, Session, Subject, milliseconds
from clinfer.cli.table import print_json, print_line, print_table
from clinfer.cli.targets import check_target

if TYPE_CHECKING:
    from clinfer.frontend.openvino_import import openvino as ov


@dataclass(frozen=True)
class TensorReport:
    """One input or output: statistics of its finite values (None without any), and how many are not finite."""

    name: str
    type: str
    shape: StaticShape
    min: float | None
    mean: float | None
    max: float | None
    not_finite: int


@dataclass(frozen=True)
class Run:
    """What came of it: seconds to compile, milliseconds of the first inference and of the same once more."""

    subject: Subject
    compile_s: float
    first_ms: float
    again_ms: float
    inputs: tuple[TensorReport, ...]
    outputs: tuple[TensorReport, ...]


def run_model(order: ModelOrder, inputs: InputOrder, output: Path | None = None) -> Run:
    """Run a model. Inputs are made and checked before it is compiled.

    `output` receives the outputs: one .npz file if that is its suffix, else a folder of .npy files.
    """
    if output is not None:
        check_target(output, is_folder=output.suffix.lower() != ".npz")
    session = Session(order)
    arrays = make_inputs(session.ports, inputs)
    compiled, compile_s = session.compile()
    request = compiled.create_infer_request()
    first_ms, again_ms = (milliseconds(lambda: request.infer(arrays)) for _ in range(2))
    if output is not None:
        _save(output, request)
    return Run(session.subject(compiled), compile_s, first_ms, again_ms,
               tuple(map(_report, compiled.inputs, request.input_tensors)),
               tuple(map(_report, compiled.outputs, request.output_tensors)))


def print_run(run: Run, as_json: bool) -> None:
    """Print the report as tables or as JSON."""
    if as_json:
        report = asdict(run)
        print_json({**report.pop("subject"), **report})
        return
    print_line(str(run.subject))
    columns = ("name", "type", "shape", "min", "mean", "max", "not finite")
    print_table("inputs", ("input", *columns[1:]), [_row(t) for t in run.inputs])
    print_table("outputs", ("output", *columns[1:]), [_row(t) for t in run.outputs])
    print_line(f"compiled in {run.compile_s:.2f} s; first inference {run.first_ms:.2f} ms, "
               f"again {run.again_ms:.2f} ms")


def _row(tensor: TensorReport) -> tuple[str, ...]:
    numbers = ("-" if n is None else f"{n:.6g}" for n in (tensor.min, tensor.mean, tensor.max))
    return (tensor.name, tensor.type, show(tensor.shape), *numbers, str(tensor.not_finite))


def _report(port: ov.Output, tensor: ov.Tensor) -> TensorReport:
    declared = Declared.of(port, "tensor")
    array = logical_values(tensor, declared)
    if declared.element_type.is_on_host_only:
        return TensorReport(port_name(port), port.element_type.type_name, array.shape, None, None, None, 0)
    finite = array[np.isfinite(array)].astype(np.float64)
    low, mean, high = (float(finite.min()), float(finite.mean()), float(finite.max())) if finite.size else (None,) * 3
    return TensorReport(port_name(port), port.element_type.type_name, array.shape, low, mean, high,
                        array.size - finite.size)


def _save(target: Path, request: InferRequest) -> None:
    arrays: dict[str, Any] = {f"{index}_{_file_name(port)}": logical_values(tensor, Declared.of(port, "output"))
              for index, (port, tensor) in enumerate(zip(request.model_outputs, request.output_tensors, strict=True))}
    try:
        if target.suffix.lower() == ".npz":
            target.parent.mkdir(parents=True, exist_ok=True)
            np.savez(target, **arrays)
            return
        target.mkdir(parents=True, exist_ok=True)
        for name, array in arrays.items():
            np.save(target / f"{name}.npy", array)
    except OSError as error:
        raise ClinferError("the outputs cannot be written", where="command line",
                           values={"to": target, "reason": error}) from None


def _file_name(port: ov.Output) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", port_name(port))[:100]
