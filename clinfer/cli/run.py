"""`clinfer run`: one model, once compiled and twice run, with its inputs, outputs and times."""
from __future__ import annotations

import json
import re
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clinfer.api.arrays import Declared, logical_values
from clinfer.api.compiled_model import CompiledModel
from clinfer.api.core import Core
from clinfer.api.infer_request import InferRequest
from clinfer.api.ports import port_name
from clinfer.base.errors import ClinferError
from clinfer.base.shape import Dim, Shape, StaticShape, show
from clinfer.cli.table import print_table

if TYPE_CHECKING:
    from clinfer.frontend.openvino_import import openvino as ov

_DYNAMIC = 64
"""The size of a dynamic dimension that nobody gave."""


@dataclass(frozen=True)
class Order:
    """What the user asked for, as written on the command line."""

    model: Path
    device: str = "AUTO"
    inputs: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    precision: str = ""
    seed: int = 0
    output: Path | None = None


@dataclass(frozen=True)
class TensorReport:
    """One input or output; the statistics are None where there are no numbers."""

    name: str
    type: str
    shape: StaticShape
    min: float | None
    mean: float | None
    max: float | None


@dataclass(frozen=True)
class Run:
    """What came of it: seconds to compile, milliseconds of the first inference and of the same once more."""

    model: str
    device: str
    device_name: str
    precision: str
    compile_s: float
    first_ms: float
    again_ms: float
    inputs: tuple[TensorReport, ...]
    outputs: tuple[TensorReport, ...]


def run_model(order: Order) -> Run:
    """Carry out an order. Files are read and names are checked before the model is compiled."""
    core = Core()
    model = core.read_model(order.model)
    given = {name: _load(path) for name, path in _by_name(order.inputs, "--input").items()}
    shapes = {name: _parse_shape(text) for name, text in _by_name(order.shapes, "--shape").items()}
    config = {"INFERENCE_PRECISION_HINT": order.precision} if order.precision else {}
    start = time.perf_counter()
    compiled = core.compile_model(model, order.device, config)
    compile_s = time.perf_counter() - start
    inputs = _make_inputs(compiled, given, shapes, np.random.default_rng(order.seed))
    request = compiled.create_infer_request()
    first_ms, again_ms = (_time(lambda: request.infer(inputs)) for _ in range(2))
    if order.output is not None:
        _save(order.output, request)
    device = compiled.get_property("EXECUTION_DEVICES")[0]
    return Run(str(order.model), device, core.get_property(device, "FULL_DEVICE_NAME"),
               compiled.get_property("INFERENCE_PRECISION_HINT").type_name, compile_s, first_ms, again_ms,
               tuple(map(_report, compiled.inputs, request.input_tensors)),
               tuple(map(_report, compiled.outputs, request.output_tensors)))


def print_run(run: Run, as_json: bool) -> None:
    """Print the report as tables or as JSON."""
    if as_json:
        print(json.dumps(asdict(run), indent=2))
        return
    print(f"{run.model} on {run.device} ({run.device_name}), computing in {run.precision}")
    columns = ("name", "type", "shape", "min", "mean", "max")
    print_table("inputs", ("input", *columns[1:]), [_row(t) for t in run.inputs])
    print_table("outputs", ("output", *columns[1:]), [_row(t) for t in run.outputs])
    print(f"compiled in {run.compile_s:.2f} s; first inference {run.first_ms:.2f} ms, again {run.again_ms:.2f} ms")


def _row(tensor: TensorReport) -> tuple[str, ...]:
    numbers = ("-" if n is None else f"{n:.6g}" for n in (tensor.min, tensor.mean, tensor.max))
    return (tensor.name, tensor.type, show(tensor.shape), *numbers)


def _report(port: ov.Output, tensor: ov.Tensor) -> TensorReport:
    array = logical_values(tensor, Declared.of(port, "tensor"))
    statistics: tuple[float | None, ...] = (None, None, None)
    if array.size:
        values = array.astype(np.float64)
        statistics = (float(values.min()), float(values.mean()), float(values.max()))
    return TensorReport(port_name(port), port.element_type.type_name, array.shape, *statistics)


def _by_name(entries: tuple[str, ...], option: str) -> dict[str, str]:
    table = {}
    for entry in entries:
        name, equals, value = entry.rpartition("=")
        if not equals or not name or not value:
            raise ClinferError(f"{option} needs the form NAME=VALUE", where="command line", values={"given": entry})
        table[name] = value
    return table


def _parse_shape(text: str) -> StaticShape:
    if not re.fullmatch(r"\[?\s*(\d+\s*(,\s*\d+\s*)*)?\]?", text):
        raise ClinferError("a shape is written [1,3,48,320]", where="command line", values={"given": text})
    return tuple(int(size) for size in re.findall(r"\d+", text))


def _load(path: str) -> np.ndarray:
    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise ClinferError("an input file cannot be read", where="command line",
                           values={"file": path, "reason": error}, hint="write it with numpy.save") from None
    if not isinstance(array, np.ndarray):
        raise ClinferError("an input file holds more than one array", where="command line", values={"file": path})
    return array


def _make_inputs(compiled: CompiledModel, given: dict[str, np.ndarray], shapes: dict[str, StaticShape],
                 random: np.random.Generator) -> list[np.ndarray]:
    arrays = {compiled.ports.input_index(name): array for name, array in given.items()}
    wanted = {compiled.ports.input_index(name): shape for name, shape in shapes.items()}
    both = sorted(set(arrays) & set(wanted))
    if both:
        raise ClinferError("an input has a file and a shape", where="command line",
                           values={"input": port_name(compiled.inputs[both[0]])}, hint="give one of them")
    for index, port in enumerate(compiled.inputs):
        if index not in arrays:
            declared = Declared.of(port, "input")
            shape = wanted[index] if index in wanted else _default_shape(declared.shape, declared.label)
            declared.check_shape(shape)
            arrays[index] = _random_array(shape, declared.element_type.numpy, random)
    return [arrays[index] for index in range(len(compiled.inputs))]


def _default_shape(declared: Shape | None, label: str) -> StaticShape:
    if declared is None:
        raise ClinferError(f"{label} has no rank of its own", where="command line", hint="give --shape NAME=[...]")
    return tuple(_default_size(size, 1 if axis == 0 else _DYNAMIC) for axis, size in enumerate(declared))


def _default_size(size: int | Dim, wish: int) -> int:
    return min(max(size.low, wish), size.high) if isinstance(size, Dim) else size


def _random_array(shape: StaticShape, dtype: np.dtype, random: np.random.Generator) -> np.ndarray:
    """Uniform in [0, 1) for floats, 0 or 1 for everything else, so that indices stay in range."""
    if dtype.kind == "f":
        return random.random(shape).astype(dtype)
    return random.integers(0, 2, shape).astype(dtype)


def _time(action: Any) -> float:
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1e3


def _save(folder: Path, request: InferRequest) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for index, (port, tensor) in enumerate(zip(request.model_outputs, request.output_tensors, strict=True)):
            name = re.sub(r"[^A-Za-z0-9_.-]+", "_", port_name(port))
            np.save(folder / f"{index}_{name}.npy", logical_values(tensor, Declared.of(port, "output")))
    except OSError as error:
        raise ClinferError("the outputs cannot be written", where="command line",
                           values={"folder": folder, "reason": error}) from None
