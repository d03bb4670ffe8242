"""Whole networks on a GPU beside PyTorch's engines, at f16: wall time of one inference, inputs and outputs on the GPU.

For a machine with PyTorch for CUDA, torchvision and transformers. The same modules, of seeded weights, are converted by
`openvino.convert_model`. Every engine runs in a process of its own; a row is one network and batch. clinfer's call is
`start_async()` and `queue.finish()` on remote tensors, PyTorch's a call and `torch.cuda.synchronize()`. Errors are
relative to PyTorch at f32, by the norm of the difference; beside clinfer's that of PyTorch at f16 is shown.

    python -m bench.gpu [--networks resnet50,bert,vit] [--batches 1,32] [--engines clinfer,eager,graph,compiled]
                        [--profile] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

NETWORKS = {"resnet50": 8.2e9, "bert": 22.0e9, "vit": 35.1e9}
"""Floating-point operations of one picture, or of a sentence of 128 tokens."""
ENGINES = ("clinfer", "eager", "graph", "compiled")
_WARM_S, _TIMED, _QUEUED = 4.0, 100, 30
Call = Callable[[], object]


def network(name: str) -> Any:
    """A network of torchvision or transformers with seeded weights, at f32 on the host."""
    torch = import_module("torch")

    torch.manual_seed(0)
    if name == "bert":
        transformers = import_module("transformers")

        class Encoded(torch.nn.Module):  # type: ignore[name-defined]
            """The last hidden state; without a mask, which would keep attention off PyTorch's fast path."""

            def __init__(self) -> None:
                super().__init__()
                config = transformers.BertConfig(attn_implementation="sdpa")
                self.bert = transformers.BertModel(config, add_pooling_layer=False)

            def forward(self, ids: Any) -> Any:
                return self.bert.encoder(self.bert.embeddings(input_ids=ids), attention_mask=None).last_hidden_state

        return Encoded().eval()
    torchvision = import_module("torchvision")

    module = getattr(torchvision.models, {"vit": "vit_b_16"}.get(name, name))()
    if name == "vit":
        torch.nn.init.normal_(module.heads.head.weight, std=0.02)  # torchvision's head is all zeros
    return _with_statistics(module).eval()


def _with_statistics(module: Any) -> Any:
    """Batch norms with the statistics of random pictures: without, activations of random weights leave f16's range."""
    torch = import_module("torch")

    for part in module.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            part.momentum = None
    with torch.no_grad():
        module.train()(torch.randn(4, 3, 224, 224))
    return module


def inputs(name: str, batch: int) -> Any:
    """One input of a network, at f32 or of token numbers, on the host."""
    torch = import_module("torch")

    random = torch.Generator().manual_seed(1)
    if name == "bert":
        return torch.randint(0, 30000, (batch, 128), generator=random)
    return torch.randn((batch, 3, 224, 224), generator=random)


def wall_ms(call: Call, warm_s: float = _WARM_S) -> dict[str, float]:
    """Milliseconds of a call that waits until all is done: median, and the slowest in ten. It is called for so many
    seconds before, in which an engine may build what it builds beside the first calls."""
    start = time.perf_counter()
    while time.perf_counter() - start < warm_s:
        call()
    times = []
    for _ in range(_TIMED):
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return {"wall_ms": statistics.median(times), "p90_ms": statistics.quantiles(times, n=10)[-1]}


def queued_ms(begin: Call, wait: Call) -> float:
    """Milliseconds of a call among many that are queued back to back."""
    wait()
    start = time.perf_counter()
    for _ in range(_QUEUED):
        begin()
    wait()
    return 1e3 * (time.perf_counter() - start) / _QUEUED


def relative_error(result: np.ndarray, name: str, batch: int) -> float:
    """The norm of the difference to PyTorch at f32 over that of its result."""
    torch = import_module("torch")

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    with torch.inference_mode():
        expected = network(name).cuda()(inputs(name, batch).cuda()).double().cpu().numpy()
    return float(np.linalg.norm(result - expected) / np.linalg.norm(expected))


