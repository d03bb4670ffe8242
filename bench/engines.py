"""How each engine loads a model of `bench.models`.

Reading or building the model is not timed. `bench.models` is imported behind the engine, because it brings openvino.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from numpy.typing import NDArray

Arrays = list[NDArray[Any]]


def _no_queue(arrays: Arrays, count: int) -> None:
    raise ValueError("this engine has no queue of requests here")


@dataclass(frozen=True)
class Loaded:
    """A model on an engine: `infer` runs it once, `queued` so many times in as many requests at once as there are
    streams; `compile_s` are the seconds that compiling took."""

    infer: Callable[[Arrays], Arrays]
    compile_s: float
    device: str
    queued: Callable[[Arrays, int], None] = _no_queue


def load(engine: str, model: str, device: str, threads: int, precision: str, streams: int = 1) -> Loaded:
    """The model (a name or a file) on an engine: clinfer, openvino, onnxruntime, torch or torch_compiled."""
    if engine == "onnxruntime":
        return _onnxruntime(model, threads)
    if engine.startswith("torch"):
        return _torch(model, engine == "torch_compiled", precision)
    return _openvino_api(engine, model, device, threads, precision, streams)


def _openvino_api(engine: str, model: str, device: str, threads: int, precision: str, streams: int) -> Loaded:
    module = import_module(engine)
    from bench.models import MODELS

    core = module.Core()
    read = MODELS[model].build() if model in MODELS else core.read_model(model)
    config = {"INFERENCE_PRECISION_HINT": precision} if precision else {}
    if engine == "openvino":
        config |= {"INFERENCE_NUM_THREADS": str(threads)}
    config |= {"PERFORMANCE_HINT": "LATENCY"} if streams == 1 else {"NUM_STREAMS": str(streams)}
    start = time.perf_counter()
    compiled = core.compile_model(read, device, config)
    compile_s = time.perf_counter() - start
    chosen = compiled.get_property("EXECUTION_DEVICES")[0]
    request, queue = compiled.create_infer_request(), module.AsyncInferQueue(compiled, streams)

    def infer(arrays: Arrays) -> Arrays:
        return list(request.infer(arrays).values())

    def queued(arrays: Arrays, count: int) -> None:
        for _ in range(count):
            queue.start_async(arrays, share_inputs=True)
        queue.wait_all()

    return Loaded(infer, compile_s, core.get_property(chosen, "FULL_DEVICE_NAME"), queued)


def _onnxruntime(model: str, threads: int) -> Loaded:
    onnxruntime = import_module("onnxruntime")
    from bench.models import FILES, MODELS

    if model in MODELS and model not in FILES:
        raise ValueError(f"{model} is built with OpenVINO's operations, which ONNX Runtime cannot read")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    path = str(FILES[model]()) if model in FILES else model
    start = time.perf_counter()
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    compile_s = time.perf_counter() - start
    names = [given.name for given in session.get_inputs()]

    def infer(arrays: Arrays) -> Arrays:
        return list(session.run(None, dict(zip(names, arrays, strict=True))))

    return Loaded(infer, compile_s, "CPUExecutionProvider")


def _torch(model: str, compiled: bool, precision: str) -> Loaded:
    torch = import_module("torch")
    kind = {"f16": torch.float16, "f32": torch.float32}[precision]
    torch.manual_seed(0)
    module = _torch_module(model).to("cuda", kind).eval()
    start = time.perf_counter()
    run = torch.compile(module, dynamic=True) if compiled else module
    compile_s = time.perf_counter() - start

    def infer(arrays: Arrays) -> Arrays:
        given = [torch.from_numpy(array).cuda() for array in arrays]
        with torch.inference_mode():
            result = run(*(x.to(kind) if x.is_floating_point() else x for x in given))
        return [x.float().cpu().numpy() for x in (result if isinstance(result, tuple) else (result,))]

    return Loaded(infer, compile_s, torch.cuda.get_device_name())


def _torch_module(model: str) -> Any:
    """The same architecture with weights of its own."""
    if model == "resnet50":
        return import_module("torchvision").models.resnet50(weights=None)
    if model == "bert_base":
        transformers = import_module("transformers")
        return transformers.BertModel(transformers.BertConfig(return_dict=False), add_pooling_layer=False)
    raise ValueError(f"there is no {model} for PyTorch here")
