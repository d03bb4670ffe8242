"""From a model in memory to what is run: compiled, or taken from the cache."""
from __future__ import annotations

from contextlib import nullcontext

from clinfer.api.compiled_model import CompiledModel
from clinfer.api.config import CompileConfig
from clinfer.api.custom_operations import converters_of
from clinfer.api.model_cache import ModelCache
from clinfer.api.open_ranks import check_ranks_follow, is_open
from clinfer.api.ports import Ports
from clinfer.api.saved_model import ModelParts
from clinfer.base import knobs
from clinfer.base.collector import collects_later
from clinfer.base.errors import ClinferError, OpenRankError, OutOfMemoryError
from clinfer.base.tracing import log
from clinfer.frontend.host_operations import HostOperations
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.reader import SourceModel, single_layers
from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.frontend.states import read_source, separate_states
from clinfer.frontend.transformations import prepare
from clinfer.kernels.build_progress import untold
from clinfer.kernels.kernel_cache import kernel_cache_of
from clinfer.network.compile import compile_topology, refusals
from clinfer.network.plans.trace_ahead import trace_ahead
from clinfer.program.host_layers import host_layers
from clinfer.program.options import BuildOptions
from clinfer.program.program import Program
from clinfer.remote.context import RemoteContext
from clinfer.runtime.engine import Engine

MANY_OPERATIONS = 100
"""Of OpenVINO's; kernels for fewer are built before other processes have started."""


def keeps_blobs(config: CompileConfig) -> bool:
    """Whether compiled models go to a cache."""
    return bool(config.cache_dir) and knobs.cache_enabled()


@collects_later
def compile_read_model(context: RemoteContext, config: CompileConfig, core: ov.Core, model: ov.Model) -> CompiledModel:
    """Compile a model in memory for a context, or take it from the cache. `core` knows the extensions that it uses."""
    engine = context.engine
    blobs = ModelCache(engine, config, core) if keeps_blobs(config) else None
    source = blobs.identify(model) if blobs else None
    if blobs is None or source is None:
        return CompiledModel(compile_parts(engine, model, config, core), context)
    parts, is_cached = blobs.load_or_compile(source, model, lambda: compile_parts(engine, model, config, core))
    return CompiledModel(parts, context, is_cached)


def compile_parts(engine: Engine, model: ov.Model, config: CompileConfig, core: ov.Core) -> ModelParts:
    """Compile a model for an opened device; `config.precision` is decided.

    Errors: ClinferError; OpenRankError if ranks do not follow from what the model declares, but would from shapes.
    """
    if is_open(model):
        raise OpenRankError("ranks of the model's inputs are open", where=f"model {model.friendly_name!r}")
    host = HostOperations(core) if config.host_fallback else None
    try:
        with kernel_cache_of(engine).expecting_builds() if len(model.get_ops()) > MANY_OPERATIONS else nullcontext():
            source, program = _compile_with(engine, model, config, host)
    except OpenRankError:
        check_ranks_follow(engine, model, config.precision, host, converters_of(config))
        raise
    on_host = list(host_layers(program))
    if on_host:
        log(1, f"layers that OpenVINO computes on the host: {'; '.join(on_host)}")
    if knobs.traces_enabled():
        trace_ahead(program, OpenVinoShapeInference())
    return ModelParts(model.friendly_name, program, Ports.of(model), tuple(source.inputs), tuple(source.outputs),
                      config)


def _compile_with(engine: Engine, model: ov.Model, config: CompileConfig,
                  host: HostOperations | None) -> tuple[SourceModel, Program]:
    """What the model becomes. Layers of which only shapes and types tell that no kernel takes them become operations
    of the host in a second attempt."""
    try:
        return _compile(engine, model, config, host)
    except (OpenRankError, OutOfMemoryError):
        raise
    except ClinferError as error:
        if host is None:
            raise
        prepared = prepare(separate_states(model).model, config.precision)
        layered = single_layers(prepared, converters_of(config), host)
        found = refusals(engine, layered, OpenVinoShapeInference())
        layers = [name for name, refusal in found.items() if not isinstance(refusal, OpenRankError)]
        if not layers:
            raise
        log(1, f"compiled again with {', '.join(layers)} on the host: {error}")
        first = error
    try:
        return _compile(engine, model, config, host.including(layers))
    except (OpenRankError, OutOfMemoryError):
        raise
    except ClinferError:
        raise first from None


def _compile(engine: Engine, model: ov.Model, config: CompileConfig,
             host: HostOperations | None) -> tuple[SourceModel, Program]:
    source = read_source(model, config.precision, host, converters_of(config), config.cache_type)
    options = BuildOptions(force_implementations=config.force_implementations, execution_order=config.execution_order)
    return source, compile_topology(engine, source.topology, OpenVinoShapeInference(), options,
                                    config.build_progress or untold)