def measure_clinfer(name: str, batch: int, profiled: bool) -> dict[str, Any]:
    """clinfer's figures; `kernels`: microseconds and launches by kernel, of a run with events."""
    openvino, torch = import_module("openvino"), import_module("torch")
    import clinfer

    given = inputs(name, batch)
    with torch.no_grad():
        model = openvino.convert_model(network(name), example_input=given)
    model.reshape({model.input(0): [-1, *given.shape[1:]]})
    core = clinfer.Core()
    if profiled:
        return {"kernels": kernels(core, model, given.numpy())}
    begin, wait, result, compile_s = remote_calls(core, model, given.numpy())

    def call() -> None:
        begin()
        wait()

    figures = wall_ms(call)
    return {**figures, "queued_ms": queued_ms(begin, wait), "compile_s": compile_s,
            "device": core.get_property("GPU", "FULL_DEVICE_NAME"),
            "error": relative_error(result.astype(np.float64), name, batch)}


def remote_calls(core: Any, model: Any, given: np.ndarray) -> tuple[Call, Call, np.ndarray, float]:
    """What begins an inference of a model at f16 on the GPU, whose input and result lie there, what waits until all is
    done, the result of the first one, and the seconds of compiling."""
    import pyopencl as cl

    import clinfer

    queue = cl.CommandQueue(core.get_default_context("GPU").get())
    context = clinfer.ClContext(core, queue)
    start = time.perf_counter()
    compiled = core.compile_model(model, context, {"INFERENCE_PRECISION_HINT": "f16"})
    compile_s = time.perf_counter() - start
    request = compiled.create_infer_request()
    held = context.create_tensor(compiled.inputs[0].get_element_type(), list(given.shape))
    held.copy_from(given)
    request.set_input_tensor(held)
    request.infer()
    result = np.array(request.get_output_tensor(0).data)
    request.set_output_tensor(context.create_tensor(compiled.outputs[0].get_element_type(), list(result.shape)))

    def begin() -> None:
        request.set_input_tensor(held)
        request.start_async()

    return begin, queue.finish, result, compile_s


def kernels(core: Any, model: Any, given: np.ndarray) -> dict[str, tuple[float, int]]:
    """Microseconds and launches by kernel (`by_kernel`) of a model at f16 on the GPU."""
    compiled = core.compile_model(model, "GPU", {"INFERENCE_PRECISION_HINT": "f16", "PERF_COUNT": True})
    request = compiled.create_infer_request()
    for _ in range(5):
        request.infer([given])
    return by_kernel(request)


def by_kernel(request: Any) -> dict[str, tuple[float, int]]:
    """Microseconds and launches of a request's last inference by kernel, the longest first."""
    times: Counter[str] = Counter()
    launches: Counter[str] = Counter()
    for node in request.get_profiling_info():
        if node.real_time.total_seconds() > 0:
            times[node.exec_type] += node.real_time.total_seconds() * 1e6
            launches[node.exec_type] += 1
    return {kernel: (round(us, 1), launches[kernel]) for kernel, us in times.most_common()}


def measure_torch(engine: str, name: str, batch: int) -> dict[str, Any]:
    """PyTorch's figures: eager, eager kernels in a CUDA graph, or compiled with CUDA graphs and frozen weights."""
    torch = import_module("torch")

    given = inputs(name, batch).cuda()
    module = network(name).half().cuda()
    if given.is_floating_point():
        given = given.half().to(memory_format=torch.channels_last)
        module = module.to(memory_format=torch.channels_last)
    start = time.perf_counter()
    with torch.no_grad():
        run = {"eager": lambda: lambda: module(given), "graph": lambda: captured(module, given),
               "compiled": lambda: _compiled(module, given)}[engine]()
        result = run().double().cpu().numpy()
        torch.cuda.synchronize()
        compile_s = time.perf_counter() - start

        def call() -> None:
            run()
            torch.cuda.synchronize()

        figures = wall_ms(call)
        queued = queued_ms(run, torch.cuda.synchronize)
    return {**figures, "queued_ms": queued, "compile_s": compile_s, "device": torch.cuda.get_device_name(),
            "error": relative_error(result, name, batch)}


