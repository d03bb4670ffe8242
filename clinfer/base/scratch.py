"""Files and folders that live as long as one step: in the system's folder for them, or in memory where nothing else can
be written to, as in a container whose root is read-only."""
from __future__ import annotations

import os
import tempfile
from typing import IO

from clinfer.base.errors import ClinferError

_IN_MEMORY = "/dev/shm"


def scratch_file() -> IO[bytes]:
    """A file without a name, which is gone when it is closed. Errors: see `scratch_folder`."""
    return tempfile.TemporaryFile(dir=_place())


def scratch_folder(prefix: str = "clinfer-") -> tempfile.TemporaryDirectory[str]:
    """A folder, which is gone when the block that it is entered for ends. Errors: ClinferError where there is no
    place for one."""
    return tempfile.TemporaryDirectory(prefix=prefix, dir=_place())


def _place() -> str:
    try:
        return tempfile.gettempdir()
    except FileNotFoundError as error:
        if os.access(_IN_MEMORY, os.W_OK):
            return _IN_MEMORY
        raise ClinferError("no folder for temporary files can be written to", where="temporary files", values={
            "system says": error.strerror, "also tried": _IN_MEMORY},
            hint="set TMPDIR to a folder that can be written to") from None
