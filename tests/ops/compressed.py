"""Products of compressed weights against NumPy in float64.

OpenVINO's CPU plugin is no oracle here: in 2026.4 its results for 4-bit weights in groups of 80 are off by a third.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.quantisation import Quantisation
from clinfer.base.shape import ANY
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.matmul import MatMul
from clinfer.program.options import BuildOptions
from clinfer.program.program import Program
from clinfer.runtime.engine import Engine
from clinfer.topology import Constant, Input, Port, Topology
from tests.ops.case_runner import execute
from tests.oracle import TOLERANCE, assert_close

RANGES = {"u8": (0, 256), "i8": (-128, 128), "u4": (0, 16), "i4": (-8, 8)}


@dataclass(frozen=True)
class Weights:
    """What a product of [.., k] and [k, n] reads; arrays by their names, types by the same."""

    arrays: dict[str, np.ndarray]
    kinds: dict[str, str]

    @staticmethod
    def random(rng: np.random.Generator, kind: str, shape: tuple[int, int], groups: int, transpose: bool,
               scale: str = "f16", zero_point: str | None = None, bias: bool = False) -> Weights:
        """Random weights [k, n] (transposed in memory, if so said), scales, zero points, bias."""
        k, n = shape
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
        return Weights({name: array.astype(ElementType.of(kinds[name]).numpy) for name, array in arrays.items()}, kinds)

    def unpacked(self, transpose: bool) -> np.ndarray:
        """[k, n] in float64."""
        matrix = self.arrays["weights"].astype(np.float64)
        matrix = matrix.T if transpose else matrix
        size = len(matrix) // len(self.arrays["scale"])
        scale, zero_point = (np.repeat(np.asarray(self.arrays.get(name, 0), np.float64), size, 0)
                             if name in self.arrays else 0.0 for name in ("scale", "zero_point"))
        return np.asarray((matrix - zero_point) * scale)

    def constants(self) -> list[Constant]:
        """The constants of the topology."""
        return [Constant(name, value=array, element_type=ElementType.of(self.kinds[name]))
                for name, array in self.arrays.items()]


def check(engine: Engine, rng: np.random.Generator, weights: Weights, transpose: bool, rows: tuple[int, ...],
          kernel: str = "", with_epilogue: bool = False, kind: str = "f32", large: bool = False) -> Program:
    """Run the product for these numbers of rows in turn, of a network that leaves them open; its program."""
    unpacked = weights.unpacked(transpose)
    left = ElementType.of(kind)
    product = MatMul("product", ("x", *weights.arrays), transpose_b=transpose,
                     quantisation=Quantisation(2, 3 if "zero_point" in weights.arrays else None))
    primitives = [Input("x", shape=(2, ANY, len(unpacked)), element_type=left), *weights.constants(), product]
    if with_epilogue:
        primitives += [Input("other", shape=(2, ANY, unpacked.shape[1]), element_type=left),
                       Eltwise("sum", (Port("product"), Port("other")), mode="Add")]
    options = BuildOptions({"product": ("", kernel)} if kernel else {}, large_indices=large)
    program = compile_topology(engine, Topology(*primitives), OpenVinoShapeInference(), options)
    network = Network(program, engine.create_stream(), OpenVinoShapeInference())
    for count in rows:
        arrays = [rng.standard_normal((2, count, len(unpacked))).astype(left.numpy)]
        wanted = arrays[0].astype(np.float64) @ unpacked + weights.arrays.get("bias", np.zeros(1)).astype(np.float64)
        if with_epilogue:
            arrays.append(rng.standard_normal(wanted.shape).astype(left.numpy))
            wanted += arrays[1]
        actual, = execute(network, arrays)
        assert_close(actual.astype(np.float32), wanted.astype(np.float32), TOLERANCE[kind], f"{kernel} {count} rows")
    return program
