"""Files and bytes that may hold a model of ONNX."""
from __future__ import annotations

import io
import mmap
import struct
from pathlib import Path
from typing import Any

from clinfer.base.tracing import log
from clinfer.frontend.onnx.external_data import LARGEST, take_in
from clinfer.frontend.onnx.mending import mend
from clinfer.frontend.onnx.model import Model
from clinfer.frontend.onnx.wire import Bytes


def mended_content(model: Any) -> bytes | None:
    """The content of a file (its path) or of bytes (also in a stream) in which operators of ONNX are marked that need
    to be read otherwise than by OpenVINO; None if there are none, or if it is no model of ONNX."""
    if isinstance(model, bytes | bytearray | memoryview):
        return _mended(memoryview(model), None)
    if isinstance(model, io.BytesIO):
        return _mended(model.getvalue()[model.tell():], None)
    if not isinstance(model, str | Path):
        return None
    path = Path(model)
    if path.suffix.lower() != ".onnx" or not path.is_file() or not path.stat().st_size:
        return None
    with path.open("rb") as file:
        return _mended(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)), path.parent)


def _mended(content: Bytes, folder: Path | None) -> bytes | None:
    try:
        return _marked(content, folder)
    except (LookupError, ValueError, struct.error, RecursionError) as error:
        log(1, f"ONNX's operators are read as OpenVINO reads them: the file is not as ONNX defines it ({error!r})")
        return None


def _marked(content: Bytes, folder: Path | None) -> bytes | None:
    model = Model.read(content)
    if model is None or not mend(model):
        return None
    if folder is not None and not take_in(model, folder, LARGEST - len(content)):
        log(1, "ONNX's operators are read as OpenVINO reads them: the weights beside the file are too large to be "
               "taken into memory, or not there")
        return None
    return model.to_bytes()
