"""Packages that compute with OpenVINO, as they are: each makes its model, or finds something with it.

`python -m tests.api.package_clients make NAME FOLDER SEED`
`python -m tests.api.package_clients run NAME FOLDER FILE`, on OpenVINO or behind `-m clinfer.drop_in`
"""
from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ |= {"HF_HUB_OFFLINE": "1", "YOLO_OFFLINE": "1", "YOLO_AUTOINSTALL": "0"}

import numpy as np
import openvino

PAGE = Path(__file__).parents[2] / "examples" / "page.png"
_WORDS = ("the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "while", "monkeys", "watch")
_TEXTS = ("the quick brown fox", "a lazy dog", "monkeys watch a fox while the quick dog jumps over the lazy fox", "dog")
_LAYERS = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96}
_TRANSFORMERS = {
    "features": ("Bert", "BertModel", {}, "feature-extraction", "FeatureExtraction"),
    "texts": ("Bert", "BertForSequenceClassification", {"num_labels": 7}, "text-classification",
              "SequenceClassification"),
    "pictures": ("ViT", "ViTForImageClassification", {"image_size": 64, "patch_size": 16, "num_labels": 9},
                 "image-classification", "ImageClassification"),
    "sounds": ("Wav2Vec2", "Wav2Vec2ForCTC",
               {"vocab_size": 20, "conv_dim": [32] * 7, "num_conv_pos_embeddings": 16,
                "num_conv_pos_embedding_groups": 4}, "automatic-speech-recognition", "CTC"),
}
Found = dict[str, Any]


def _make_transformer(name: str, folder: Path, seed: int) -> None:
    import torch
    import transformers
    from optimum.exporters.openvino import export_from_model

    torch.manual_seed(seed)
    config, model, sizes, task, _ = _TRANSFORMERS[name]
    made = getattr(transformers, model)(getattr(transformers, f"{config}Config")(**_LAYERS, **sizes)).eval()
    export_from_model(made, folder, task=task)


def _run_transformer(name: str, folder: Path) -> Found:
    import torch
    from optimum import intel

    model = getattr(intel, f"OVModelFor{_TRANSFORMERS[name][-1]}").from_pretrained(folder, device="CPU")
    random = torch.Generator().manual_seed(1)
    found = {}
    for number, (rows, length) in enumerate(((2, 8), (1, 8), (3, 13), (2, 30))):
        if name == "pictures":
            given = {"pixel_values": torch.randn(rows, 3, 64, 64, generator=random)}
        elif name == "sounds":
            given = {"input_values": torch.randn(rows, 500 * length, generator=random)}
        else:
            given = {"input_ids": torch.randint(5, 300, (rows, length), generator=random),
                     "attention_mask": torch.ones(rows, length, dtype=torch.int64)}
        answer = model(**given)
        found[str(number)] = (answer.last_hidden_state if name == "features" else answer.logits).numpy()
    return found


def _make_sentences(name: str, folder: Path, seed: int) -> None:
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers import BertConfig, BertModel, BertTokenizer

    torch.manual_seed(seed)
    special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    words = folder / "vocab.txt"
    words.write_text("\n".join((*special, *_WORDS)))
    BertTokenizer(str(words)).save_pretrained(folder / "bert")
    BertModel(BertConfig(**_LAYERS, vocab_size=len(special) + len(_WORDS))).eval().save_pretrained(folder / "bert")
    made = SentenceTransformer(str(folder / "bert"), device="cpu", backend="openvino")
    made.save_pretrained(str(folder / "model"))


def _run_sentences(name: str, folder: Path) -> Found:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder / "model"), device="cpu", backend="openvino", model_kwargs={"device": "CPU"})
    return {"two at a time": model.encode(list(_TEXTS), batch_size=2), "all": model.encode(list(_TEXTS))}


def _make_boxes(name: str, folder: Path, seed: int) -> None:
    import torch
    from ultralytics import YOLO

    torch.manual_seed(seed)
    yolo = YOLO(f"{name}.yaml")
    # Untrained, its normalisations let nothing through: all scores are one. Here they know what they normalise.
    layers = list(yolo.model.modules())
    for layer in layers:
        if isinstance(layer, torch.nn.BatchNorm2d):
            layer.momentum = 1.0
    with torch.no_grad():
        yolo.model.train()(torch.rand(4, 3, 256, 256))
        for classes in yolo.model.model[-1].cv3:
            classes[-1].bias.fill_(-6)
    yolo.export(format="openvino", dynamic=True, imgsz=256)
    # It exports to the folder it works in.
    assert next(folder.glob("*_openvino_model")).is_dir()


