"""Runs one case row on one device: static or dynamic, with a forced kernel, with inputs in a format."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from clinfer.base.errors import ClinferError
from clinfer.base.format import Format
from clinfer.base.layout import NO_PADDING, Layout, Padding
from clinfer.frontend.precision import narrow_floats
from clinfer.frontend.reader import to_topology
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.network.compile import compile_topology
from clinfer.network.network import Network
from clinfer.ops.operation import Case
from clinfer.ops.reorder import Reorder
from clinfer.program.options import BuildOptions
from clinfer.program.program import Program
from clinfer.runtime.engine import Engine
from clinfer.topology import Input, Port, Primitive, Topology
from tests.node_by_node import NodeByNode
from tests.oracle import TOLERANCE, CpuPlugin, assert_close, build_model, ov, parameter_specs, random_inputs
from tests.seeds import seed_of

ModelOf = Callable[[Case, bool], ov.Model]
Run = tuple[tuple[tuple[int, ...], ...], list[np.ndarray], list[np.ndarray]]
"""The shapes of the inputs, the inputs, and what OpenVINO's plugin gives."""
POISON = 0xA5
PADDED = "padded"


@dataclass(frozen=True)
class Variant:
    """How a row is run. `kernel` empty: the selector's choice. `layout`: the format of the inputs, or
    "padded" for planar inputs and outputs with padding; empty: planar. `half`: computed in f16 what is f32.
    `large`: with indices of 64 bits."""

    dynamic: bool = False
    kernel: str = ""
    layout: str = ""
    half: bool = False
    large: bool = False

    def options(self) -> BuildOptions:
        """The build options that force the kernel, and let it run where nothing had to be done."""
        return BuildOptions({"node": ("", self.kernel)} if self.kernel else {}, frozenset({"alias_buffers"}),
                            large_indices=self.large)

    def __str__(self) -> str:
        mode = "dynamic" if self.dynamic else "static"
        return "-".join(filter(None, (mode, self.kernel, self.layout, "f16" if self.half else "",
                                      "large" if self.large else "")))


def topology_of(case: Case, variant: Variant, build: ModelOf = build_model) -> Topology:
    """The topology of a row, with reorders behind the inputs where the variant asks for a format."""
    model = build(case, variant.dynamic)
    if variant.half:
        narrow_floats(model, "f16")
    topology = to_topology(model).topology
    if not variant.layout:
        return topology
    reorders = {Port(p.id): _reorder(p, variant.layout) for p in topology.inputs if _fits(p, variant.layout)}
    primitives: list[Primitive] = []
    for primitive in topology:
        read = tuple(Port(reorders[p].id) if p in reorders else p for p in primitive.inputs)
        padding = primitive.output_padding
        if variant.layout == PADDED and [Port(primitive.id)] == list(topology.outputs.values()):
            padding = _padding(len(model.output(0).partial_shape))
        primitives.append(replace(primitive, inputs=read, output_padding=padding))
        if Port(primitive.id) in reorders:
            primitives.append(reorders[Port(primitive.id)])
    return Topology(*primitives, outputs=topology.outputs)


def _fits(declared: Input, layout: str) -> bool:
    return declared.shape is not None and (layout == PADDED or Format.of(layout).fits(len(declared.shape)))


def _reorder(declared: Input, layout: str) -> Reorder:
    rank = len(declared.shape or ())
    fmt = Format.planar(rank) if layout == PADDED else Format.of(layout)
    padding = _padding(rank) if layout == PADDED else NO_PADDING
    return Reorder(f"{declared.id}/{layout}", (declared.id,), output_padding=padding, format=fmt.name)


def _padding(rank: int) -> Padding:
    return Padding((1,) * rank, (2,) * rank)


def run_case(engine: Engine, case: Case, variant: Variant, build: ModelOf = build_model,
             is_slow: bool = False) -> Program:
    """Run a row and compare with the oracle; `build` makes its model (the same one each time). Returns what ran.
    `is_slow`: see `RowJudge.check`."""
    program = compile_topology(engine, topology_of(case, variant, build), OpenVinoShapeInference(), variant.options())
    RowJudge(case, build).check(program, variant, is_slow)
    return program


def check_program(program: Program, case: Case, variant: Variant, build: ModelOf = build_model) -> None:
    """Run the program of a row and compare with OpenVINO's plugin."""
    RowJudge(case, build).check(program, variant)


