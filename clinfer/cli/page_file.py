"""Pages as single files: a template of `page/` filled with style, script and data."""
from __future__ import annotations

import html
import json
from importlib import resources
from pathlib import Path
from typing import Any

from clinfer.base.errors import ClinferError


def fill_page(template: str, styles: tuple[str, ...], scripts: tuple[str, ...], title: str,
              data: dict[str, Any]) -> str:
    """The text of a page made of files of `page/`; the scripts, which are one, find `data` as JSON."""
    text = json.dumps(data, allow_nan=False, ensure_ascii=False).replace("<", "\\u003c")
    parts = {"@TITLE@": html.escape(title), "@STYLE@": "\n".join(map(_part, styles)),
             "@SCRIPT@": "\n".join(map(_part, scripts)), "@DATA@": text}
    page = _part(template)
    # Data comes last: nothing in it is taken for another part.
    for name, part in parts.items():
        page = page.replace(name, part, 1)
    return page


def write_file(page: str, target: Path) -> None:
    """Write a page. Errors: ClinferError if the file cannot be written."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(page, encoding="utf-8")
    except OSError as error:
        raise ClinferError("the page cannot be written", where="command line",
                           values={"to": target, "reason": error}) from None


def _part(name: str) -> str:
    """The text of a file of `page/`."""
    return resources.files(__package__).joinpath("page", name).read_text(encoding="utf-8")
