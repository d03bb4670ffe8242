"""Runs every client of this folder and keeps what each of them found: `run_clients.py SEED FILE`.

Under Python alone the clients use OpenVINO, under `python -m clinfer.drop_in` clinfer.
"""
from __future__ import annotations

import pickle
import runpy
import sys
import traceback
from pathlib import Path

import openvino

from clinfer.api.submodules import alias_former_package

CLIENTS = tuple(sorted(path for path in Path(__file__).parent.glob("*.py") if path.stem != Path(__file__).stem))


def run_client(path: Path) -> dict[str, object]:
    """A client's RESULTS, or what went wrong in it."""
    try:
        return dict(runpy.run_path(str(path))["RESULTS"])
    except BaseException:
        return {"error": traceback.format_exc()}


def main() -> None:
    alias_former_package()
    found = {path.stem: run_client(path) for path in CLIENTS}
    found["engine"] = {"package": openvino.Core.__module__.partition(".")[0]}
    Path(sys.argv[2]).write_bytes(pickle.dumps(found))


if __name__ == "__main__":
    main()
