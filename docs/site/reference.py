"""Pages of the site that are not files of docs/: the first page, which is the README, and the API reference."""
from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from clinfer.api import names

ROOT = Path(__file__).resolve().parents[2]
HEAD = """# Reference

Every public name of clinfer's own. The others of `clinfer` are OpenVINO's, as they are: see
[coming from OpenVINO](coming_from_openvino.md).
"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made."""
    for name, text in (("index.md", first_page()), ("reference.md", reference())):
        files.append(File.generated(config, name, content=text))
    return files


def first_page() -> str:
    """The README; documents that stand beside it, outside of the site, are named and not linked to."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").replace("](docs/", "](")
    return re.sub(r"\[([^\]]+)\]\((?!https?:)([A-Z][A-Za-z.]*)\)", r"\1 (`\2`)", text)


def reference() -> str:
    """A heading and what mkdocstrings finds for each of clinfer's own names."""
    return HEAD + "".join(f"\n::: {_place(name)}\n" for name in names.__all__)


def _place(name: str) -> str:
    own = getattr(names, name)
    return f"{own.__module__}.{own.__qualname__}"
