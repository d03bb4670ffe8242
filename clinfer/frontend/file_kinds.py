"""Which files can hold a model at all, found out before OpenVINO tries them.

OpenVINO asks its TensorFlow front end last, for files that no other front end takes. That one reads whatever it is
given as text in the end, and its parser prints lines of its own to standard error for files that are none. So files
that cannot be TensorFlow's are kept from it.
"""
from __future__ import annotations

import mmap
import re
from functools import cache
from pathlib import Path

from clinfer.frontend.openvino_import import openvino as ov

_TENSORFLOW = "tf"
# GraphDef, SavedModel and MetaGraphDef have fields 1 to 7; protocol buffers number what they write to disk from 1.
_LARGEST_FIELD = 15
_VARINT, _FIXED_64, _LENGTH, _FIXED_32 = 0, 1, 2, 5
# The fields of GraphDef, of which a textual graph (.pbtxt) is made, behind comments.
_TEXTUAL_GRAPH = re.compile(rb"(?:\s|#[^\n]*\n)*(?:node|library|versions?|debug_info)\s*[:{<]")


def can_hold_model(path: Path) -> bool:
    """Whether a front end of OpenVINO may take this path; False only where none will. Folders are left to OpenVINO.
    Errors: OSError for a file that cannot be opened."""
    if path.is_dir():
        return True
    if not path.is_file() or path.stat().st_size == 0:
        return False
    return any(front_end.supported(str(path)) for front_end in _other_front_ends()) or _may_be_tensorflow(path)


@cache
def _other_front_ends() -> tuple[ov.frontend.FrontEnd, ...]:
    manager = ov.frontend.FrontEndManager()
    names = [name for name in manager.get_available_front_ends() if name != _TENSORFLOW]
    return tuple(manager.load_by_framework(name) for name in names)


def _may_be_tensorflow(path: Path) -> bool:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return _TEXTUAL_GRAPH.match(content) is not None or _is_protocol_buffer(content)


def _is_protocol_buffer(content: mmap.mmap) -> bool:
    """Whether the outermost fields of a message fill the content exactly."""
    at = 0
    while at < len(content):
        tag, at = _read_varint(content, at)
        field, kind = tag >> 3, tag & 7
        if not 1 <= field <= _LARGEST_FIELD:
            return False
        if kind == _VARINT:
            _, at = _read_varint(content, at)
        elif kind == _LENGTH:
            length, at = _read_varint(content, at)
            at += length
        elif kind in (_FIXED_32, _FIXED_64):
            at += 4 if kind == _FIXED_32 else 8
        else:
            return False
    return at == len(content)


def _read_varint(content: mmap.mmap, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, lowest first, and the place behind it; far behind the end where it is cut off."""
    value = shift = 0
    while at < len(content):
        byte = content[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if not byte & 0x80:
            return value, at
        shift += 7
    return value, len(content) + 1
