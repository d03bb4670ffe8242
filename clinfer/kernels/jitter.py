"""The jitter: turns a stage and its parameters into `#define`s before the kernel's own text.

For each operand T it defines
  T_TYPE, T_COMPUTE           storage and arithmetic type
  T_LOAD(p, i), T_STORE(p, i, v), T_LOAD4/8/16(p, i), T_STORE4/8/16(p, i, v)
  T_COMPUTE4/8/16             vectors of the arithmetic type
  T_RANK, T_OFFSET, T_COUNT (elements, the product of the sizes)
  T_SIZE_<n>, T_PITCH_<n>     per axis; also by letter (T_SIZE_X) and for the last axis (T_SIZE_LAST)
  T_GET_INDEX(c0, c1, ...)    element index of logical coordinates
  T_INDEX_OF(c)               the same from an array of coordinates
  T_UNRAVEL(i, c)             coordinates (into array c) of the i-th element in row-major order
Sizes, pitches and offsets that are known are numbers; the others are fields of the argument block, as are the numbers
of a grid (T_PER_STEP, T_ZERO_POINT, T_STEP), so that layers of other grids share a build. `index_t` is the type of
these numbers and fields: int, or long where the problem is large.
"""
from __future__ import annotations

import hashlib
import math
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.format import Format
from clinfer.base.tensor_view import AxisBlocks, TensorView
from clinfer.kernels.contract import Constant, Operand, Problem, Stage
from clinfer.kernels.epilogue import epilogue_macros, epilogue_operands
from clinfer.kernels.recipe import USUAL, Recipe
from clinfer.topology.primitive import Primitive

_DEFINED = re.compile(r"^\s*#\s*define\s+(\w+)", re.MULTILINE)
Field = tuple[int, str, int]
_INCLUDE = re.compile(r'^\s*#\s*include\s+"(?:(\w+)/)?([\w.]+)"\s*$', re.MULTILINE)


@dataclass(frozen=True)
class StageCode:
    """The generated OpenCL C of one stage and the layout of its argument block.

    `kernel_id` is the name of the kernel function, unique by content. `head` are the macros and what is declared by
    them, `body` the kernel's own text. `fields` are the integers of the argument block
    in order: (operand index, "size" | "pitch" | "offset", axis), (operand index, "grid", which of `Grid.numbers`, by
    its bits), or (-1, argument name, 0). `recipe`: how the source is built. `is_large`: the integers have 64 bits, not
    32.
    """

    kernel_id: str
    head: str
    body: str
    fields: tuple[Field, ...]
    recipe: Recipe = USUAL
    is_large: bool = False

    @property
    def source(self) -> str:
        """The whole text, behind which no macro of it is left."""
        macros = dict.fromkeys((*_DEFINED.findall(self.head), *_macros_of(self.body)))
        undefine = "\n".join(f"#undef {name}" for name in macros)
        return f"{self.head}\n{self.body}\n{undefine}\n"

    def check_fields(self, operands: tuple[Operand, ...], arguments: Mapping[str, int]) -> None:
        """Raise ClinferError unless the argument block can be filled from such operands and arguments."""
        for operand, kind, axis in self.fields:
            if operand == -1:
                known = kind in arguments
            elif not 0 <= operand < len(operands):
                known = False
            elif kind == "grid":
                known = operands[operand].view.element_type.grid is not None and 0 <= axis < 3
            else:
                known = kind in ("size", "pitch", "offset") and 0 <= axis < max(operands[operand].view.rank, 1)
            if not known:
                raise ClinferError("a field of the argument block is unknown", where=self.kernel_id,
                                   values={"operand": operand, "field": kind, "axis": axis})

    def argument_values(self, operands: tuple[Operand, ...], arguments: Mapping[str, int]) -> tuple[int, ...]:
        """The numbers of the argument block for static operands."""
        return tuple([_field_value(operands, arguments, field) for field in self.fields])


def block_format(is_large: bool) -> str:
    """The integers of an argument block, as `struct` has them."""
    return "q" if is_large else "i"


