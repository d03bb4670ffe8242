"""Element types: their size, their NumPy storage and their spelling in OpenCL C."""
from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from clinfer.base import float8
from clinfer.base.errors import ClinferError
from clinfer.base.grid import Grid


@dataclass(frozen=True)
class ElementType:
    """One element type.

    `bits` per element in device memory; `storage` is the NumPy type of one unit of that memory
    (bf16 and f8 are held as their raw bits, u4/i4 as bytes of two elements, low nibble first);
    `cl_storage` is the OpenCL C type of the same unit and `cl_compute` the type that arithmetic
    uses after a load (narrower floats compute in float). `grid`: elements are floats that are held
    as whole numbers of 8 bits of that grid; the name tells it.
    """

    name: str
    bits: int
    storage: np.dtype
    cl_storage: str
    cl_compute: str
    is_float: bool = False
    grid: Grid | None = None

    @property
    def macro(self) -> str:
        """By which name the macros of kernels know how elements are loaded and stored."""
        return self.name if self.grid is None else _ON_GRID

    @property
    def computed(self) -> ElementType:
        """The type of what is computed of such elements, where that is not said otherwise."""
        return self if self.grid is None else f32

    @property
    def arithmetic(self) -> ElementType:
        """The type whose elements kernels hold without loss while they compute: `cl_compute` in memory."""
        return next(kind for kind in ALL_TYPES if kind.cl_storage == self.cl_compute)

    @property
    def is_packed(self) -> bool:
        """Whether elements share a byte."""
        return 0 < self.bits < 8

    @property
    def is_string(self) -> bool:
        """Whether elements are texts."""
        return self.bits == 0

    @property
    def is_on_host_only(self) -> bool:
        """Whether no device holds tensors of the type: their values are known to OpenVINO alone."""
        return not self.cl_storage

    @property
    def numpy(self) -> np.dtype:
        """The NumPy type of unpacked values (bf16, f8 and grids unpack to float32, u4/i4 to u8/i8)."""
        return _UNPACKED.get(self.macro, self.storage)

    @property
    def is_encoded(self) -> bool:
        """Whether memory holds other numbers than arrays of the values."""
        return self.macro in _UNPACKED

    def byte_size(self, count: int) -> int:
        """Bytes that `count` consecutive elements take."""
        return (count * self.bits + 7) // 8

    def encode(self, values: np.ndarray) -> np.ndarray:
        """Flat logical values -> flat storage units (rounding to nearest even for bf16 and f8)."""
        if self.is_packed:
            return _pack(values, self.bits)
        if self.name == "bf16":
            return _float_to_bf16(values)
        if self in FLOAT8_TYPES:
            return float8.encode(self.name, values)
        if self.grid is not None:
            return self.grid.whole(values)
        return np.ascontiguousarray(values, dtype=self.storage)

    def decode(self, units: np.ndarray, count: int) -> np.ndarray:
        """Flat storage units -> `count` flat logical values."""
        if self.is_packed:
            return _unpack(units, count, self.bits, signed=self.name == "i4")
        if self.name == "bf16":
            return np.left_shift(units[:count], 16, dtype=np.uint32).view(np.float32)
        if self in FLOAT8_TYPES:
            return float8.decode(self.name, units[:count])
        if self.grid is not None:
            return self.grid.floats(units[:count])
        return units[:count]

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def of(name: str) -> ElementType:
        """The type of that OpenVINO name ("f32", "boolean", ...), or of the name that `on` gives."""
        found = _BY_NAME.get(name) or _of_grid(name)
        if found is None:
            raise ClinferError(f"unknown element type {name!r}", values={"known": ", ".join(_BY_NAME)})
        return found

    @staticmethod
    @lru_cache(maxsize=1024)
    def on(grid: Grid) -> ElementType:
        """The type of floats that are held as whole numbers of a grid."""
        name = f"{_ON_GRID}({grid.step!r}:{grid.zero_point})"
        return ElementType(name, 8, np.dtype("u1"), "uchar", "float", True, grid)

    @staticmethod
    def of_numpy(dtype: np.dtype | type) -> ElementType:
        """The type whose unpacked values have this NumPy type."""
        found = _BY_NUMPY.get(np.dtype(dtype))
        if found is None:
            raise ClinferError(f"no element type holds NumPy {np.dtype(dtype)}",
                               values={"known": ", ".join(str(d) for d in _BY_NUMPY)})
        return found


def _of_grid(name: str) -> ElementType | None:
    """The type of a name that tells a grid."""
    told = _GRID_NAME.fullmatch(name)
    if told is None:
        return None
    try:
        return ElementType.on(Grid(float(told[1]), int(told[2])))
    except (ClinferError, ValueError):
        return None


