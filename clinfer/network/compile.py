"""From a topology to a program: what builds programs and what runs their constants, put together."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from clinfer.base.errors import ClinferError
from clinfer.kernels.build_progress import BuildProgress, Progress, untold
from clinfer.kernels.contract import Problem
from clinfer.kernels.kernel_cache import LoadedKernels, kernel_cache_of
from clinfer.network.memory.buffers import GrowingBuffer
from clinfer.network.network import Network
from clinfer.program.build import build_program, check_topology
from clinfer.program.constants import ConstantData
from clinfer.program.context import BuildContext
from clinfer.program.heavy_problems import heavy_problems
from clinfer.program.options import BuildOptions
from clinfer.program.program import Program
from clinfer.runtime.engine import Engine
from clinfer.symbolic.shape_inference import ShapeInference
from clinfer.topology import Topology


def compile_topology(engine: Engine, topology: Topology, shape_inference: ShapeInference,
                     options: BuildOptions | None = None, progress: Progress = untold) -> Program:
    """Build the program of a topology for a device; `progress` is told of the kernels that are built for it. Errors:
    ClinferError, see `docs/one_request.md`."""
    return build_program(topology, _context(engine, shape_inference, options or BuildOptions(), progress))


def problems_to_tune(engine: Engine, topology: Topology,
                     shape_inference: ShapeInference) -> list[tuple[str, Problem]]:
    """(primitive's id, static problem) of what takes most of the time of a topology; builds no kernels of it."""
    return list(heavy_problems(topology, _context(engine, shape_inference, BuildOptions(
        skipped_passes=frozenset(["build_kernels"])))))


def refusals(engine: Engine, topologies: Iterable[tuple[str, Topology | ClinferError]],
             shape_inference: ShapeInference) -> dict[str, ClinferError]:
    """By name, why the topologies that are refused cannot be built for a device; builds none of them."""
    context = _context(engine, shape_inference, BuildOptions())
    refused = {}
    for name, topology in topologies:
        try:
            if isinstance(topology, ClinferError):
                raise topology
            check_topology(topology, context)
        except ClinferError as error:
            refused[name] = error
    return refused


def _context(engine: Engine, shape_inference: ShapeInference, options: BuildOptions,
             progress: Progress = untold) -> BuildContext:
    kernels = LoadedKernels(kernel_cache_of(engine), BuildProgress(progress))
    return BuildContext(engine, engine.create_stream(), kernels, shape_inference, options, execute_constants)


def execute_constants(topology: Topology, context: BuildContext) -> dict[str, ConstantData]:
    """Run a topology without inputs once, as an internal network; its outputs stay on the device."""
    program = build_program(topology, replace(context, options=BuildOptions(is_internal=True),
                                              kernels=LoadedKernels(context.kernels.cache, context.kernels.progress)))
    network = Network(program, context.stream, context.shape_inference)
    for name in program.outputs:
        network.set_output(name, GrowingBuffer(context.engine, f"constant {name}"))
    outputs = network.execute()
    context.stream.finish()
    return {name: ConstantData(output.layout, memory=output.memory) for name, output in outputs.items()}
