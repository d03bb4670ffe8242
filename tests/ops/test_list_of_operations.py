"""The list of operations: it tells what the folders convert, and no folder is imported before it is needed."""
from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import openvino as ov
import pytest
from openvino import opset13

from clinfer.ops import CONVERTERS, all_operations, kernels_of, operation_of, operation_within
from clinfer.ops.operation import Operation
from clinfer.ops.softmax import Softmax
from clinfer.topology import Primitive

_IMPORTED = ("import sys\n"
             "print(*sorted({name.split('.')[2] for name in sys.modules if name.startswith('clinfer.ops.')}))\n")


def imported_by(program: str) -> set[str]:
    """The folders of operations that a process has imported at the end of a program."""
    done = subprocess.run([sys.executable, "-c", program + "\n" + _IMPORTED], capture_output=True, text=True,
                          timeout=300, check=True)
    return set(done.stdout.split("\n")[-2].split())


def folders() -> set[str]:
    place = Path(sys.modules["clinfer.ops"].__path__[0])
    return {path.parent.name for path in place.glob("*/__init__.py")} - {"shared"}


def test_the_list_has_every_folder() -> None:
    assert {op.name for op in all_operations()} == folders()


@pytest.mark.parametrize("op", all_operations(), ids=lambda op: op.name)
def test_the_list_tells_what_a_folder_converts(op: Operation) -> None:
    listed: Mapping[str, tuple[str, ...]] = sys.modules["clinfer.ops"]._TYPES
    assert set(listed[op.name]) == set(op.converters)
    assert len(listed[op.name]) == len(op.converters)


def test_no_two_folders_convert_a_type() -> None:
    assert len(CONVERTERS) == sum(len(op.converters) for op in all_operations())


def test_an_operation_is_found_by_any_module_of_its_folder() -> None:
    softmax = operation_of("softmax")
    assert operation_within("clinfer.ops.softmax") is softmax
    assert operation_within("clinfer.ops.softmax.op") is softmax
    assert operation_within("clinfer.ops.shared.parts") is None
    assert operation_within("clinfer.ops.none_of_ours") is None
    assert operation_within("clinfer.topology.primitive") is None
    assert operation_within("theirs.clinfer.ops.softmax") is None
    assert kernels_of(Softmax("s", ())) is softmax.kernels[Softmax]
    assert not kernels_of(Primitive("p", ()))


def test_the_list_imports_no_folder_but_the_one_that_makes_converters() -> None:
    assert imported_by("import clinfer.ops") == {"custom", "operation", "shared"}


def test_what_passes_do_not_know_is_imported_when_a_model_has_it(tmp_path: Path) -> None:
    parameter = opset13.parameter([2, 3], np.float32)
    ov.save_model(ov.Model([opset13.cum_sum(parameter, np.int64(1))], [parameter], "sums"), tmp_path / "sums.xml")
    without = imported_by("import clinfer\nclinfer.Core()")
    assert not {"cum_sum", "stft", "detectron", "group_norm"} & without
    compiling = f"import clinfer\nclinfer.Core().compile_model({str(tmp_path / 'sums.xml')!r}, 'CPU')"
    assert imported_by(compiling) - without == {"cum_sum"}


def test_a_blob_is_read_where_no_folder_is_imported_yet(tmp_path: Path) -> None:
    parameter = opset13.parameter([2, 3], np.float32)
    ov.save_model(ov.Model([opset13.cum_sum(parameter, np.int64(1))], [parameter], "sums"), tmp_path / "sums.xml")
    compiled = f"clinfer.Core().compile_model({str(tmp_path / 'sums.xml')!r}, 'CPU')"
    imported_by(f"import clinfer\nopen({str(tmp_path / 'blob')!r}, 'wb').write({compiled}.export_model().getvalue())")
    result = imported_by(f"import clinfer, numpy\nmodel = clinfer.Core().import_model(open({str(tmp_path / 'blob')!r}, "
                         "'rb').read(), 'CPU')\n"
                         "assert (model(numpy.ones((2, 3), 'f4'))[0] == [1, 2, 3]).all()")
    assert "cum_sum" in result
