"""What an engine tells about itself: the lines of the CLINFER_DEBUG ladder, the files of CLINFER_DUMP."""
from __future__ import annotations

import sys
import warnings

from clinfer.base import knobs
from clinfer.base.errors import ClinferError
from clinfer.base.files import write_whole


def log(level: int, text: str) -> None:
    """Print one line to standard error when the ladder stands at `level` or above."""
    if knobs.debug_level() >= level:
        print(f"clinfer: {text}", file=sys.stderr, flush=True)


_warned: set[str] = set()


def warn_once(text: str) -> None:
    """Warn of something that holds for the life of the process."""
    if text not in _warned:
        _warned.add(text)
        warnings.warn(text, RuntimeWarning, stacklevel=3)


def dump(name: str, text: str) -> None:
    """Write a file below the folder of CLINFER_DUMP, if there is one; ClinferError if it cannot be written."""
    folder = knobs.dump_dir()
    if folder is None:
        return
    try:
        write_whole(folder / name, [text.encode()])
    except OSError as error:
        raise ClinferError("a dump cannot be written", values={"CLINFER_DUMP": folder, "file": name, "reason": error},
                           hint="set CLINFER_DUMP to a folder that can be written, or unset it") from None