def _float_to_bf16(values: np.ndarray) -> np.ndarray:
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    units = np.empty(bits.shape, np.uint16)
    for start in range(0, bits.size, _PIECE):
        units[start:start + _PIECE] = _upper_half(bits[start:start + _PIECE])
    return units


def _upper_half(bits: np.ndarray) -> np.ndarray:
    """The upper 16 bits of floats, rounded to the nearest even; what is no number stays none."""
    rounded = bits >> 16
    rounded &= 1
    rounded += 0x7FFF
    rounded += bits
    rounded >>= 16
    is_nan = (bits & 0x7FFFFFFF) > 0x7F800000
    if is_nan.any():
        rounded[is_nan] = (bits[is_nan] >> 16) | 0x40
    return rounded


def _pack(values: np.ndarray, bits: int) -> np.ndarray:
    """Numbers of 2 or 4 bits as bytes, the first in the lowest bits."""
    each = 8 // bits
    numbers = np.asarray(values).astype(np.int64).astype(np.uint8) & ((1 << bits) - 1)
    numbers = np.pad(numbers, (0, -numbers.size % each))
    packed = np.zeros(numbers.size // each, np.uint8)
    for place in range(each):
        packed |= numbers[place::each] << (place * bits)
    return packed


def _unpack(units: np.ndarray, count: int, bits: int, signed: bool) -> np.ndarray:
    each = 8 // bits
    numbers = np.empty(units.size * each, np.uint8)
    for place in range(each):
        numbers[place::each] = (units >> (place * bits)) & ((1 << bits) - 1)
    values = numbers[:count]
    if not signed:
        return values
    return np.where(values > 7, values.astype(np.int16) - 16, values).astype(np.int8)


def _type(name: str, bits: int, storage: str, cl_storage: str, cl_compute: str,
          is_float: bool = False) -> ElementType:
    return ElementType(name, bits, np.dtype(storage), cl_storage, cl_compute, is_float)


f64 = _type("f64", 64, "f8", "double", "double", True)
f32 = _type("f32", 32, "f4", "float", "float", True)
f16 = _type("f16", 16, "f2", "half", "float", True)
bf16 = _type("bf16", 16, "u2", "ushort", "float", True)
f8e4m3 = _type("f8e4m3", 8, "u1", "uchar", "float", True)
f8e5m2 = _type("f8e5m2", 8, "u1", "uchar", "float", True)
i64 = _type("i64", 64, "i8", "long", "long")
i32 = _type("i32", 32, "i4", "int", "int")
i16 = _type("i16", 16, "i2", "short", "int")
i8 = _type("i8", 8, "i1", "char", "int")
u64 = _type("u64", 64, "u8", "ulong", "ulong")
u32 = _type("u32", 32, "u4", "uint", "uint")
u16 = _type("u16", 16, "u2", "ushort", "int")
u8 = _type("u8", 8, "u1", "uchar", "int")
boolean = _type("boolean", 8, "?", "uchar", "int")
u4 = _type("u4", 4, "u1", "uchar", "int")
i4 = _type("i4", 4, "u1", "uchar", "int")

ALL_TYPES = (f64, f32, f16, bf16, f8e4m3, f8e5m2, i64, i32, i16, i8, u64, u32, u16, u8, boolean, u4, i4)
FLOAT8_TYPES = (f8e4m3, f8e5m2)
HOST_TYPES = (_type("string", 0, "S", "", ""), _type("f4e2m1", 4, "u1", "", "", True),
              _type("nf4", 4, "u1", "", "", True), _type("f8e8m0", 8, "u1", "", "", True),
              _type("u2", 2, "u1", "", ""))
"""Types of tensors that stay on the host: bytes of texts in UTF-8 as arrays of NumPy's kind S, and codes of numbers."""
_PIECE = 1 << 15
"""Elements that are converted at a time: as many as stay in a core's own cache."""
_ON_GRID = "q8"
_GRID_NAME = re.compile(_ON_GRID + r"\(([-+.\de]{1,32}):(\d{1,3})\)")
_BY_NAME = {t.name: t for t in (*ALL_TYPES, *HOST_TYPES)}
_UNPACKED: dict[str, np.dtype] = {"bf16": np.dtype("f4"), "f8e4m3": np.dtype("f4"), "f8e5m2": np.dtype("f4"),
                                   _ON_GRID: np.dtype("f4"), "u4": np.dtype("u1"), "i4": np.dtype("i1"),
                                   "f4e2m1": np.dtype("u1"), "nf4": np.dtype("u1"), "u2": np.dtype("u1")}
_BY_NUMPY = {t.storage: t for t in ALL_TYPES if t.name not in _UNPACKED}