class RowJudge:
    """Compares programs of a row with OpenVINO's plugin, which is asked once for all of them. Where they differ, what
    the operations give one by one decides: the plugin is wrong for some chains."""

    def __init__(self, case: Case, build: ModelOf = build_model) -> None:
        self._case, self._build = case, build
        self._oracles: dict[bool, tuple[ov.Model, CpuPlugin]] = {}
        self._runs: dict[tuple[bool, bool], list[Run]] = {}

    def check(self, program: Program, variant: Variant, is_slow: bool = False) -> None:
        """Run the program, the way a row of its variant is; on a device that `is_slow` each shape once, and else again
        with memory of the network's own before."""
        network = Network(program, program.engine.create_stream(), OpenVinoShapeInference())
        types = [t for _, t in parameter_specs(self._case)] + ["f16"] * variant.half
        for shapes, inputs, expected in self._runs_of(variant.dynamic, variant.half):
            actual = execute(network, inputs, expected if is_slow else None)
            for index, (got, wanted) in enumerate(zip(actual, expected, strict=True)):
                kind = list(program.outputs.values())[index].layout.element_type.name
                worst = max(TOLERANCE.get(k, 0) for k in (kind, *types))
                what = f"{self._case.name} {variant} shapes {shapes} output {index} seed {seed_of(self._case.name)}"
                try:
                    assert_close(got, wanted, worst, what)
                except AssertionError:
                    assert_close(got, NodeByNode(self._oracle(variant.dynamic)[0])(inputs)[index], worst, what)

    def _runs_of(self, dynamic: bool, half: bool) -> list[Run]:
        if (dynamic, half) not in self._runs:
            case, (_, plugin) = self._case, self._oracle(dynamic)
            rng, base = np.random.default_rng(seed_of(case.name)), tuple(shape for shape, _ in parameter_specs(case))
            runs = self._runs[dynamic, half] = []
            for shapes in (base, *case.sequence, base) if dynamic else (base,):
                inputs = random_inputs(case, shapes, rng)
                if half:
                    inputs = [a.astype(np.float16).astype(a.dtype) if a.dtype == np.float32 else a for a in inputs]
                runs.append((shapes, inputs, plugin(inputs)))
        return self._runs[dynamic, half]

    def _oracle(self, dynamic: bool) -> tuple[ov.Model, CpuPlugin]:
        if dynamic not in self._oracles:
            model = self._build(self._case, dynamic)
            self._oracles[dynamic] = model, CpuPlugin(model)
        return self._oracles[dynamic]


def refusal_of(error: ClinferError, kernel: str) -> str:
    """What a forced kernel has against a problem, in one of its configurations."""
    return next(str(reason) for name, reason in error.values.items() if name.startswith(kernel))


def give(network: Network, inputs: Sequence[np.ndarray]) -> None:
    """Set the inputs of a network, in memory of their own."""
    engine, stream = network.program.engine, network.stream
    for (name, declared), array in zip(network.program.inputs.items(), inputs, strict=True):
        layout = Layout.planar(array.shape, declared.element_type)
        memory = engine.allocate_memory(layout)
        if layout.byte_size:
            stream.write(memory, layout.pack(array), blocking=True)
        network.set_input(name, memory, array.shape, array)


def execute(network: Network, inputs: Sequence[np.ndarray],
            like: Sequence[np.ndarray] | None = None) -> list[np.ndarray]:
    """One execution from arrays to arrays, with poisoned output memory: as large as arrays `like` the results, or, if
    none are given, as an execution before tells."""
    engine, stream = network.program.engine, network.stream
    give(network, inputs)
    if like is None:
        sizes = {name: output.layout.byte_size for name, output in network.execute().items()}
    else:
        sizes = {name: output.layout.with_shape(array.shape).byte_size
                 for (name, output), array in zip(network.program.outputs.items(), like, strict=True)}
    for name, size in sizes.items():
        poisoned = engine.allocate_bytes(size)
        stream.fill(poisoned, POISON)
        network.set_output(name, poisoned)
    results = [output.to_numpy() for output in network.execute().values()]
    for name in network.program.outputs:
        network.set_output(name, None)
    return results


def is_refusal(error: Exception, variant: Variant) -> bool:
    """Whether a variant's forced kernel refused the row, which is no failure."""
    return bool(variant.kernel) and isinstance(error, ClinferError) and is_unsupported(error)


def is_unsupported(error: ClinferError) -> bool:
    """Whether a forced kernel refused the row, which is no failure."""
    return "forced kernel" in error.what or "no kernel supports" in error.what


def needs(case: Case, engine: Engine) -> bool:
    """Whether the device has what the row's types need."""
    types = {kind for _, kind in parameter_specs(case)} | {str(case.attributes.get("destination_type", ""))}
    return "f64" not in types or engine.capabilities.fp64


