"""`clinfer operations` and docs/operations.md: what they say is there runs, what they say is missing does not."""
from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from clinfer.api.core import Core
from clinfer.cli.operations import page
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.frontend.opsets import list_operations
from clinfer.ops import CONVERTERS, all_operations, byte_rows
from tests.cli.test_cli import call

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_current() -> None:
    written = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    assert written == page(list_operations()), \
        "write docs/operations.md anew: clinfer operations --markdown > docs/operations.md"


def test_every_converter_is_for_an_operation_of_an_opset_or_of_a_cache() -> None:
    operations = {each.name: each for each in list_operations()}
    converted = set(CONVERTERS) - set(byte_rows.OPERATION.converters)
    assert converted <= set(operations)
    assert all(operations[name].runs == "native" for name in converted)


def test_every_kernel_is_on_the_page() -> None:
    text = page(list_operations())
    tables = [table for family in all_operations() for table in family.kernels.values()]
    kernels = {kernel.name for table in tables for kernel in table.kernels}
    assert all(f"`{name}`" in text for name in kernels)
    row = next(line for line in text.splitlines() if line.startswith("| `softmax` |"))
    assert row.split(" | ")[1:] == ["`softmax_rows`, `softmax_columns`, `softmax_ref`", "`softmax_columns16`", " |"]


def test_one_that_transformations_replace_runs(rng: np.random.Generator) -> None:
    x = ov.opset13.parameter([3], np.float16)
    y = ov.opset13.parameter([3], np.float32)
    both = ov.opset14.convert_promote_types(x, y)
    model = ov.Model([ov.opset13.add(both.output(0), both.output(1))], [x, y])
    a, b = rng.random(3, np.float32).astype(np.float16), rng.random(3, np.float32)
    found = Core().compile_model(model, "CPU").create_infer_request().infer([a, b])[0]
    np.testing.assert_allclose(found, a.astype(np.float32) + b, rtol=1e-3)


def test_the_command() -> None:
    operations = json.loads(call("operations", "--json").stdout)["operations"]
    rows = [line.split() for line in call("operations").stdout.splitlines()]
    for each in operations:
        assert [each["name"], *", ".join(map(str, each["versions"])).split(), each["runs"]] in rows
    assert call("operations", "--markdown").stdout == (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