def _run_boxes(name: str, folder: Path) -> Found:
    from PIL import Image
    from ultralytics import YOLO

    yolo = YOLO(next(folder.glob("*_openvino_model")), task="detect")
    page = Image.open(PAGE).convert("RGB")
    found = {}
    for width, height in ((256, 256), (320, 200), (128, 256)):
        answer, = yolo.predict(page.resize((width, height)), imgsz=256, device="cpu", conf=0.05, max_det=12,
                               verbose=False)
        found |= {f"{width} boxes": answer.boxes.xyxy.numpy(), f"{width} scores": answer.boxes.conf.numpy(),
                  f"{width} classes": answer.boxes.cls.numpy()}
    return found


def _run_lines(name: str, folder: Path) -> Found:
    # OpenVINO 2026.4 has no such module any more; behind clinfer.drop_in there is one.
    sys.modules.setdefault("openvino.runtime", openvino)
    from rapidocr_openvino import RapidOCR

    lines, _ = RapidOCR()(str(PAGE))
    return {"boxes": np.array([line[0] for line in lines]), "texts": np.array([line[1] for line in lines]),
            "scores": np.array([float(line[2]) for line in lines])}


def _make_labels(name: str, folder: Path, seed: int) -> None:
    from openvino import opset13 as op

    x = op.parameter([1, 3, 32, 32], np.float32, name="image")
    weights = np.random.default_rng(seed).standard_normal((8, 3, 5, 5), np.float32)
    filtered = op.relu(op.convolution(x, weights, [2, 2], [0, 0], [0, 0], [1, 1]))
    model = openvino.Model([op.reduce_mean(filtered, [2, 3])], [x], "labels")
    for key, value in {"model_type": "Classification", "topk": 3, "labels": "a b c d e f g h", "mean_values": "9 8 7",
                       "scale_values": "50 60 70", "resize_type": "fit_to_window", "output_raw_scores": True}.items():
        model.set_rt_info(value, ["model_info", key])
    openvino.save_model(model, folder / "labels.xml")


def _run_labels(name: str, folder: Path) -> Found:
    from model_api.models import Model
    from PIL import Image

    model = Model.create_model(str(folder / "labels.xml"), device="CPU")
    page = Image.open(PAGE).convert("RGB")
    answers = [model(np.asarray(page.resize(size))) for size in ((64, 64), (100, 40), (31, 57))]
    return {"labels": np.array([[label.name for label in each.top_labels] for each in answers]),
            "scores": np.array([each.raw_scores for each in answers])}


def _nothing_to_make(name: str, folder: Path, seed: int) -> None:
    """The package brings its models."""


@dataclass(frozen=True)
class Client:
    """The modules without which it cannot be had, what makes its model in a folder from a seed, and what runs it."""

    needed: tuple[str, ...]
    make: Callable[[str, Path, int], None]
    run: Callable[[str, Path], Found]


CLIENTS = {
    **{name: Client(("torch", "transformers", "optimum"), _make_transformer, _run_transformer)
       for name in _TRANSFORMERS},
    "sentences": Client(("sentence_transformers", "optimum"), _make_sentences, _run_sentences),
    **{name: Client(("ultralytics", "torchvision", "PIL"), _make_boxes, _run_boxes)
       for name in ("yolov8n", "yolo11n")},
    "lines": Client(("rapidocr_openvino",), _nothing_to_make, _run_lines),
    "labels": Client(("model_api", "PIL"), _make_labels, _run_labels),
}


def compute_in_f32() -> None:
    """Let every model be compiled for f32: the packages leave the precision open, or have no way to set it."""
    compile_model = openvino.Core.compile_model

    def compiled(core: Any, *given: Any, config: Any = None, **named: Any) -> Any:
        *given, config = given if len(given) > 2 else (*given, config)
        return compile_model(core, *given, config={**(config or {}), "INFERENCE_PRECISION_HINT": "f32"}, **named)
    openvino.Core.compile_model = compiled


def main() -> None:
    what, name, folder, last = sys.argv[1:]
    if what == "make":
        CLIENTS[name].make(name, Path(folder), int(last))
    else:
        compute_in_f32()
        np.savez(last, engine=openvino.Core.__module__.partition(".")[0], **CLIENTS[name].run(name, Path(folder)))


if __name__ == "__main__":
    main()
