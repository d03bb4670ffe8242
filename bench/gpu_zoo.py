"""Everyday networks on a GPU at f16, one input each: clinfer beside PyTorch, eager and in a CUDA graph.

For a machine with PyTorch for CUDA, torchvision and transformers. Weights are seeded, batch norms have the statistics
of random pictures. A call begins with an input on the GPU and ends when the result is there. Errors are relative to
PyTorch at f32, by the norm of the difference; PyTorch's own are those of its result at f16. Each network has a process
of its own; several compile at once (`--jobs`), and take turns on the GPU.

    python -m bench.gpu_zoo [NETWORKS] [--jobs 4] [--profile]
"""

from __future__ import annotations

import argparse
import fcntl
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from bench.gpu import captured, kernels, remote_calls, wall_ms

_PICTURE = (1, 3, 224, 224)
_CLIP = (1, 3, 16, 112, 112)
_MORE = {"inception_v3": (1, 3, 299, 299), "deeplabv3_resnet50": (1, 3, 320, 320), "r3d_18": _CLIP, "mc3_18": _CLIP}
PICTURES = {name: _MORE.get(name, _PICTURE) for name in (
    "mobilenet_v2", "mobilenet_v3_large", "efficientnet_b0", "convnext_tiny", "swin_t", "swin_v2_t", "densenet121",
    "regnet_y_3_2gf", "shufflenet_v2_x1_0", "googlenet", "inception_v3", "resnext50_32x4d", "vgg16", "maxvit_t",
    "deeplabv3_resnet50", "r3d_18", "mc3_18")}
"""Networks of torchvision, and the sizes of their inputs."""
TRANSFORMERS: dict[str, tuple[str, str, dict[str, Any], tuple[int, ...]]] = {
    "deberta": ("DebertaV2Model", "DebertaV2Config", {
        "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
        "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 256,
        "share_att_key": True}, (1, 128)),
    "modernbert": ("ModernBertModel", "ModernBertConfig", {"pad_token_id": 0}, (1, 128)),
    "t5_encoder": ("T5EncoderModel", "T5Config", {}, (1, 128)),
    "wav2vec2": ("Wav2Vec2Model", "Wav2Vec2Config", {}, (1, 32000)),
    "segformer": ("SegformerModel", "SegformerConfig", {}, (1, 3, 512, 512)),
    "mobilevit": ("MobileViTModel", "MobileViTConfig", {}, (1, 3, 256, 256)),
    "dpt": ("DPTForDepthEstimation", "DPTConfig", {"is_hybrid": False}, (1, 3, 384, 384)),
}
"""Networks of transformers: model, configuration, what is set in it, and the sizes of their inputs."""
_WARM_S, _LINES = 2.5, 9


def build(name: str) -> tuple[Any, Any]:
    """A network with seeded weights at f32, and its input, on the host."""
    torch = import_module("torch")

    torch.manual_seed(0)
    if name not in TRANSFORMERS:
        given = torch.randn(PICTURES[name])
        return _settled(_of_torchvision(name), given), given
    transformers = import_module("transformers")

    model, config, settings, sizes = TRANSFORMERS[name]
    module = getattr(transformers, model)(getattr(transformers, config)(**settings))
    given = torch.randint(0, 20000, sizes) if len(sizes) == 2 and sizes[1] < 1000 else torch.randn(sizes)
    return _first_of(module.eval()), given


def _of_torchvision(name: str) -> Any:
    models = import_module("torchvision.models")

    place = next(part for part in (models, models.segmentation, models.video) if hasattr(part, name))
    extra = {"weights_backbone": None} if place is models.segmentation else {}
    module = getattr(place, name)(weights=None, **extra)
    module.aux_logits = False
    for auxiliary in ("aux1", "aux2", "AuxLogits"):
        if hasattr(module, auxiliary):
            setattr(module, auxiliary, None)
    return _first_of(module) if place is models.segmentation else module


def _first_of(module: Any) -> Any:
    """The module with the first tensor of its result alone."""
    torch = import_module("torch")

    class First(torch.nn.Module):  # type: ignore[name-defined]
        """What a network computes first."""

        def __init__(self) -> None:
            super().__init__()
            self.module = module

        def forward(self, given: Any) -> Any:
            return next(iter(self.module(given).values()))

    return First().eval()


