"""Products of compressed weights against NumPy in float64.

OpenVINO's CPU plugin is no oracle here: in 2026.4 its results for 4-bit weights in groups of 80 are off by a third.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.quantisation import CODEBOOK_SIZE, Quantisation
from clinfer.base.shape import ANY
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.network import Network
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.matmul import MatMul
from clinfer.program.options import BuildOptions
from clinfer.program.program import Program
from clinfer.runtime.engine import Engine
from clinfer.topology import Constant, Input, Port, Topology
from tests.deferring import Selection
from tests.ops.case_runner import execute
from tests.oracle import TOLERANCE, assert_close

CODED = "codebook"
RANGES = {"u8": (0, 256), "i8": (-128, 128), "u4": (0, 16), "i4": (-8, 8)}


@dataclass(frozen=True)
class Weights:
    """What a product of [.., k] and [k, n] reads; arrays by their names, types by the same."""

    arrays: dict[str, np.ndarray]
    kinds: dict[str, str]
    codebook: tuple[float, ...] = ()

    @staticmethod
    def random(rng: np.random.Generator, kind: str, shape: tuple[int, int], groups: int, transpose: bool,
               scale: str = "f16", zero_point: str | None = None, bias: bool = False) -> Weights:
        """Random weights [k, n] (transposed in memory, if so said), scales, zero points, bias; of kind `CODED` places
        in a codebook of random numbers."""
        k, n = shape
        codebook = rng.standard_normal(CODEBOOK_SIZE).astype(np.float32) if kind == CODED else ()
        kind = "u4" if kind == CODED else kind
        stored = (n, k) if transpose else (k, n)
        if kind in RANGES:
            low, high = RANGES[kind]
            numbers = rng.integers(low, high, stored)
        else:
            low, high, held = -4, 4, ElementType.of(kind)
            numbers = held.decode(held.encode(rng.standard_normal(stored)).reshape(-1), n * k).reshape(stored)
        arrays = {"weights": numbers,
                  "scale": rng.uniform(0.5, 1.5, (groups, n)) / (high - low) / np.sqrt(k)}
        if zero_point is not None:
            arrays["zero_point"] = rng.integers(low, high, (groups, n))
        if bias:
            arrays["bias"] = rng.standard_normal(n)
        kinds = {"weights": kind, "scale": scale, "zero_point": zero_point or "", "bias": "f32"}
        return Weights({name: array.astype(ElementType.of(kinds[name]).numpy) for name, array in arrays.items()}, kinds,
                       tuple(map(float, codebook)))

    def unpacked(self, transpose: bool) -> np.ndarray:
        """[k, n] in float64."""
        stored = self.arrays["weights"]
        matrix = np.array(self.codebook)[stored] if self.codebook else stored.astype(np.float64)
        matrix = matrix.T if transpose else matrix
        size = len(matrix) // len(self.arrays["scale"])
        scale, zero_point = (np.repeat(np.asarray(self.arrays.get(name, 0), np.float64), size, 0)
                             if name in self.arrays else 0.0 for name in ("scale", "zero_point"))
        return np.asarray((matrix - zero_point) * scale)

    def constants(self) -> list[Constant]:
        """The constants of the topology."""
        return [Constant(name, value=array, element_type=ElementType.of(self.kinds[name]))
                for name, array in self.arrays.items()]


def select(selection: Selection, weights: Weights, transpose: bool, kernel: str = "", with_epilogue: bool = False,
           kind: str = "f32", large: bool = False) -> Program:
    """The program of a product that leaves the number of rows open; its kernels are built later."""
    depth, columns = weights.unpacked(transpose).shape
    left = ElementType.of(kind)
    product = MatMul("product", ("x", *weights.arrays), transpose_b=transpose,
                     quantisation=Quantisation(2, 3 if "zero_point" in weights.arrays else None,
                                                weights.codebook))
    primitives = [Input("x", shape=(2, ANY, depth), element_type=left), *weights.constants(), product]
    if with_epilogue:
        primitives += [Input("other", shape=(2, ANY, columns), element_type=left),
                       Eltwise("sum", (Port("product"), Port("other")), mode="Add")]
    options = BuildOptions({"product": ("", kernel)} if kernel else {}, large_indices=large)
    return selection.program(Topology(*primitives), options)


def check_program(program: Program, rng: np.random.Generator, weights: Weights, transpose: bool,
                  rows: tuple[int, ...], is_slow: bool = False, tolerance: float | None = None) -> None:
    """Run what `select` made for these numbers of rows in turn; `is_slow`: the device, on which nothing is executed
    twice; `tolerance`: None, that of the left side's type."""
    unpacked = weights.unpacked(transpose)
    network = Network(program, program.engine.create_stream(), OpenVinoShapeInference())
    left = program.inputs["x"].element_type
    kernels = [each.name for node in program.nodes for each in node.implementations]
    for count in rows:
        arrays = [rng.standard_normal((2, count, len(unpacked))).astype(left.numpy)]
        wanted = arrays[0].astype(np.float64) @ unpacked + weights.arrays.get("bias", np.zeros(1)).astype(np.float64)
        if "other" in program.inputs:
            arrays.append(rng.standard_normal(wanted.shape).astype(left.numpy))
            wanted += arrays[1]
        actual, = execute(network, arrays, [wanted] if is_slow else None)
        assert_close(actual.astype(np.float32), wanted.astype(np.float32), tolerance or TOLERANCE[left.name],
                     f"{kernels} {count} rows")


def check(engine: Engine, rng: np.random.Generator, weights: Weights, transpose: bool, rows: tuple[int, ...],
          kernel: str = "", with_epilogue: bool = False, kind: str = "f32", is_slow: bool = False) -> None:
    """Run one product for these numbers of rows in turn; `is_slow`: see `check_program`."""
    selection = Selection(engine)
    program = select(selection, weights, transpose, kernel, with_epilogue, kind)
    selection.build()
    check_program(program, rng, weights, transpose, rows, is_slow)
