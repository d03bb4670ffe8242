"""`clinfer operations`: which of OpenVINO's operations clinfer runs, and how."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from importlib import import_module
from typing import Any

from clinfer.cli.table import print_json, print_line, print_table
from clinfer.frontend.opsets import Operation, list_element_types, list_operations
from clinfer.kernels.contract import Kernel
from clinfer.ops import all_operations
from clinfer.ops.operation import Case
from clinfer.ops.operation import Operation as Family
from clinfer.runtime.capabilities import Capabilities
from clinfer.runtime.ceilings import default_ceilings
from clinfer.runtime.hardware import Hardware

_INTRODUCTION = """# Operations

How clinfer runs the operations of OpenVINO's opsets. Written by `clinfer operations --markdown` from `clinfer/ops/` and
from OpenVINO's opsets; the names are those that OpenVINO gives the operations of a model that it reads. What becomes of
ONNX's operations is in [conformance](conformance.md#by-operation).

- **native**: by kernels on the device, or by NumPy, in `clinfer/ops/<folder>/`; *types* are those of its test rows.
- **host**: OpenVINO's CPU plugin computes this layer on the host, in f32, in the middle of the model; see
  [host fallback](host_fallback.md).
- **no**: a model with it is refused when it is compiled.

A native operation runs on the host, too, where its attributes, shapes or types are none that its kernels take.
`core.query_model(model, "CPU")` tells of a model layer by layer what would run, and where.
"""

_PLAINEST = Capabilities(
    device_type="GPU", opencl_c_version=(1, 2), compute_units=1, vector_floats=1, max_work_group_size=1,
    max_work_item_sizes=(1, 1, 1), local_mem_size=0, global_mem_size=0, max_alloc_size=0, buffer_alignment=1,
    unified_memory=False, host_mem_size=0, usable_local_mem=0, fp16=False, fp16_builtins=False, fp64=False,
    subgroup_size=0, subgroup_sizes=(), subgroup_builtins=(), subgroup_option="", struct_argument=True,
    builtin_prefetch=False, integer_dot_product=False, byte_products=False, short_products=False, int64_atomics=False,
    tensor_cores=False, warp_group_products=False, bulk_copies=False, megakernels=False, float_products=False,
    bf16_products=False, tile_registers=False, out_of_order_queue=False, profiling_queue=False, usm_types=(), svm=False,
    overlapping_parts=False, image_channels=0, buffers_in_place=False,
    ceilings=default_ceilings("GPU", 1, fp16=False), hardware=Hardware("GPU", "", "", "", "", ()))
"""A device that can do nothing but OpenCL C 1.2: what runs on it runs on all."""


def print_operations(as_markdown: bool, as_json: bool) -> None:
    """Print every operation and how it runs, or the page that documents them."""
    operations = list_operations()
    if as_markdown:
        print(page(operations), end="")
    elif as_json:
        print_json({"operations": [asdict(each) for each in operations], "types": asdict(list_element_types())})
    else:
        print_table("operations", ("operation", "opsets", "runs"),
                    [(each.name, _numbers(each.versions), each.runs) for each in operations])
        print_line(_count(operations))


def page(operations: tuple[Operation, ...]) -> str:
    """The text of `docs/operations.md`."""
    types = list_element_types()
    families = all_operations()
    folders = {kind: family for family in families for kind in family.converters}
    tested = {family.name: _tested_types(family) for family in families}
    rows = (_row(each, folders.get(each.name), tested) for each in operations)
    return "\n".join([
        _INTRODUCTION, f"{_count(operations)}.", "",
        "| operation | versions of opset | runs | folder | types |", "| --- | --- | --- | --- | --- |", *rows, "",
        "## Kernels by folder", "",
        "Those of a folder's own operations. Where none stands, they are made of those of other folders, are views of",
        "memory, or are computed by NumPy.", "",
        "| folder | any device | CPUs | tensor cores |", "| --- | --- | --- | --- |", *map(_kernel_row, families), "",
        "## Types of elements", "", f"On the device: {_list(types.there)}.", "",
        f"Only on the host, see [host fallback](host_fallback.md): {_list(types.on_host)}.", "",
        f"Only as constants, which a Convert unpacks when the model is read: {_list(types.missing)}.", ""])


def _row(operation: Operation, family: Family | None, tested: dict[str, dict[str, list[str]]]) -> str:
    folder = f"`{family.name}`" if family else ""
    types = ", ".join(tested[family.name].get(operation.name, ())) if family else ""
    return f"| `{operation.name}` | {_numbers(operation.versions)} | {operation.runs} | {folder} | {types} |"


def _tested_types(family: Family) -> dict[str, list[str]]:
    """By operation, the types of the tensors in its rows."""
    found: dict[str, dict[str, None]] = {}
    for case in import_module(f"clinfer.ops.{family.name}.cases").CASES:
        found.setdefault(case.op, {}).update(dict.fromkeys(_types(case)))
    return {name: sorted(types) for name, types in found.items()}


def _types(case: Case) -> Iterator[str]:
    for given in case.inputs:
        if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], str):
            yield given[1]


def _kernel_row(family: Family) -> str:
    by_target: dict[str, dict[str, None]] = {"any": {}, "CPU": {}, "tensor cores": {}}
    for table in family.kernels.values():
        for kernel in table.kernels:
            by_target[_target(kernel)][kernel.name] = None
    return f"| `{family.name}` | {' | '.join(_list(names) for names in by_target.values())} |"


def _target(kernel: Kernel[Any, Any]) -> str:
    """Where a kernel runs, by the reason that it gives elsewhere."""
    refusal = kernel.targets(_PLAINEST)
    return "any" if refusal is None else "CPU" if "CPU" in refusal else "tensor cores"


def _list(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _numbers(versions: tuple[int, ...]) -> str:
    return ", ".join(map(str, versions))


def _count(operations: tuple[Operation, ...]) -> str:
    count = Counter(each.runs for each in operations)
    return (f"{count['native']} of {len(operations)} operations are native, OpenVINO computes {count['host']} on the "
            f"host, {count['no']} are refused")