def _settled(module: Any, given: Any) -> Any:
    """Batch norms with the statistics of random inputs: without, activations of random weights leave f16's range."""
    torch = import_module("torch")

    norms = [part for part in module.modules() if isinstance(part, torch.nn.modules.batchnorm._BatchNorm)]
    for norm in norms:
        norm.momentum = None
    if norms:
        with torch.no_grad():
            module.train()(torch.cat([given, torch.randn_like(given)]))
    return module.eval()


def measure(name: str, lock: str, profiled: bool) -> dict[str, Any]:
    """Milliseconds of each engine, errors, seconds of compiling; `kernels`: microseconds and launches by kernel."""
    torch, openvino = import_module("torch"), import_module("openvino")
    import clinfer

    core = clinfer.Core()
    module, given = build(name)
    with torch.no_grad():
        model = openvino.convert_model(module, example_input=given)
    model.reshape({model.input(0): list(given.shape)})
    begin, wait, result, compile_s = remote_calls(core, model, given.numpy())
    found: dict[str, Any] = {"compile_s": compile_s}
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    with torch.inference_mode():
        exact = module.cuda()(given.cuda()).double().cpu().numpy()
        half, here = module.half(), given.half().cuda() if given.is_floating_point() else given.cuda()
        if here.dim() == 4:
            half, here = (x.to(memory_format=torch.channels_last) for x in (half, here))
        found["errors"] = [float(np.linalg.norm(x - exact) / np.linalg.norm(exact))
                           for x in (result.astype(np.float64), half(here).double().cpu().numpy())]
        with _alone(lock):
            found["clinfer"] = wall_ms(lambda: (begin(), wait()), _WARM_S)["wall_ms"]
            found["eager"] = wall_ms(lambda: (half(here), torch.cuda.synchronize()), 0.5)["wall_ms"]
            try:
                replay = captured(half, here)
                found["graph"] = wall_ms(lambda: (replay(), torch.cuda.synchronize()), 0.5)["wall_ms"]
            except RuntimeError as error:
                found["graph_failed"] = str(error).splitlines()[0]
            if profiled:
                found["kernels"] = kernels(core, model, given.numpy())
    return found


@contextmanager
def _alone(lock: str) -> Iterator[None]:
    with open(lock, "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def in_own_process(name: str, lock: str, profiled: bool) -> dict[str, Any]:
    """What a process measures; an error as {"failed": its last line}."""
    command = [sys.executable, "-m", "bench.gpu_zoo", name, "--lock", lock, *(["--profile"] if profiled else [])]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        return {"failed": (done.stderr.strip().splitlines() or ["no output"])[-1]}
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def tell(name: str, found: dict[str, Any]) -> str:
    """One row, and the kernels that take most if they were asked for."""
    if "failed" in found:
        return f"| {name} | {found['failed'][:100]} |"
    graph = f"{found['graph']:.3f}" if "graph" in found else found["graph_failed"][:30]
    ratio = f"{min(found['eager'], found.get('graph', np.inf)) / found['clinfer']:.2f}"
    errors = " / ".join(f"{error:.1e}" for error in found["errors"])
    row = (f"| {name} | {found['clinfer']:.3f} | {found['eager']:.3f} | {graph} | {ratio} | {errors} "
           f"| {found['compile_s']:.1f} |")
    lines = [f"    {kernel:34} {us:8.1f} {launches:4}" for kernel, (us, launches) in found.get("kernels", {}).items()]
    return "\n".join([row, *lines[:_LINES]])


def main() -> None:
    """Print a row for each network as soon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=[*PICTURES, *TRANSFORMERS])
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--profile", action="store_true", help="microseconds by kernel, too")
    parser.add_argument("--lock", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.lock:
        print(json.dumps(measure(options.networks[0], options.lock, options.profile)))
        return
    print("| network | clinfer | eager | CUDA graph | best of both over clinfer | errors | compiling, s |")
    print("| --- " * 7 + "|")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        lock = str(Path(folder) / "lock")

        def show(name: str) -> None:
            print(tell(name, in_own_process(name, lock, options.profile)), flush=True)

        list(pool.map(show, options.networks))


if __name__ == "__main__":
    main()