def pack_block(values: tuple[int, ...], kernel_id: str, is_large: bool = False) -> bytes:
    """The bytes of an argument block; ClinferError where a number does not fit."""
    try:
        return struct.pack(f"={len(values)}{block_format(is_large)}", *values)
    except struct.error:
        raise ClinferError("a tensor is too large to be indexed with 32 bits", where=kernel_id,
                           values={"argument block": values}, hint="split the tensor along its batch") from None


def _field_value(operands: tuple[Operand, ...], arguments: Mapping[str, int],
                 field: Field) -> int:
    operand, kind, axis = field
    if operand < 0:
        return arguments[kind]
    view = operands[operand].view
    if kind == "size":
        return view.sizes[axis]  # type: ignore[return-value]
    if kind == "pitch":
        return view.pitches[axis]  # type: ignore[return-value]
    if kind == "grid":
        grid = view.element_type.grid
        assert grid is not None
        return grid.bits[axis]
    return view.offset  # type: ignore[return-value]


class _Writer:
    """Collects macros and the fields of the argument block."""

    def __init__(self, is_large: bool = False) -> None:
        self.is_large = is_large
        self.lines: list[str] = []
        self.names: list[str] = []
        self.fields: list[Field] = []

    def define(self, name: str, value: object) -> None:
        self.lines.append(f"#define {name} {value}")

    def number(self, name: str, value: object, field: Field, bake: bool) -> None:
        """A macro for a known number, or for a field of the argument block."""
        if bake and isinstance(value, int):
            self.define(name, f"{value}L" if self.is_large else value)
            return
        self.fields.append(field)
        self.names.append(name.lower())
        self.define(name, f"(args.{name.lower()})")


@cache
def read_source(package: str, name: str) -> str:
    """The text of a .cl or .h file of a package."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


@cache
def kernel_source(package: str, name: str) -> str:
    """The text of a kernel file with its headers put in: "name.h" lies beside the file, "folder/name.h" in a
    folder beside the file's own. What "clinfer.cl" stands for comes by `common_source`."""
    def header(match: re.Match[str]) -> str:
        folder, file = match.groups()
        if file == "clinfer.cl":
            return ""
        return kernel_source(f"{package.rpartition('.')[0]}.{folder}" if folder else package, file)

    return _INCLUDE.sub(header, read_source(package, name))


@cache
def common_source() -> str:
    """The headers of `include/`, which precede the kernels of a batch once."""
    return "\n".join(read_source("clinfer.kernels", f"include/{name}")
                     for name in ("vectors.cl", "types.cl", "math.cl", "subgroup.cl", "epilogue.cl"))


@lru_cache(1024)
def _digest_of(body: str) -> Any:
    """That of what every kernel has in front of it, and of the text of one."""
    return hashlib.sha256(f"{common_source()}\n{body}\n".encode())


@lru_cache(1024)
def _macros_of(body: str) -> tuple[str, ...]:
    """The macros that the text of a kernel defines itself."""
    return tuple(_DEFINED.findall(body))


def generate_stage(stage: Stage, problem: Problem, bake: bool = False) -> StageCode:
    """The source of one stage for a problem (whose layouts may be open); with `bake`, the sizes, pitches and offsets
    that are known are constants in it, and so are the stage's arguments if all layouts are static."""
    writer = _Writer(problem.is_large)
    writer.define("index_t", "long" if problem.is_large else "int")
    fused_ops = epilogue_operands(stage, problem)
    for index, operand in enumerate(stage.operands + fused_ops):
        _write_operand(writer, index, operand, bake)
    for name, value in (*stage.constants.items(), *epilogue_macros(stage, problem).items()):
        writer.define(name, literal(value))
    bake_arguments = bake and problem.is_static
    for name, argument in stage.arguments.items():
        writer.number(f"ARG_{name.upper()}", argument if bake_arguments else None, (-1, name, 0), bake_arguments)
    body = stage.text or kernel_source(kernel_folder(stage, problem.primitive), stage.source)
    recipe = "" if stage.recipe == USUAL else repr(stage.recipe)
    identity = _digest_of(body).copy()
    identity.update("\n".join([*writer.lines, *writer.names, recipe]).encode())
    kernel_id = f"{stage.function}_{identity.hexdigest()[:16]}"
    return StageCode(kernel_id, _head(kernel_id, writer, len(fused_ops)), body, tuple(writer.fields), stage.recipe,
                     problem.is_large)


