"""The cache of compiled models (CACHE_DIR): which blob belongs to a model, loading it, and keeping it.

A blob's file is named by the model, the device with all that `made_with` lists, and the settings that decide
what is compiled. A model given as a file is known by its path; size and times of its files must be those that
the blob was made from, else it is made anew in the same place. A model given as an object is known by its
contents. Several processes may use one folder.
"""
from __future__ import annotations

import hashlib
import json
import mmap
import os
import re
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from clinfer.api.config import CompileConfig
from clinfer.api.ports import Ports
from clinfer.api.saved_model import ModelParts, blob_contents, load_model_parts, save_model_parts
from clinfer.base import knobs
from clinfer.base.errors import ClinferError
from clinfer.base.scratch import scratch_folder
from clinfer.base.tracing import log
from clinfer.base.trusted_folder import TrustedFolder
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.program.blobs.programs import made_with
from clinfer.runtime.engine import Engine
from clinfer.runtime.mapped_file import MappedFile, map_file

_RUN_TIME_SETTINGS = ("performance_hint", "execution_mode", "streams", "requests", "threads", "build_threads",
                      "map_files", "profiling", "specialise_after", "without_effect", "cache_dir", "encryption",
                      "build_progress", "preallocation_iterations", "preallocation_ratio", "preallocation_bytes")
"""Fields of CompileConfig that do not reach the program; every other one belongs to a blob's name."""

_WEIGHTS_BESIDE = {".xml": ".bin", ".pdmodel": ".pdiparams", ".onnx": "", ".tflite": ""}
"""Kinds of model files that are whole together with the file of that other suffix."""
_EXTERNAL_DATA = b"\x0a\x08location"
"""How ONNX begins to say that a tensor lies in another file: field 1, eight bytes."""
_NUMBERED_NAME = re.compile(rb'\b(name|names|output_names)="([A-Z]\w*?)_?\d+"')
_EXPLAINING_LEVEL = 3


@dataclass(frozen=True)
class ModelSource:
    """A model as the cache knows it: what it is, and the state that it must be in."""

    identity: str
    state: Mapping[str, str] = field(default_factory=dict)


