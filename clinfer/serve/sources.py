"""Which files are models, and what they are called."""
from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from clinfer.base.errors import ClinferError
from clinfer.serve.options import ModelSource

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_SUFFIXES = (".onnx", ".xml", ".tflite", ".pb", ".pdmodel")


class SourceError(ClinferError):
    """What was named is no model that can be served."""


def parse_source(text: str) -> ModelSource:
    """The model of `[NAME[:VERSION]=]FILE`; without a name it is the file's stem, without a version 1.

    Errors: SourceError.
    """
    head, equals, file = text.rpartition("=")
    name, _, version = head.partition(":") if equals else (Path(text).stem, "", "")
    source = ModelSource(name, version or "1", Path(file).resolve())
    if not _NAME.fullmatch(source.name) or not _is_version(source.version):
        raise SourceError("a model is named by letters, digits, and . _ - , a version is a positive number",
                          where="serving", values={"model": text, "name": source.name, "version": source.version},
                          hint="NAME=FILE or NAME:VERSION=FILE")
    if not source.path.exists():
        raise SourceError("the model's file is not there", where="serving", values={"file": file})
    return source


def check_sources(sources: Sequence[ModelSource]) -> None:
    """Raise SourceError where two are the same version of one model."""
    seen: dict[tuple[str, str], Path] = {}
    for source in sources:
        key = source.name, source.version
        if key in seen:
            raise SourceError("two files are one version of a model", where="serving", values={
                "model": source.name, "version": source.version, "files": f"{seen[key]}, {source.path}"},
                hint="name them: NAME=FILE or NAME:VERSION=FILE")
        seen[key] = source.path


def scan(folder: Path) -> dict[str, tuple[ModelSource, ...]]:
    """The models of a folder: files NAME.onnx (version 1), and folders NAME/VERSION/ with one model file each.

    What a request names is looked up in what was found and never made a path. Links that lead out of the folder, other
    names and other files are left out.
    """
    root = folder.resolve()
    found: dict[str, tuple[ModelSource, ...]] = {}
    for entry in sorted(root.iterdir()):
        if entry.is_dir() and _NAME.fullmatch(entry.name):
            sources = tuple(ModelSource(entry.name, version.name, path) for version in sorted(entry.iterdir())
                            if _is_version(version.name) for path in _model_files(version, root)[:1])
        elif entry in _model_files(root, root) and _NAME.fullmatch(entry.stem):
            sources = (ModelSource(entry.stem, "1", entry),)
        else:
            continue
        if sources:
            found[sources[0].name] = sources
    return found


def _is_version(text: str) -> bool:
    return text.isascii() and text.isdecimal() and text == str(int(text)) and int(text) > 0


def _model_files(folder: Path, root: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return [path for path in sorted(folder.iterdir())
            if path.suffix in _SUFFIXES and path.is_file() and path.resolve().is_relative_to(root)]
