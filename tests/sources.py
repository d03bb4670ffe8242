"""The repository's own files, for the rules of the house."""
from __future__ import annotations

from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "clinfer"
OPERATIONS = PACKAGE / "ops"
SHARED = "shared"
MAX_WIDTH = 120
_GENERATED = {"build", "dist", "__pycache__"}


def is_ours(path: Path) -> bool:
    parts = path.relative_to(ROOT).parts
    hidden = any(part.startswith(".") and part not in (".ci", ".gitignore") for part in parts)
    return not hidden and not any(part in _GENERATED or part.endswith(".egg-info") for part in parts)


@cache
def files(*suffixes: str) -> tuple[Path, ...]:
    """The repository's own files with one of the suffixes ("" means none)."""
    return tuple(sorted(p for p in ROOT.rglob("*") if p.suffix in suffixes and p.is_file() and is_ours(p)))


def python_files(folder: Path) -> list[Path]:
    return [path for path in files(".py") if path.is_relative_to(folder)]


def place(path: Path, line: int = 0) -> str:
    return f"{path.relative_to(ROOT)}{f':{line}' if line else ''}"
