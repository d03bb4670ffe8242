"""Contexts that are described by properties."""
from __future__ import annotations

import sys

from clinfer.base.errors import ClinferError
from clinfer.remote.context import ClContext, RemoteContext, Settings
from clinfer.remote.descriptors import Descriptor, Entries, find
from clinfer.remote.media import D3DContext, MediaContext, VAContext

WHERE = "remote context"


def _over_opencl(core: Settings, given: dict[str, int]) -> RemoteContext:
    if given.get("TILE_ID", -1) != -1:
        raise ClinferError("clinfer works on whole devices, not on their tiles", where=WHERE,
                           values={"TILE_ID": given["TILE_ID"]}, hint="leave it out, or give -1")
    return ClContext(core, ctx_device_id=given.get("OCL_CONTEXT_DEVICE_ID"), cl_context=given["OCL_CONTEXT"],
                     queue=given.get("OCL_QUEUE"))


def _over_media(core: Settings, given: dict[str, int]) -> RemoteContext:
    kind: type[MediaContext] = D3DContext if sys.platform == "win32" else VAContext
    return kind(core, given["VA_DEVICE"], given.get("TILE_ID", -1))


CONTEXTS = (
    Descriptor("OCL", ("OCL_CONTEXT",), ("OCL_QUEUE", "OCL_CONTEXT_DEVICE_ID", "TILE_ID"), _over_opencl),
    Descriptor("VA_SHARED", ("VA_DEVICE",), ("TILE_ID",), _over_media),
)
"""What `Core.create_context` makes: (core, entries) -> context. VA_SHARED is Direct3D 11 on Windows."""


def make_context(core: Settings, entries: Entries) -> RemoteContext:
    """The context that properties describe. Errors: other entries than expected."""
    row, given = find("CONTEXT_TYPE", CONTEXTS, entries, WHERE)
    made: RemoteContext = row.make(core, given)
    return made