class ModelCache:
    """The blobs of one folder for one device and configuration; a folder that is not to be trusted has none. `core`
    knows the extensions that models use."""

    def __init__(self, engine: Engine, config: CompileConfig, core: ov.Core) -> None:
        self._engine = engine
        self._core = core
        self._config = config
        self._folder = TrustedFolder(Path(config.cache_dir))
        try:
            self._is_usable = self._folder.make()
        except OSError as error:
            raise ClinferError("the folder of CACHE_DIR cannot be made", where="configuration",
                               values={"CACHE_DIR": config.cache_dir, "because": error.strerror or error},
                               hint="name a folder that can be written, or none") from None

    def load_or_compile(self, source: ModelSource, model: ov.Model | None,
                        compile: Callable[[], ModelParts]) -> tuple[ModelParts, bool]:
        """The model, and whether it came from the cache. `model`, if it was read already, names its ports."""
        name = self._name(source)
        if not _wants_compilation_seen():
            found = self._load(name, source)
            if found is not None:
                own = {} if model is None else {"name": model.get_friendly_name(), "ports": Ports.of(model)}
                return replace(found, config=self._config, **own), True
        made = compile()
        if self._is_usable:
            self._store(name, made, source)
        return made, False

    def identify(self, model: ov.Model) -> ModelSource | None:
        """A model by its contents; None if OpenVINO cannot write it down, or there is nowhere to keep it."""
        if not self._is_usable:
            return None
        try:
            with self._scratch() as folder:
                return ModelSource(self._digest(model, Path(folder)))
        except (OSError, RuntimeError) as error:
            log(1, f"the model is not cached, because it cannot be written down: {error}")
            return None

    def _scratch(self) -> tempfile.TemporaryDirectory[str]:
        """A folder for the files of a model: where blobs are, which has room for them, or elsewhere, where a folder of
        blobs that were made before can only be read."""
        with suppress(OSError):
            return tempfile.TemporaryDirectory(dir=self._folder.path)
        return scratch_folder()

    def _digest(self, model: ov.Model, folder: Path) -> str:
        """Of all that a model is, written to a folder by OpenVINO. Errors: OSError, and RuntimeError if it cannot."""
        graph, weights = folder / "model.xml", folder / "model.bin"
        ov.serialize(model, graph, weights)
        text = graph.read_bytes()
        digest = hashlib.sha256(text if self._names_count() else _NUMBERED_NAME.sub(rb'\1="\2"', text))
        if weights.exists() and weights.stat().st_size:
            digest.update(blob_contents(weights))
        return digest.hexdigest()

    def _names_count(self) -> bool:
        """Whether names decide what is compiled. They do not otherwise, and OpenVINO numbers nodes that were
        given no name through the life of a process: the same model would be another one each time."""
        return bool(self._config.force_implementations or knobs.value("CLINFER_FORCE_KERNEL"))

    def _name(self, source: ModelSource) -> str:
        decided = {f.name: getattr(self._config, f.name) for f in fields(self._config)
                   if f.name not in _RUN_TIME_SETTINGS}
        key = [source.identity, made_with(self._engine), ov.get_version(), decided,
               knobs.value("CLINFER_FORCE_KERNEL")]
        name = hashlib.sha256(json.dumps(key, default=str, sort_keys=True).encode()).hexdigest()[:32]
        return f"{name}.blob"

    def _load(self, name: str, source: ModelSource) -> ModelParts | None:
        mapped, content = self._contents(name)
        if content is None:
            return None
        try:
            encryption = self._config.encryption
            opened = content if encryption is None else encryption.decrypted(content)
            return load_model_parts(opened, self._engine, self._core, source.state, mapped)
        except ClinferError as error:
            log(1, f"the blob {self._folder.path / name} is made anew: {error}")
            return None

    def _contents(self, name: str) -> tuple[MappedFile | None, memoryview | None]:
        """A blob's bytes, None where there is none; the file that they lie in if constants may stay there, which nobody
        writes to: another blob comes in another file."""
        if self._config.map_files:
            with self._folder.file(name) as file:
                mapped = None if file is None else map_file(file)
            if mapped is not None:
                return mapped, mapped.contents
        return None, self._folder.map(name)

    def _store(self, name: str, parts: ModelParts, source: ModelSource) -> None:
        try:
            blob, encryption = save_model_parts(parts, source.state), self._config.encryption
            self._folder.write(name, blob if encryption is None else encryption.encrypted(blob))
        except ClinferError as error:
            log(1, f"the blob {self._folder.path / name} cannot be made: {error}")


def identify_files(model: Any, weights: Any) -> ModelSource | None:
    """A model in files by their paths, sizes and times; None if it is not in files, or may be in more than can be
    named here (ONNX with external data, folders of TensorFlow)."""
    if not isinstance(model, str | os.PathLike) or not (weights is None or isinstance(weights, str | os.PathLike)):
        return None
    path = Path(model)
    suffix = path.suffix.lower()
    if suffix not in _WEIGHTS_BESIDE or not path.is_file() or (suffix == ".onnx" and _has_external_data(path)):
        return None
    beside = _WEIGHTS_BESIDE[suffix]
    files = [path, Path(weights)] if weights is not None else [path, path.with_suffix(beside)] if beside else [path]
    try:
        resolved = [str(file.resolve()) for file in files]
        return ModelSource(json.dumps(resolved), {"model's files": "; ".join(map(_state_of, files))})
    except OSError:
        return None


def _state_of(file: Path) -> str:
    if not file.exists():
        return "none"
    known = file.stat()
    return f"{known.st_size} bytes of {known.st_mtime_ns}, {known.st_ctime_ns}, {known.st_ino}"


def _has_external_data(path: Path) -> bool:
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return content.find(_EXTERNAL_DATA) >= 0
    except (OSError, ValueError):
        return True


def _wants_compilation_seen() -> bool:
    """Whether the user asked to see how models are compiled."""
    return knobs.dump_dir() is not None or knobs.debug_level() >= _EXPLAINING_LEVEL
