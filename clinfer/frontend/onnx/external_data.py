"""Weights that an ONNX file holds in other files, taken into it: OpenVINO finds these beside a file only, and the model
that it gets is in memory."""
from __future__ import annotations

import mmap
from pathlib import Path

from clinfer.frontend.onnx.graph import Graph
from clinfer.frontend.onnx.model import Model
from clinfer.frontend.onnx.wire import LENGTH, Bytes, Field, content_of, read_fields, text_of, write_fields

LARGEST = 2**31 - 2**24
"""What protocol buffers hold in memory, less room for the model itself."""

_INITIALIZER, _RAW_DATA, _EXTERNAL_DATA, _DATA_LOCATION = 5, 9, 13, 14


def take_in(model: Model, folder: Path) -> bool:
    """Put what lies in other files of a folder into a model; False where it is too much, or where a file is missing or
    outside of the folder."""
    budget = LARGEST
    files: dict[str, memoryview] = {}
    for graph in _graphs(model.main.graph):
        taken: list[Field] = []
        for each in graph.others:
            part = _outside(each) if each.number == _INITIALIZER else None
            if part is None:
                taken.append(each)
                continue
            data = _part(part, folder, files)
            if data is None or len(data) > budget:
                return False
            budget -= len(data)
            kept = [field for field in read_fields(content_of(each))
                    if field.number not in (_RAW_DATA, _EXTERNAL_DATA, _DATA_LOCATION)]
            taken.append(Field(_INITIALIZER, LENGTH, write_fields([*kept, Field(_RAW_DATA, LENGTH, data)])))
        graph.others = taken
    return True


def _graphs(graph: Graph) -> list[Graph]:
    return [graph, *(inner for node in graph.nodes for body in node.bodies() for inner in _graphs(body))]


def _outside(tensor: Field) -> dict[str, str] | None:
    """Where a tensor lies in another file: `location`, and maybe `offset` and `length`; None for one that does not."""
    entries = [content_of(field) for field in read_fields(content_of(tensor)) if field.number == _EXTERNAL_DATA]
    pairs = [{field.number: text_of(field) for field in read_fields(entry)} for entry in entries]
    return {pair[1]: pair.get(2, "") for pair in pairs if 1 in pair} or None


def _part(place: dict[str, str], folder: Path, files: dict[str, memoryview]) -> Bytes | None:
    name = place.get("location", "")
    if name not in files:
        path = (folder / name).resolve()
        if not (name and path.is_relative_to(folder.resolve()) and path.is_file() and path.stat().st_size):
            return None
        with path.open("rb") as file:
            files[name] = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    whole, start = files[name], int(place.get("offset") or 0)
    end = start + int(place["length"]) if place.get("length") else len(whole)
    return whole[start:end] if end <= len(whole) else None
