"""Reads the text in all pictures of a folder, spread over the processes or the machines of a Ray cluster.

Two networks run as `clinfer.ray.Predictor`s in the middle of a Ray dataset: pages of all sizes, then lines of all
widths. Needs `pip install clinfer[demo,ray]`; on a cluster the folder has the same path on every node.
Usage: python -m examples.read_folder FOLDER [--address ray-head:6379] [--readers 2] [--device CPU]
"""
from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import clinfer as ov
from clinfer.base.errors import ClinferError
from clinfer.ray import Predictor
from examples.fetch_models import model_path
from examples.ppocr_detection import find_lines, prepare_page
from examples.ppocr_recognition import decode, make_alphabet, prepare_line
from examples.read_text import SURE_ENOUGH, open_picture

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".webp")
Row = dict[str, Any]


def load_page(row: Row) -> Row:
    """A picture's path -> the picture, and the detection's input [3, H, W]."""
    picture = open_picture(Path(row["path"]))
    return {"path": row["path"], "picture": picture, "page": prepare_page(picture)[0]}


def cut_lines(row: Row) -> list[Row]:
    """A page in which text was found -> its lines in reading order, each as the recognition's input [3, 48, W]."""
    height, width = row["picture"].shape[:2]
    boxes = find_lines(row["likely"][0], height, width)
    return [{"path": row["path"], "number": number, "line": prepare_line(row["picture"], box)[0]}
            for number, box in enumerate(boxes)]


class Decoder:
    """Scores -> texts; what recognition is not sure of becomes an empty text."""

    def __init__(self) -> None:
        model = ov.Core().read_model(model_path("recognition"))
        self._alphabet = make_alphabet(model.get_rt_info(["framework", "character"]).astype(str))

    def __call__(self, row: Row) -> Row:
        text, sure = decode(row["scores"], self._alphabet)
        return {"path": row["path"], "number": row["number"], "text": text.strip() if sure >= SURE_ENOUGH else ""}


def read_pictures(paths: list[str], readers: int = 2, device: str = "AUTO",
                  num_gpus: float = 0) -> dict[str, list[str]]:
    """The lines of text of each picture, in reading order.

    A picture is read once, also where nodes are lost meanwhile: Ray computes again what was lost with them.
    """
    import ray.data

    def predict(data: Any, network: str, given: str, found: str) -> Any:
        path = model_path(network)
        ports = ov.Core().read_model(path)
        return data.map_batches(
            Predictor, fn_constructor_args=(str(path), device), fn_constructor_kwargs={
                "inputs": {ports.inputs[0].any_name: given}, "outputs": {ports.outputs[0].any_name: found}},
            batch_size=16, concurrency=readers, num_cpus=1, num_gpus=num_gpus)

    rows = ray.data.from_items([{"path": path} for path in paths], override_num_blocks=min(len(paths), 4 * readers))
    pages = predict(rows.map(load_page), "detection", "page", "likely")
    lines = predict(pages.flat_map(cut_lines), "recognition", "line", "scores")
    texts: dict[str, dict[int, str]] = defaultdict(dict)
    for row in lines.map(Decoder, concurrency=1).take_all():
        texts[row["path"]][row["number"]] = row["text"]
    return {path: [text for _, text in sorted(texts[path].items()) if text] for path in paths}


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0, or 1 where the folder has no pictures."""
    parser = argparse.ArgumentParser(description="Reads the text in all pictures of a folder.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--address", default="local", help="of a Ray cluster (default: Ray on this machine alone)")
    parser.add_argument("--readers", type=int, default=2, help="processes for each network")
    parser.add_argument("--device", default="AUTO", help="CPU, GPU.1, ... (default: a GPU, else the CPU)")
    parser.add_argument("--gpus", type=float, default=0, help="that each process asks Ray for")
    options = parser.parse_args(arguments)
    paths = sorted(str(path.resolve()) for path in options.folder.iterdir() if path.suffix.lower() in SUFFIXES)
    if not paths:
        print(f"no pictures in {options.folder}")
        return 1

    import ray

    ray.init(options.address, log_to_driver=False)
    for path, lines in read_pictures(paths, options.readers, options.device, options.gpus).items():
        print(path, *lines, sep="\n  ")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ClinferError, OSError) as error:
        sys.exit(f"error: {error}")
