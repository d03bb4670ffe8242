"""The type of memory that PrePostProcessor's `set_memory_type` says of an input."""
from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from clinfer.base.errors import UnsupportedError
from clinfer.base.scratch import scratch_folder
from clinfer.frontend.conversions import layer_of
from clinfer.frontend.openvino_import import openvino as ov

BUFFER, SURFACE = "GPU_BUFFER", "GPU_SURFACE"
_KEY = "memory_type"


def is_surface(node: ov.op.Parameter) -> bool:
    """Whether the memory of an input is images. Errors: an unknown type of memory."""
    if f"{_KEY}_0" not in node.output(0).get_rt_info():
        return False
    kind = _memory_type(node)
    if kind not in ("", BUFFER, SURFACE):
        raise UnsupportedError(f"memory of type {kind!r} is not supported", where=layer_of(node),
                               values={"supported": f"{BUFFER}, {SURFACE}"})
    return kind == SURFACE


def _memory_type(node: ov.op.Parameter) -> str:
    """The value, which Python cannot read from a model, from one of the input alone as it would be stored."""
    alone = ov.Model([ov.op.Result(node.output(0))], [node], "memory type")
    with scratch_folder() as folder:
        path = Path(folder) / "input.xml"
        ov.serialize(alone, str(path), str(path.with_suffix(".bin")))
        del alone
        found = ElementTree.parse(path).find(f".//attribute[@name='{_KEY}']")
    return "" if found is None else found.get("value", "")
