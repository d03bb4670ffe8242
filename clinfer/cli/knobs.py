"""`clinfer knobs`: the environment variables that clinfer reads."""
from __future__ import annotations

from dataclasses import asdict

from clinfer.base import knobs
from clinfer.cli.table import print_json, print_line, print_table


def print_knobs(as_markdown: bool, as_json: bool) -> None:
    """Print every knob with its present value, or the page that documents them."""
    if as_markdown:
        print(knobs.page(), end="")
    elif as_json:
        print_json([{**asdict(knob), "value": knobs.value(knob.variable)} for knob in knobs.KNOBS])
    else:
        print_table("knobs", ("variable", "value", "default", "meaning"),
                    [(k.variable, knobs.value(k.variable) or "empty", k.default or "empty", k.meaning)
                     for k in knobs.KNOBS])
        for name in knobs.unknown_variables():
            print_line(f"{name} is set, but no knob of that name exists")