def captured(module: Any, given: Any) -> Callable[[], Any]:
    """A call that replays a CUDA graph of a PyTorch module."""
    torch = import_module("torch")

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        module(given)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = module(given)

    def run() -> Any:
        graph.replay()
        return result

    return run


def _compiled(module: Any, given: Any) -> Callable[[], Any]:
    torch = import_module("torch")
    import_module("torch._inductor.config").freezing = True  # type: ignore[attr-defined]
    compiled = torch.compile(module, mode="reduce-overhead")
    return lambda: compiled(given)


def in_own_process(arguments: Sequence[str]) -> dict[str, Any]:
    """What a process of this module prints; an error as {"failed": its last line}."""
    done = subprocess.run([sys.executable, "-m", "bench.gpu", "--one", *arguments], capture_output=True, text=True)
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        return {"failed": (done.stderr.strip().splitlines() or ["no output"])[-1]}
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def tell(name: str, batch: int, found: dict[str, dict[str, Any]]) -> str:
    """One row: wall milliseconds of each engine, clinfer's over the best peer's, and what it computes a second."""
    def shown(engine: str) -> str:
        figures = found.get(engine, {})
        return f"{figures['wall_ms']:.3f}" if "wall_ms" in figures else figures.get("failed", "")[:40]

    own = found.get("clinfer", {})
    peers = [figures["wall_ms"] for engine, figures in found.items() if engine != "clinfer" and "wall_ms" in figures]
    if "wall_ms" not in own:
        return f"| {name} b{batch} | {' | '.join(map(shown, ENGINES))} | | | | |"
    ratio = f"{own['wall_ms'] / min(peers):.2f}" if peers else ""
    rate = NETWORKS[name] * batch / own["wall_ms"] / 1e9  # FLOP a ms are 1e-9 TFLOP a s
    errors = " / ".join(f"{found[e]['error']:.1e}" for e in ("clinfer", "eager") if "error" in found.get(e, {}))
    return (f"| {name} b{batch} | {' | '.join(map(shown, ENGINES))} | {ratio} | {own['queued_ms']:.3f} | {rate:.0f} | "
            f"{errors} |")


def main() -> None:
    """Print the table, and profiles by kernel if they are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--batches", default="1,32")
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--profile", action="store_true", help="microseconds by kernel, too")
    parser.add_argument("--json", help="a file for all figures")
    parser.add_argument("--one", nargs=3, metavar=("ENGINE", "NETWORK", "BATCH"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        engine, name, batch = arguments.one[0], arguments.one[1], int(arguments.one[2])
        print(json.dumps(measure_clinfer(name, batch, engine == "profile") if engine in ("clinfer", "profile")
                         else measure_torch(engine, name, batch)))
        return
    engines, records, profiles = arguments.engines.split(","), [], []
    print(f"| network | {' | '.join(ENGINES)} | to the best peer | queued | TFLOP/s | error, PyTorch's at f16 |")
    print("| --- " * (len(ENGINES) + 5) + "|")
    for name in arguments.networks.split(","):
        for batch in arguments.batches.split(","):
            found = {engine: in_own_process([engine, name, batch]) for engine in engines}
            print(tell(name, int(batch), found), flush=True)
            records.append({"network": name, "batch": int(batch), **found})
            if arguments.profile:
                profiles.append((name, batch, in_own_process(["profile", name, batch])))
    for name, batch, profile in profiles:
        print(f"\n{name} b{batch}, microseconds and launches by kernel, with events:")
        for kernel, (us, launches) in profile.get("kernels", {}).items():
            print(f"  {kernel:40} {us:8.1f} {launches:4}")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"static": records, "profiles": profiles}, file, indent=1)


if __name__ == "__main__":
    main()
