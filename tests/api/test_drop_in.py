"""`import clinfer as ov`: light until used, and every public name and submodule of OpenVINO is there."""
from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import clinfer

ROOT = Path(__file__).resolve().parents[2]


def run_python(code: str) -> str:
    """What a fresh interpreter prints; its own errors fail the test."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_loads_nothing_heavy() -> None:
    heavy = run_python("import sys, clinfer; print([m for m in ('openvino', 'pyopencl', 'numpy', 'rich', 'typer')"
                       " if m in sys.modules])")
    assert heavy == "[]"


def test_the_build_worker_stays_light() -> None:
    assert run_python("import sys, clinfer.runtime.build_worker; print('openvino' in sys.modules)") == "False"


def test_every_public_name_is_there() -> None:
    out = run_python("import clinfer as ov, sys\n"
                     "assert ov.Core\n"
                     "import openvino\n"
                     "names = [n for n in vars(openvino) if not n.startswith('_')]\n"
                     "ours = {'Core', 'CompiledModel', 'InferRequest', 'AsyncInferQueue', 'Version', 'ConstOutput',"
                     " 'RemoteContext', 'RemoteTensor', 'VAContext', 'VASurfaceTensor', 'compile_model', 'frontend'}\n"
                     "print([n for n in names if not hasattr(ov, n)],"
                     " [n for n in names if n not in ours and getattr(ov, n) is not getattr(openvino, n)],"
                     " [n for n in ours if getattr(ov, n) is getattr(openvino, n)], len(names) > 60)")
    assert out == "[] [] [] True"


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("statement", [
    "from clinfer import Core, Model, Tensor, Type, PartialShape, properties, opset13, preprocess, save_model",
    "import clinfer.properties as p; import openvino.properties as q; assert p is q",
    "import clinfer.properties.hint as p; import openvino.properties.hint as q; assert p is q",
    "import clinfer.opset13 as p; import openvino.opset13 as q; assert p is q",
    "from clinfer.preprocess import PrePostProcessor",
    "from clinfer.properties.hint import PerformanceMode; import clinfer as ov;"
    "assert ov.properties.hint.PerformanceMode is PerformanceMode",
    "import clinfer.properties, openvino; assert openvino.properties.__spec__.name == 'openvino.properties'",
    "from clinfer.utils.data_helpers import OVDict",
    "from clinfer.frontend import FrontEndManager",
    "import clinfer as ov; ov.frontend.FrontEndManager",
    "import clinfer as ov; ov.frontend; import clinfer.frontend.reading; assert ov.frontend is clinfer.frontend",
    "import clinfer.passes; clinfer.passes.Manager",
    "from clinfer import *; Core, Tensor, AsyncInferQueue, ClinferError",
    "import clinfer; assert {'Core', 'Tensor', 'ClinferError', '__version__'} <= set(dir(clinfer))",
    "import clinfer\ntry: import clinfer.nothing\nexcept ModuleNotFoundError as e: assert 'nothing' in str(e)",
    "import clinfer\ntry: clinfer.nothing\nexcept AttributeError as e: assert 'nothing' in str(e)",
    "import clinfer as ov, sys; ov.Core; assert sys.modules['openvino_telemetry'] is None",
    "import clinfer.properties, sys; assert sys.modules['openvino_telemetry'] is None",
])
def test_forms_of_import(statement: str) -> None:
    run_python(statement)


def test_devices_do_not_depend_on_what_was_imported_first() -> None:
    ask = "from clinfer.runtime.device import available_devices; print([str(d) for d in available_devices()])"
    alone = run_python(ask)
    assert alone == run_python(f"import openvino; {ask}")
    assert alone == run_python(f"import clinfer; clinfer.Core; {ask}")


def test_the_version_is_the_package_s() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    declared = re.search(r'^version = "(.+)"$', text, re.MULTILINE)
    assert declared is not None
    assert clinfer.__version__ == declared[1]
