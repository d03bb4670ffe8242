"""Runs clients of OpenVINO on clinfer, as they are.

    python -m clinfer.drop_in script.py [arguments]
    python -m clinfer.drop_in -m package.module [arguments]

or, as the first import of a program: `import clinfer.drop_in`. Either way `openvino.Core`,
`openvino.CompiledModel`, `openvino.InferRequest`, `openvino.AsyncInferQueue` and `openvino.compile_model` are
clinfer's, and `openvino.runtime` is there as it was in former versions of OpenVINO.
"""
from __future__ import annotations

import runpy
import sys
from pathlib import Path

from clinfer.api.replacement import replace_openvino
from clinfer.runtime.device import available_devices

_USAGE = "usage: python -m clinfer.drop_in (script.py | -m module) [arguments]"


def run(arguments: list[str]) -> None:
    """Run a script, or a module after `-m`, as Python itself would; SystemExit 2 for wrong usage."""
    if arguments[:1] == ["-m"] and len(arguments) > 1:
        sys.argv[:] = arguments[1:]
        sys.path.insert(0, str(Path.cwd()))
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    elif arguments and not arguments[0].startswith("-"):
        if not Path(arguments[0]).exists():
            print(f"there is no script {arguments[0]}", file=sys.stderr)
            raise SystemExit(2)
        sys.argv[:] = arguments
        sys.path[0] = str(Path(arguments[0]).resolve().parent)
        runpy.run_path(arguments[0], run_name="__main__")
    else:
        print(_USAGE, file=sys.stderr)
        raise SystemExit(2)


# Some drivers cannot be loaded behind other libraries with an LLVM of their own, such as TensorFlow.
available_devices()
replace_openvino()

if __name__ == "__main__":
    run(sys.argv[1:])
