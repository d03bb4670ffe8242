"""Reading model files, with errors that say which file and why."""
from __future__ import annotations

from pathlib import Path
from typing import Any

from clinfer.base.errors import ClinferError, WrongTypeError
from clinfer.frontend.conversions import reason_of
from clinfer.frontend.file_kinds import can_hold_model
from clinfer.frontend.onnx.files import mended_content
from clinfer.frontend.onnx.mending import add_readings
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.quotients import cut_quotients

_FORMATS = "OpenVINO IR (.xml), ONNX (.onnx), TFLite (.tflite), TensorFlow (.pb, saved model), Paddle (.pdmodel)"

_TFLITE = ".tflite"


class Reader(ov.Core):
    """OpenVINO's own core, whatever stands in its place later, which also reads what `mended_content` marks."""

    def __init__(self) -> None:
        super().__init__()
        add_readings(self)


def read_model(core: ov.Core, model: Any, weights: Any = None, config: dict[str, Any] | None = None,
               mend_onnx: bool = False) -> ov.Model:
    """Read a model as `openvino.Core.read_model` does.

    `model` is a path, the bytes of a model, or an open binary stream; `weights` the path or memory
    of an IR's weights. `mend_onnx`: whether operators of ONNX are mended which OpenVINO reads otherwise than ONNX
    defines them; `core` is a `Reader` then. Errors: ClinferError for a path that is empty, and for a file that is
    missing, truncated or of no known kind.
    """
    if isinstance(model, str) and not model:
        raise ClinferError("the path of the model is empty", where="reading the model",
                           hint="give the path of a file; the variable that should hold it may be unset")
    named = _named(model)
    for path in (named, _named(weights)):
        if path is not None and not _exists(path):
            raise ClinferError("the model file does not exist", where="reading the model",
                               values={"file": path, "folder": path.resolve().parent},
                               hint="check the path")
    if named is not None and named.is_file() and named.stat().st_size == 0:
        raise ClinferError("the model file is empty", where="reading the model", values={"file": named},
                           hint="download or export the model again")
    if named is not None:
        _check_kind(named)
    content = mended_content(model) if mend_onnx else None
    # OpenVINO's import of ONNX takes weights of each form and looks at none of them.
    model_and_weights = (model, weights) if content is None else (content, None)
    try:
        found = core.read_model(*model_and_weights, {} if config is None else config)
    except Exception as error:
        kind = WrongTypeError if isinstance(error, TypeError) else ClinferError
        refusal = _unreadable(_described(model, named), reason_of(error), kind)
        raise refusal if content is None else _with_hint(refusal) from None
    if named is not None and named.suffix == _TFLITE:
        cut_quotients(found)
    return found


def _with_hint(refusal: ClinferError) -> ClinferError:
    return type(refusal)(refusal.what, where=refusal.where, values=refusal.values,
                         hint=f"{refusal.hint}; with mend_onnx = NO it is read by OpenVINO's converters alone")


def _named(source: Any) -> Path | None:
    """The path that a source names; None for memory."""
    return Path(source) if isinstance(source, (str, Path)) else None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def _check_kind(path: Path) -> None:
    try:
        if can_hold_model(path):
            return
    except OSError as error:
        raise ClinferError("the model file cannot be opened", where="reading the model",
                           values={"file": path, "reason": error.strerror}) from None
    raise _unreadable(_described(path, path), "none of its front ends takes the file")


def _unreadable(described: dict[str, object], reason: str, kind: type[ClinferError] = ClinferError) -> ClinferError:
    return kind("OpenVINO cannot read the model", where="reading the model",
                values={**described, "OpenVINO says": reason},
                hint=f"check that the file is complete and one of {_FORMATS}")


def _described(model: Any, named: Path | None) -> dict[str, object]:
    if named is None:
        size = f" of {len(model)} bytes" if hasattr(model, "__len__") else ""
        return {"model": f"{type(model).__name__}{size}"}
    if named.is_file():
        return {"file": named, "size": f"{named.stat().st_size} bytes"}
    return {"file": named, "kind": "a folder" if named.is_dir() else "neither a file nor a folder"}
