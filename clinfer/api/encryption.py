"""The user's own functions that encrypt and decrypt compiled blobs (CACHE_ENCRYPTION_CALLBACKS)."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clinfer.base.errors import ClinferError, WrongTypeError
from clinfer.program.blobs.container import Blob


@dataclass(frozen=True)
class Encryption:
    """`encrypt` and `decrypt` take the bytes of a whole blob and give bytes.

    Errors of both methods: ClinferError if a callback raises, WrongTypeError if it gives something else.
    """

    encrypt: Callable[[bytes], Any]
    decrypt: Callable[[bytes], Any]

    def encrypted(self, blob: Blob) -> Blob:
        """A blob as it is written."""
        return Blob((_called("encrypts", self.encrypt, blob.to_bytes()),))

    def decrypted(self, content: memoryview) -> memoryview:
        """What was written, as a blob."""
        return _called("decrypts", self.decrypt, bytes(content))


def _called(does: str, callback: Callable[[bytes], Any], content: bytes) -> memoryview:
    try:
        given = callback(content)
    except Exception as error:
        raise ClinferError(f"the function that {does} blobs failed", where="CACHE_ENCRYPTION_CALLBACKS",
                           values={"because": f"{type(error).__name__}: {error}"},
                           hint="check that the blob was encrypted by the function that belongs to it") from error
    if not isinstance(given, bytes | bytearray | memoryview):
        raise WrongTypeError(f"the function that {does} blobs gives bytes", where="CACHE_ENCRYPTION_CALLBACKS",
                             values={"given": type(given).__name__})
    return memoryview(given).cast("B")
