"""Reading model files, with errors that say which file and why."""
from __future__ import annotations

from pathlib import Path
from typing import Any

from clinfer.base.errors import ClinferError
from clinfer.frontend.conversions import reason_of
from clinfer.frontend.openvino_import import openvino as ov

OpenVinoCore = ov.Core
"""OpenVINO's own class, whatever stands in its place later."""

_FORMATS = "OpenVINO IR (.xml), ONNX (.onnx), TFLite (.tflite), TensorFlow (.pb, saved model), Paddle (.pdmodel)"


def read_model(core: ov.Core, model: Any, weights: Any = None, config: dict[str, Any] | None = None) -> ov.Model:
    """Read a model as `openvino.Core.read_model` does.

    `model` is a path, the bytes of a model, or an open binary stream; `weights` the path or memory
    of an IR's weights. Errors: ClinferError for a file that is missing, truncated or of no known kind.
    """
    named = _named(model)
    for path in (named, _named(weights)):
        if path is not None and not _exists(path):
            raise ClinferError("the model file does not exist", where="reading the model",
                               values={"file": path, "folder": path.resolve().parent},
                               hint="check the path")
    if named is not None and named.is_file() and named.stat().st_size == 0:
        raise ClinferError("the model file is empty", where="reading the model", values={"file": named},
                           hint="download or export the model again")
    try:
        return core.read_model(model, weights, {} if config is None else config)
    except Exception as error:
        raise ClinferError("OpenVINO cannot read the model", where="reading the model",
                           values={**_described(model, named), "OpenVINO says": reason_of(error)},
                           hint=f"check that the file is complete and one of {_FORMATS}") from None


def _named(source: Any) -> Path | None:
    """The path that a source names; None for memory."""
    return Path(source) if isinstance(source, (str, Path)) else None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def _described(model: Any, named: Path | None) -> dict[str, object]:
    if named is None:
        size = f" of {len(model)} bytes" if hasattr(model, "__len__") else ""
        return {"model": f"{type(model).__name__}{size}"}
    size = f"{named.stat().st_size} bytes" if named.is_file() else "a folder"
    return {"file": named, "size": size}