def kernel_folder(stage: Stage, primitive: Primitive) -> str:
    """The package whose folder holds the stage's .cl file."""
    return stage.package or type(primitive).__module__.rpartition(".")[0]


def operand_macros(operand: Operand) -> list[str]:
    """The macros of one operand all of whose numbers are known."""
    writer = _Writer()
    _write_operand(writer, 0, operand, bake=True)
    return writer.lines


def literal(value: Constant) -> str:
    """A Python value as OpenCL C text (floats as single-precision literals)."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        if math.isnan(value):
            return "NAN"
        if math.isinf(value):
            return "INFINITY" if value > 0 else "(-INFINITY)"
        return f"({value!r}f)" if "e" in repr(value) or "." in repr(value) else f"({value!r}.0f)"
    return str(value)


def _head(kernel_id: str, writer: _Writer, fused_ops: int) -> str:
    lines = ["#define CLINFER_JIT", f"#define KERNEL_ID {kernel_id}", *writer.lines]
    declared = "".join(f", const global FUSED{n}_TYPE* restrict fused{n}" for n in range(fused_ops))
    passed = "".join(f", fused{n}" for n in range(fused_ops))
    if writer.names:
        fields = " ".join(f"index_t {name};" for name in writer.names)
        lines.append(f"typedef struct {{ {fields} }} {kernel_id}_args;")
        declared += f", const {kernel_id}_args args"
        passed += ", args"
    return "\n".join([*lines, f"#define ARGS {declared}".rstrip(), f"#define PASS_ARGS {passed}".rstrip()])


def _write_operand(writer: _Writer, index: int, operand: Operand, bake: bool) -> None:
    """The macros of an operand; those whose numbers are all arguments are the same for most of its kind."""
    view = operand.view
    if bake:
        _write_view(writer, index, operand.macro, view, bake)
        return
    is_point = tuple([pitch == 0 and size == 1 for size, pitch in zip(view.sizes, view.pitches, strict=True)])
    lines, names, fields = _open_operand(index, operand.macro, view.element_type, is_point, view.blocks,
                                         writer.is_large)
    writer.lines += lines
    writer.names += names
    writer.fields += fields


@lru_cache(1024)
def _open_operand(index: int, macro: str, kind: ElementType, is_point: tuple[bool, ...],
                  blocks: tuple[AxisBlocks | None, ...],
                  is_large: bool) -> tuple[tuple[str, ...], tuple[str, ...], tuple[Field, ...]]:
    """Lines, names and fields of an operand that tells no numbers, but for pitches 0 of axes of size 1."""
    writer = _Writer(is_large)
    view = TensorView(kind, tuple([1 if point else 2 for point in is_point]),
                      tuple([0 if point else 1 for point in is_point]), None, blocks)
    _write_view(writer, index, macro, view, bake=False)
    return ("\n".join(writer.lines),), tuple(writer.names), tuple(writer.fields)


def _write_view(writer: _Writer, index: int, t: str, view: TensorView, bake: bool) -> None:
    kind = view.element_type
    writer.define(f"{t}_TYPE", kind.cl_storage)
    writer.define(f"{t}_COMPUTE", kind.cl_compute)
    writer.define(f"{t}_IS_FLOAT", int(kind.is_float))
    writer.define(f"{t}_IS_{kind.macro.upper()}", 1)
    load, store = ("", "") if kind.grid is None else _write_grid(writer, index, t)
    writer.define(f"{t}_LOAD(p, i)", f"LOAD_{kind.macro}(p, i{load})")
    writer.define(f"{t}_STORE(p, i, v)", f"STORE_{kind.macro}(p, i, v{store})")
    for n in (4, 8, 16):
        writer.define(f"{t}_COMPUTE{n}", f"{kind.cl_compute}{n}")
        writer.define(f"{t}_LOAD{n}(p, i)", f"LOAD{n}_{kind.macro}(p, i{load})")
        writer.define(f"{t}_STORE{n}(p, i, v)", f"STORE{n}_{kind.macro}(p, i, v{store})")
    writer.define(f"{t}_RANK", view.rank)
    for axis in range(view.rank):
        writer.number(f"{t}_SIZE_{axis}", view.sizes[axis], (index, "size", axis), bake)
        known_zero = view.pitches[axis] == 0 and view.sizes[axis] == 1
        writer.number(f"{t}_PITCH_{axis}", view.pitches[axis], (index, "pitch", axis), bake or known_zero)
    writer.number(f"{t}_OFFSET", view.offset, (index, "offset", 0), bake)
    _write_letters(writer, t, view)
    _write_indexing(writer, t, view)


def _write_grid(writer: _Writer, index: int, t: str) -> tuple[str, str]:
    """The numbers of an operand's grid; what its loads and stores are given of them."""
    for number, name in enumerate(("PER_STEP", "ZERO_POINT", "STEP")):
        writer.number(f"{t}_{name}_BITS", None, (index, "grid", number), bake=False)
        writer.define(f"{t}_{name}", f"as_float((int){t}_{name}_BITS)")
    return f", {t}_STEP, {t}_ZERO_POINT", f", {t}_PER_STEP, {t}_ZERO_POINT"


