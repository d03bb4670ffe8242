"""`clinfer operations`: which of OpenVINO's operations clinfer runs, and which are missing."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from clinfer.cli.table import print_json, print_line, print_table
from clinfer.frontend.opsets import Operation, list_element_types, list_operations

_INTRODUCTION = """# Operations

Which operations of OpenVINO's opsets clinfer runs. Written by `clinfer operations --markdown` from the converters of
`clinfer/ops/` and from OpenVINO's opsets; the names are those that OpenVINO gives the operations of a model that it
reads. What becomes of ONNX's operations is in [conformance](conformance.md#by-operation).

A model with an operation that is missing is refused when it is compiled, with an `UnsupportedError` that lists all of
them and the layers that need them. `core.query_model(model, "CPU")` tells layer by layer what would run; it also sees
attributes, shapes and types that an operation does not take. Extensions of OpenVINO add operations to what it reads,
not to what clinfer runs: see [add an op](add_an_op.md).
"""


def print_operations(as_markdown: bool, as_json: bool) -> None:
    """Print every operation and whether it is there, or the page that documents them."""
    operations = list_operations()
    if as_markdown:
        print(page(operations), end="")
    elif as_json:
        print_json({"operations": [asdict(each) for each in operations], "types": asdict(list_element_types())})
    else:
        print_table("operations", ("operation", "first opset", "there"),
                    [(each.name, str(each.opset), "yes" if each.is_there else "no") for each in operations])
        print_line(_count(operations))


def page(operations: tuple[Operation, ...]) -> str:
    """The text of `docs/operations.md`."""
    missing = [f"| `{each.name}` | {each.opset} |" for each in operations if not each.is_there]
    there = _list(each.name for each in operations if each.is_there)
    types = list_element_types()
    return "\n".join([
        _INTRODUCTION, f"{_count(operations)}.", "", "## Missing", "", "| operation | since opset |", "| --- | ---: |",
        *missing, "", f"Types of elements: {_list(types.missing)}.", "",
        "## There", "", f"{there}.", "", f"Types of elements: {_list(types.there)}.", ""])


def _list(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _count(operations: tuple[Operation, ...]) -> str:
    there = sum(each.is_there for each in operations)
    return f"{there} of {len(operations)} operations are there, {len(operations) - there} are missing"
