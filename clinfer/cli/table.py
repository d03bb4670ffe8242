"""What commands print: drawn tables on a terminal, plain aligned columns in a pipe."""
from __future__ import annotations

import json
import re
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[-+]\d+)?%?|-")


def print_line(text: str) -> None:
    """Print one line as it is; on a terminal it is wrapped between words."""
    console = Console()
    if console.is_terminal:
        console.print(escape(text), highlight=False)
    else:
        print(text)


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows below their column names; every line of a pipe is one row."""
    console = Console()
    if console.is_terminal:
        console.print(_draw(title, columns, rows), "")
        return
    clean = [[" ".join(cell.split()) for cell in row] for row in (columns, *rows)]
    widths = [max(map(len, column)) for column in zip(*clean, strict=True)]
    for row in clean:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _draw(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Cells that are too wide go on in the next line: nothing is cut off. Numbers stand in one line, to the right."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False,
                  collapse_padding=True)
    for index, column in enumerate(columns):
        is_number = bool(rows) and all(_NUMBER.fullmatch(row[index]) for row in rows)
        table.add_column(column, overflow="fold", no_wrap=is_number, justify="right" if is_number else "left")
    for row in rows:
        table.add_row(*map(escape, row))
    return table


def print_json(data: object) -> None:
    """Print JSON that every reader takes: no NaN, no infinity."""
    print(json.dumps(data, indent=2, allow_nan=False))
