"""The file around a compiled program: a header that says what it was made with, and sealed sections.

    8 bytes   magic
    u32, u32  format revision, size of the header
    32 bytes  SHA-256 of the header
    header    JSON: `made_with` (name -> value), `size` of the whole, `sections` (name -> offset, size, digest)
    sections  each at a multiple of ALIGNMENT

Integers are little-endian. The digest of a section is the SHA-256 of the sums (mod 2^64) of its blocks of 512 bytes
as integers of 64 bits, the last one filled with zeros: as fast as memory. Digests find damage; they do not prove where
a blob comes from.
"""
from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from clinfer.base.errors import ClinferError

ALIGNMENT = 64
REVISION = 2
_MAGIC = b"CLINFER\0"
_PRELUDE = struct.Struct("<8sII32s")
_LARGEST_HEADER = 1 << 20
_BLOCK = 512
_DIFFERENCES_SHOWN = 5
_ERROR_HINT = "export the model again with this clinfer on this device, or compile it from the model"

Chunk = bytes | memoryview


@dataclass(frozen=True)
class Blob:
    """The bytes of a blob in pieces, in order, so that large constants are not copied once more."""

    chunks: tuple[Chunk, ...]

    def __iter__(self) -> Iterator[Chunk]:
        return iter(self.chunks)

    def to_bytes(self) -> bytes:
        """All pieces in one."""
        return b"".join(self.chunks)


def padding(size: int) -> bytes:
    """The zeros between something of that size and the next multiple of ALIGNMENT."""
    return bytes(-size % ALIGNMENT)


def seal(made_with: Mapping[str, str], sections: Mapping[str, Sequence[Chunk]]) -> Blob:
    """A blob of these sections, each given in pieces."""
    table: dict[str, tuple[int, int, str]] = {}
    body: list[Chunk] = []
    position = 0
    for name, chunks in sections.items():
        size = sum(map(len, chunks))
        table[name] = (position, size, _digest(chunks))
        body += [*chunks, padding(size)]
        position += size + len(padding(size))
    header = json.dumps({"made_with": dict(made_with), "size": position, "sections": table}).encode()
    prelude = _PRELUDE.pack(_MAGIC, REVISION, len(header), hashlib.sha256(header).digest())
    return Blob((prelude, header, padding(len(prelude) + len(header)), *body))


class Opened:
    """A blob whose header is whole; `made_with` is what `seal` was given.

    Errors (of every method): ClinferError that says whether it is no blob, of another revision, truncated
    or damaged.
    """

    def __init__(self, content: memoryview) -> None:
        header, self._body = _split(content)
        try:
            described = json.loads(header)
            self.made_with = {str(name): str(value) for name, value in described["made_with"].items()}
            self._sections: dict[str, list[Any]] = dict(described["sections"])
            size = int(described["size"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise refusal("the header of the compiled blob makes no sense", {"because": error}) from None
        if len(self._body) != size:
            kind = "truncated" if len(self._body) < size else "longer than it was written"
            raise refusal(f"the compiled blob is {kind}", {"bytes behind the header": len(self._body),
                                                          "expected": size})

    def check_made_with(self, present: Mapping[str, str]) -> None:
        """Raise unless the blob was made with exactly these; the error lists the first things that differ."""
        names = [*present, *(name for name in self.made_with if name not in present)]
        different = {name: f"{self.made_with.get(name, 'nothing')} in the blob, {present.get(name, 'nothing')} here"
                     for name in names if self.made_with.get(name) != present.get(name)}
        if different:
            raise refusal("the compiled blob was made with something else",
                          dict(list(different.items())[:_DIFFERENCES_SHOWN]))

    def section(self, name: str) -> memoryview:
        """The contents of a section, after a check of its digest."""
        try:
            offset, size, digest = self._sections[name]
            content = self._body[offset:offset + size]
        except (KeyError, ValueError, TypeError) as error:
            raise refusal("the compiled blob lacks a section", {"section": name, "because": error}) from None
        if len(content) != size or _digest([content]) != digest:
            raise refusal("the compiled blob is damaged", {"section": name, "bytes": size})
        return content


def _digest(chunks: Iterable[Chunk]) -> str:
    """The digest of a section that is given in pieces."""
    digest, begun = hashlib.sha256(), bytearray()
    for chunk in chunks:
        rest = memoryview(chunk)
        if begun:
            missing = _BLOCK - len(begun)
            begun += rest[:missing]
            rest = rest[missing:]
            if len(begun) < _BLOCK:
                continue
            digest.update(_sums(begun))
        end = len(rest) - len(rest) % _BLOCK
        digest.update(_sums(rest[:end]))
        begun = bytearray(rest[end:])
    digest.update(_sums(begun + bytes(-len(begun) % _BLOCK)))
    return digest.hexdigest()


def _sums(blocks: Chunk | bytearray) -> bytes:
    return np.frombuffer(blocks, "<u8").reshape(-1, _BLOCK // 8).sum(axis=1, dtype="<u8").tobytes()


def refusal(what: str, values: Mapping[str, object]) -> ClinferError:
    """The error for a blob that cannot be used."""
    return ClinferError(what, where="compiled blob", values=values, hint=_ERROR_HINT)


@contextmanager
def making_sense() -> Iterator[None]:
    """Turns what goes wrong where the contents of a blob are used into a `refusal`: sound digests do not prove that
    they were written by clinfer."""
    try:
        yield
    except ClinferError:
        raise
    except Exception as error:
        raise refusal("the contents of the compiled blob make no sense",
                      {"because": f"{type(error).__name__}: {error}"}) from None


def _split(content: memoryview) -> tuple[bytes, memoryview]:
    """The checked header, and what lies behind it."""
    if len(content) < _PRELUDE.size or bytes(content[:len(_MAGIC)]) != _MAGIC:
        raise refusal("this is no compiled blob", {"bytes": len(content), "begins with": bytes(content[:8])})
    _, revision, size, digest = _PRELUDE.unpack(content[:_PRELUDE.size])
    if revision != REVISION:
        raise refusal("the compiled blob has another format", {"its revision": revision, "known revision": REVISION})
    end = _PRELUDE.size + size
    if size <= _LARGEST_HEADER and len(content) < end:
        raise refusal("the compiled blob is truncated", {"bytes": len(content), "its header ends at": end})
    header = bytes(content[_PRELUDE.size:end])
    if size > _LARGEST_HEADER or hashlib.sha256(header).digest() != digest:
        raise refusal("the header of the compiled blob is damaged", {"bytes of header": size})
    return header, content[end + len(padding(end)):]