def _write_letters(writer: _Writer, t: str, view: TensorView) -> None:
    if view.rank:
        writer.define(f"{t}_SIZE_LAST", f"{t}_SIZE_{view.rank - 1}")
        writer.define(f"{t}_PITCH_LAST", f"{t}_PITCH_{view.rank - 1}")
    if 0 < view.rank <= 8:
        for axis, letter in enumerate(Format.planar(view.rank).axes[:view.rank].upper()):
            writer.define(f"{t}_SIZE_{letter}", f"{t}_SIZE_{axis}")
            writer.define(f"{t}_PITCH_{letter}", f"{t}_PITCH_{axis}")


def _write_indexing(writer: _Writer, t: str, view: TensorView) -> None:
    names = [f"c{i}" for i in range(view.rank)]
    terms = [_axis_index(t, axis, view) for axis in range(view.rank)]
    writer.define(f"{t}_GET_INDEX({', '.join(names)})", "(" + " + ".join([f"{t}_OFFSET", *terms]) + ")")
    writer.define(f"{t}_INDEX_OF(c)",
                  f"{t}_GET_INDEX({', '.join(f'(c)[{i}]' for i in range(view.rank))})")
    sizes = [f"{t}_SIZE_{i}" for i in range(view.rank)]
    writer.define(f"{t}_COUNT", "(" + (" * ".join(sizes) or "1") + ")")
    steps = []
    for axis in reversed(range(view.rank)):
        steps.append(f"(c)[{axis}] = r_ % {t}_SIZE_{axis}; r_ /= {t}_SIZE_{axis};" if axis
                     else "(c)[0] = r_;")
    writer.define(f"{t}_UNRAVEL(i, c)", "do { index_t r_ = (i); " + " ".join(steps) + " } while (0)")


def _axis_index(t: str, axis: int, view: TensorView) -> str:
    blocks = view.blocks[axis]
    if blocks is None:
        return f"(c{axis}) * {t}_PITCH_{axis}"
    coordinate = f"((c{axis}) + {blocks.lower})"
    whole = math.prod(size for size, _ in blocks.levels)
    terms = [f"{coordinate} / {whole} * {t}_PITCH_{axis}"]
    for size, pitch in blocks.levels:
        whole //= size
        terms.append(f"{coordinate} / {whole} % {size} * {pitch}")
    return " + ".join(terms)
