"""Protocol buffers on the wire: a message as its fields in order, of which parts can be replaced.

Source: https://protobuf.dev/programming-guides/encoding/.
"""
from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

VARINT, FIXED_64, LENGTH, FIXED_32 = 0, 1, 2, 5

Bytes: TypeAlias = bytes | memoryview


class WireError(ValueError):
    """Bytes that are no message."""


class Field(NamedTuple):
    """A field by its number, its kind on the wire, and its value: a whole number of a VARINT, else bytes, of a LENGTH
    also in several pieces."""

    number: int
    kind: int
    value: int | Bytes | list[Bytes]


def read_fields(content: Bytes) -> Iterator[Field]:
    """The fields of a message; what they hold is not copied. Errors: WireError."""
    at, end = 0, len(content)
    while at < end:
        tag, at = _read_varint(content, at)
        kind = tag & 7
        if kind == VARINT:
            number, at = _read_varint(content, at)
            yield Field(tag >> 3, kind, number)
            continue
        if kind == LENGTH:
            size, at = _read_varint(content, at)
        elif kind in (FIXED_32, FIXED_64):
            size = 4 if kind == FIXED_32 else 8
        else:
            raise WireError(f"there is no kind {kind} of fields")
        if at + size > end:
            raise WireError("a field ends beyond its message")
        yield Field(tag >> 3, kind, content[at:at + size])
        at += size


def write_fields(fields: Iterable[Field]) -> list[Bytes]:
    """The bytes of a message in pieces."""
    pieces: list[Bytes] = []
    for field in fields:
        pieces.append(_varint(field.number << 3 | field.kind))
        if isinstance(field.value, int):
            pieces.append(_varint(field.value))
            continue
        value = field.value if isinstance(field.value, list) else [field.value]
        if field.kind == LENGTH:
            pieces.append(_varint(sum(len(piece) for piece in value)))
        pieces += value
    return pieces


def text_field(number: int, text: str) -> Field:
    """A field with text."""
    return Field(number, LENGTH, text.encode())


def text_of(field: Field) -> str:
    """The text of a field. Errors: WireError if it is none."""
    if not isinstance(field.value, (bytes, memoryview)):
        raise WireError("a number where a text is expected")
    try:
        return bytes(field.value).decode()
    except UnicodeDecodeError as error:
        raise WireError(str(error)) from None


def domain_of(field: Field) -> str:
    """The domain of operators in a field; ONNX's own, which has two names, is empty. Errors: WireError."""
    text = text_of(field)
    return "" if text == "ai.onnx" else text


def content_of(field: Field) -> Bytes:
    """The bytes of a field. Errors: WireError if it is a number."""
    if isinstance(field.value, int):
        raise WireError("a number where a message is expected")
    return b"".join(field.value) if isinstance(field.value, list) else field.value


def numbers_of(field: Field) -> list[int]:
    """The whole numbers, with sign, of a field that repeats, packed or not."""
    if isinstance(field.value, int):
        return [_signed(field.value)]
    content, at, found = content_of(field), 0, []
    while at < len(content):
        number, at = _read_varint(content, at)
        found.append(_signed(number))
    return found


def floats_of(field: Field) -> list[float]:
    """The floats of 32 bits of a field that repeats, packed or not."""
    return [number for number, in struct.iter_unpack("<f", content_of(field))]


def unsigned(number: int) -> int:
    """A whole number with sign as the wire has it."""
    return number & 0xFFFF_FFFF_FFFF_FFFF


def _signed(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number


def _varint(number: int) -> bytes:
    content = bytearray()
    while number > 0x7F:
        content.append(number & 0x7F | 0x80)
        number >>= 7
    content.append(number)
    return bytes(content)


def _read_varint(content: Bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, lowest first, and the place behind it."""
    if at < len(content) and content[at] < 0x80:
        return content[at], at + 1
    value = shift = 0
    while at < len(content) and shift < 70:
        byte = content[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if not byte & 0x80:
            return value, at
        shift += 7
    raise WireError("a number is cut off")
