"""Where a command writes to, looked at before work that would be lost."""
from __future__ import annotations

import os
from pathlib import Path

from clinfer.base.errors import ClinferError


def check_target(target: Path, is_folder: bool) -> None:
    """Raise ClinferError if a file or folder can surely not be written there. Nothing is made."""
    nearest = next(path for path in (target, *target.absolute().parents) if os.path.lexists(path))
    if nearest == target and target.is_dir() != is_folder:
        reason = "a folder is there" if target.is_dir() else "a file is there"
    elif nearest != target and not nearest.is_dir():
        reason = f"{nearest} is no folder"
    elif not os.access(nearest, os.W_OK):
        reason = f"{nearest} may not be written to"
    else:
        return
    raise ClinferError("the output cannot be written", where="command line",
                       values={"to": target, "reason": reason}, hint="give another path")
