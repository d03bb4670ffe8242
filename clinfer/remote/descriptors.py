"""Properties by which OpenVINO describes contexts and tensors: the first entry says what the others are."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.shape import StaticShape
from clinfer.remote.objects import read_handle

if TYPE_CHECKING:
    from clinfer.remote.context import RemoteContext
    from clinfer.remote.tensors import RemoteTensor

Entries = Mapping[str, Any]
Make = Callable[..., Any]


@dataclass(frozen=True)
class Descriptor:
    """A value of the first entry, the entries that must be there besides it, and those that may.

    `make` gets what the entries describe is made from, and then all of them as integers.
    """

    value: str
    needed: tuple[str, ...]
    allowed: tuple[str, ...]
    make: Make

    def __str__(self) -> str:
        entries = ", ".join([*self.needed, *(f"[{name}]" for name in self.allowed)])
        return f"{self.value} with {entries}" if entries else f"{self.value} alone"


def find(key: str, table: Sequence[Descriptor], entries: Entries, where: str) -> tuple[Descriptor, dict[str, int]]:
    """The descriptor of some entries, checked against it, and the other entries as integers."""
    expected: dict[str, object] = {f"expected {key}": "; or ".join(str(row) for row in table)}
    if key not in entries:
        raise ClinferError(f"{key} is missing, which says what the other entries are", where=where,
                           values={"given": ", ".join(map(str, entries)) or "nothing", **expected})
    row = next((row for row in table if row.value == str(entries[key])), None)
    if row is None:
        raise ClinferError(f"{key} has another value than expected", where=where,
                           values={"given": repr(entries[key]), **expected})
    missing = [name for name in row.needed if entries.get(name) is None]
    unknown = [str(name) for name in entries if name not in (key, *row.needed, *row.allowed)]
    if missing or unknown:
        told = {"missing": ", ".join(missing), "not known": ", ".join(unknown)}
        raise ClinferError(f"{key} {row.value} has other entries", where=where, values={
            **{name: names for name, names in told.items() if names}, f"expected {key}": str(row)})
    return row, {name: _read(name, value) for name, value in entries.items() if name != key and value is not None}


_NUMBERS = ("VA_PLANE", "TILE_ID", "OCL_CONTEXT_DEVICE_ID")


def _read(name: str, value: Any) -> int:
    if name not in _NUMBERS:
        return read_handle(name, getattr(value, "int_ptr", value), least=0 if name == "DEV_OBJECT_HANDLE" else 1)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ClinferError(f"{name} is no number", where="remote context", values={"given": repr(value)})
    return value


_OWNERS = ("OCL_CONTEXT", "VA_DEVICE")
_OF_MEDIA = (*_OWNERS, "MEM_HANDLE")
"""The object says what it is; a cl_mem that OpenVINO's own classes give besides it counts for nothing."""

TENSORS = (
    Descriptor("OCL_BUFFER", ("MEM_HANDLE",), ("OCL_CONTEXT",), lambda context, kind, shape, given:
               context.create_tensor(kind.name, shape, cl_mem=given["MEM_HANDLE"])),
    Descriptor("OCL_IMAGE2D", ("MEM_HANDLE",), ("OCL_CONTEXT",), lambda context, kind, shape, given:
               context.create_tensor(kind.name, shape, cl_mem=given["MEM_HANDLE"])),
    Descriptor("USM_USER_BUFFER", ("MEM_HANDLE",), ("OCL_CONTEXT",), lambda context, kind, shape, given:
               context.create_tensor(kind.name, shape, usm=given["MEM_HANDLE"])),
    Descriptor("USM_HOST_BUFFER", (), ("OCL_CONTEXT",), lambda context, kind, shape, given:
               context.create_usm_host_tensor(kind.name, shape)),
    Descriptor("USM_DEVICE_BUFFER", (), ("OCL_CONTEXT",), lambda context, kind, shape, given:
               context.create_usm_device_tensor(kind.name, shape)),
    Descriptor("VA_SURFACE", ("DEV_OBJECT_HANDLE", "VA_PLANE"), _OF_MEDIA, lambda context, kind, shape, given:
               context.over_surface(kind, shape, given["DEV_OBJECT_HANDLE"], given["VA_PLANE"])),
    Descriptor("DX_BUFFER", ("DEV_OBJECT_HANDLE",), _OF_MEDIA, lambda context, kind, shape, given:
               context.over_media_buffer(kind, shape, given["DEV_OBJECT_HANDLE"])),
)
"""What `create_tensor` of a context, given properties, makes: (context, element type, shape, entries) -> tensor."""

_CLASSES = {"OCL_BUFFER": "ClBufferTensor", "OCL_IMAGE2D": "ClImage2DTensor"}


def make_tensor(context: RemoteContext, kind: ElementType, shape: StaticShape, entries: Entries) -> RemoteTensor:
    """The tensor that properties describe. Errors: other entries than expected, those of another context, a handle of
    another kind."""
    row, given = find("SHARED_MEM_TYPE", TENSORS, entries, "remote tensor")
    own = context.get_params()
    for name in _OWNERS:
        if name in given and given[name] != own.get(name):
            raise ClinferError(f"{name} is not that of this context", where="remote tensor",
                               values={"given": f"{given[name]:#x}", "this context": context})
    made: RemoteTensor = row.make(context, kind, shape, given)
    if row.value in _CLASSES and type(made).__name__ != _CLASSES[row.value]:
        raise ClinferError(f"SHARED_MEM_TYPE {row.value} was given another kind of memory", where="remote tensor",
                           values={"MEM_HANDLE is": type(made).__name__})
    return made
