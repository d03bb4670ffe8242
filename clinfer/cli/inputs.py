"""The inputs of a model as the command line gives them: files, pictures, shapes; random numbers for the rest."""
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from clinfer.api.arrays import Declared, from_value
from clinfer.api.ports import Ports, describe_all, port_name
from clinfer.base.element_type import ElementType
from clinfer.base.shape import Dim, Shape, StaticShape
from clinfer.cli.pictures import SUFFIXES, load_picture
from clinfer.cli.usage import UsageError, told_as_usage

_SHAPE = re.compile(r"\[\s*(\d{1,18}\s*(,\s*\d{1,18}\s*)*)?\]|\d{1,18}(\s*,\s*\d{1,18})*|\d{1,18}(x\d{1,18})+")
_DYNAMIC = 64
"""The size of a dynamic dimension that nobody gave."""


@dataclass(frozen=True)
class InputOrder:
    """What the user wrote: `files` as [NAME=]FILE, `shapes` as [NAME=][1,3,48,320]; and the seed of the rest.

    NAME may be left out where the model has one input; an .npz file without one names its inputs itself.
    """

    files: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    seed: int = 0


def make_inputs(ports: Ports, order: InputOrder) -> list[np.ndarray]:
    """One array per input, in the model's order. Errors: UsageError."""
    shapes = read_shapes(ports, order.shapes)
    arrays: dict[int, np.ndarray] = {}
    for index, array in _read_files(ports, order.files, shapes):
        if index in arrays:
            raise UsageError(f"input {port_name(ports.inputs[index])!r} is given twice")
        arrays[index] = array
    random = np.random.default_rng(order.seed)
    for index in range(len(ports.inputs)):
        if index not in arrays:
            arrays[index] = random_input(ports, index, shapes.get(index), random)
    return [arrays[index] for index in range(len(ports.inputs))]


def read_shapes(ports: Ports, entries: tuple[str, ...]) -> dict[int, StaticShape]:
    """The shapes that --shape gives, by input index, each within the model's bounds."""
    shapes: dict[int, StaticShape] = {}
    for entry in entries:
        index, text = split_entry(ports, entry, "--shape")
        shapes[index] = _parse_shape(text)
        with told_as_usage("give a shape within these bounds"):
            Declared.of(ports.inputs[index], "input").check_shape(shapes[index])
    return shapes


def split_entry(ports: Ports, entry: str, option: str) -> tuple[int, str]:
    """The input index and the value of `NAME=VALUE`, or of `VALUE` where the model has one input."""
    name, equals, text = entry.rpartition("=")
    if not text or (equals and not name) or (not equals and len(ports.inputs) != 1):
        raise UsageError(f"{option} needs the form NAME=VALUE", values={
            "given": entry, "inputs": describe_all(ports.inputs)})
    with told_as_usage():
        return ports.input_index(name or None), text


def random_input(ports: Ports, index: int, shape: StaticShape | None, random: np.random.Generator) -> np.ndarray:
    """Random values for one input; without a shape, dynamic dimensions are 64, or 1 if first, within bounds."""
    declared = Declared.of(ports.inputs[index], "input")
    sizes = _default_shape(declared.shape, declared.label) if shape is None else shape
    try:
        return _random_array(sizes, declared.element_type, random)
    except (MemoryError, ValueError) as error:
        raise UsageError(f"no array of this shape can be made for {declared.label}",
                         values={"shape": sizes, "reason": error}, hint="give a smaller --shape") from None


def _read_files(ports: Ports, entries: tuple[str, ...],
                shapes: dict[int, StaticShape]) -> Iterator[tuple[int, np.ndarray]]:
    for entry in entries:
        if "=" not in entry and Path(entry).suffix.lower() == ".npz":
            for name, array in _load_all(entry).items():
                with told_as_usage():
                    index = ports.input_index(name)
                yield index, _checked(ports, index, array, shapes)
            continue
        index, path = split_entry(ports, entry, "--input")
        if Path(path).suffix.lower() in SUFFIXES:
            yield index, load_picture(path, Declared.of(ports.inputs[index], "input"), shapes.get(index))
        else:
            yield index, _checked(ports, index, _load_one(path), shapes)


def _checked(ports: Ports, index: int, array: np.ndarray, shapes: dict[int, StaticShape]) -> np.ndarray:
    """The array, if the input takes it."""
    if index in shapes and shapes[index] != array.shape:
        raise UsageError("an input has a file and another shape", values={
            "input": port_name(ports.inputs[index]), "file": array.shape, "--shape": shapes[index]},
            hint="leave out --shape")
    with told_as_usage():
        from_value(array, Declared.of(ports.inputs[index], "input"))
    return array


def _load_one(path: str) -> np.ndarray:
    if Path(path).suffix.lower() != ".npz":
        return _load(path)
    arrays = _load_all(path)
    if len(arrays) != 1:
        raise UsageError("an input file holds several arrays", values={"file": path, "arrays": ", ".join(arrays)},
                         hint="give the file without NAME=, if its arrays are named like the inputs")
    return next(iter(arrays.values()))


def _load(path: str) -> np.ndarray:
    try:
        loaded = np.load(path, allow_pickle=False)
    except Exception as error:
        # Damaged files fail in the readers of headers, archives and compressed data, each in its own way.
        raise _unreadable(path, error) from None
    if not isinstance(loaded, np.ndarray):
        raise UsageError("an input file is no array", values={"file": path}, hint="write it with numpy.save")
    return loaded


def _load_all(path: str) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except Exception as error:
        raise _unreadable(path, error) from None
    if not arrays:
        raise UsageError("an input file holds no arrays", values={"file": path}, hint="write it with numpy.savez")
    return arrays


def _unreadable(path: str, error: Exception) -> UsageError:
    # NumPy takes whatever it does not know for pickled objects, and tells how to load those unsafely.
    reason = "it holds no array of numbers" if "pickle" in str(error) else error
    return UsageError("an input file cannot be read", values={"file": path, "reason": reason},
                      hint="write it with numpy.save, or give a picture (.png, .jpg)")


def _parse_shape(text: str) -> StaticShape:
    if not _SHAPE.fullmatch(text.strip()):
        raise UsageError("a shape is written [1,3,48,320] or 1x3x48x320", values={"given": text})
    return tuple(int(size) for size in re.findall(r"\d+", text))


def _default_shape(declared: Shape | None, label: str) -> StaticShape:
    if declared is None:
        raise UsageError(f"{label} has no rank of its own", hint="give --shape NAME=[...]")
    return tuple(_default_size(size, 1 if axis == 0 else _DYNAMIC) for axis, size in enumerate(declared))


def _default_size(size: int | Dim, wish: int) -> int:
    return min(max(size.low, wish), size.high) if isinstance(size, Dim) else size


def _random_array(shape: StaticShape, kind: ElementType, random: np.random.Generator) -> np.ndarray:
    """Uniform in [0, 1) for floats, 0 or 1 for everything else, so that indices stay in range."""
    if kind.is_float:
        return random.random(shape, np.float32).astype(kind.numpy)
    return random.integers(0, 2, shape, np.int8).astype(kind.numpy)
