"""Weights that an ONNX file holds in other files, taken into it: OpenVINO finds these beside a file only, and the model
that it gets is in memory."""
from __future__ import annotations

import mmap
from pathlib import Path

from clinfer.frontend.onnx.graph import TENSOR, all_graphs
from clinfer.frontend.onnx.model import Model
from clinfer.frontend.onnx.wire import LENGTH, Bytes, Field, content_of, read_fields, text_of, write_fields

LARGEST = 2**31 - 2**24
"""What protocol buffers hold in memory, less room for what is written beyond the bytes of the files."""

_RAW_DATA, _EXTERNAL_DATA, _DATA_LOCATION = 9, 13, 14


def take_in(model: Model, folder: Path, room: int) -> bool:
    """Put what lies in other files of a folder into a model; False, and only some of it is there, where it is more than
    `room` bytes, or where a file is missing, too short or outside of the folder."""
    weights = _Weights(folder, room)
    try:
        for graph in (each for part in model.parts for each in all_graphs(part.graph)):
            if not graph.is_function:
                graph.others = weights.taken_in(graph.others)
            for attribute in (each for node in graph.nodes for each in node.attributes.values()):
                attribute.fields = weights.taken_in(attribute.fields)
    except _NotTakenError:
        return False
    return True


class _NotTakenError(Exception):
    """What a tensor holds cannot be taken into the model."""


class _Weights:
    """Other files of a folder, of which `room` bytes more can be taken."""

    def __init__(self, folder: Path, room: int) -> None:
        self._folder = folder.resolve()
        self._room = room
        self._files: dict[str, memoryview] = {}

    def taken_in(self, fields: list[Field]) -> list[Field]:
        """Fields of which those that are tensors hold their data themselves. Errors: _NotTakenError."""
        return [self._with_data(each) if each.number == TENSOR else each for each in fields]

    def _with_data(self, tensor: Field) -> Field:
        place = _outside(tensor)
        if place is None:
            return tensor
        data = self._part(place)
        self._room -= len(data)
        if self._room < 0:
            raise _NotTakenError
        kept = [field for field in read_fields(content_of(tensor))
                if field.number not in (_RAW_DATA, _EXTERNAL_DATA, _DATA_LOCATION)]
        return Field(TENSOR, LENGTH, write_fields([*kept, Field(_RAW_DATA, LENGTH, data)]))

    def _part(self, place: dict[str, str]) -> Bytes:
        whole = self._file(place.get("location", ""))
        start = int(place.get("offset") or 0)
        end = start + int(place["length"]) if place.get("length") else len(whole)
        if not 0 <= start <= end <= len(whole):
            raise _NotTakenError
        return whole[start:end]

    def _file(self, name: str) -> memoryview:
        if name not in self._files:
            path = (self._folder / name).resolve()
            if not (name and path.is_relative_to(self._folder) and path.is_file() and path.stat().st_size):
                raise _NotTakenError
            with path.open("rb") as file:
                self._files[name] = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        return self._files[name]


def _outside(tensor: Field) -> dict[str, str] | None:
    """Where a tensor lies in another file: `location`, and maybe `offset` and `length`; None for one that does not."""
    entries = [content_of(field) for field in read_fields(content_of(tensor)) if field.number == _EXTERNAL_DATA]
    pairs = [{field.number: text_of(field) for field in read_fields(entry)} for entry in entries]
    return {pair[1]: pair.get(2, "") for pair in pairs if 1 in pair} or None
