"""Which clinfer this is: its version, and a digest of its code for what outlives the process."""
from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

VERSION = "0.1.0"


@cache
def code_digest() -> str:
    """A digest of every source of the package (Python, OpenCL and its headers), so that an edit of the code counts
    as another version wherever results of the code are kept on disk."""
    package = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for path in sorted(p for p in package.rglob("*") if p.suffix in (".py", ".cl", ".h")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(package).as_posix()}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]
