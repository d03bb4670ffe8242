"""Wheel and sdist: built, installed where nothing else of the repository is, and used."""
from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from clinfer.base.version import VERSION
from clinfer.frontend.openvino_import import openvino as ov
from tests.api.models import softmax_model

ROOT = Path(__file__).resolve().parent.parent
BUILD = "import setuptools.build_meta as b; b.build_sdist({0!r}); b.build_wheel({0!r})"

pytestmark = pytest.mark.slow

PROGRAM = """
import numpy as np

import clinfer as ov

core: ov.Core = ov.Core()
compiled = core.compile_model("model.xml", "CPU")
request = compiled.create_infer_request()
reveal_type(compiled)
reveal_type(request)
context = ov.ClContext(core, None, cl_context=1)
wrong: int = core.available_devices
compiled.infer_a_request()
"""


def run(command: Sequence[object], folder: Path, **environment: str) -> str:
    """What a command prints; it must succeed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(list(map(str, command)), cwd=folder, env={**kept, **environment}, capture_output=True,
                          text=True, timeout=900)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def package_files() -> set[str]:
    """The files of the package as git knows them, or, without git, as they lie there."""
    try:
        listed = run(["git", "ls-files", "-co", "--exclude-standard", "clinfer"], ROOT).splitlines()
    except (OSError, AssertionError):
        listed = [path.relative_to(ROOT).as_posix() for path in (ROOT / "clinfer").rglob("*")
                  if path.is_file() and "__pycache__" not in path.parts]
    return {name for name in listed if (ROOT / name).exists()}


def is_compiled(name: str) -> bool:
    """Whether a file is compiled C, which wheels made without a C compiler do without."""
    return name.startswith(("clinfer/runtime/_launch_loop.", "clinfer/runtime/_mapped_file.",
                            "clinfer/network/plans/_tape."))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a wheel and an sdist of the working tree, made from a copy of what belongs to the package."""
    setuptools = pytest.importorskip("setuptools", minversion="77", reason="`make setup` installs a newer setuptools")
    folder, copy = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("tree")
    documents = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md")
    for name in (*sorted(package_files()), *documents):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    run([sys.executable, "-c", BUILD.format(str(folder))], copy)
    print(f"setuptools {setuptools.__version__}")
    return folder


def wheel_in(folder: Path) -> Path:
    """The only wheel of a folder."""
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def python(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an empty environment with the wheel, and the dependencies of this one."""
    environment = tmp_path_factory.mktemp("environment")
    run([sys.executable, "-m", "venv", "--without-pip", environment], ROOT)
    python = environment / "bin" / "python"
    packages = Path(run([python, "-c", "import site; print(site.getsitepackages()[0])"], ROOT).strip())
    with zipfile.ZipFile(wheel_in(built)) as wheel:
        wheel.extractall(packages)
    (packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()), encoding="utf-8")
    return python


@pytest.fixture
def model(tmp_path: Path) -> Path:
    ov.save_model(softmax_model({"a": [2, 3]}), tmp_path / "model.xml")
    return tmp_path / "model.xml"


def test_the_wheel_holds_the_package_and_nothing_else(built: Path) -> None:
    with zipfile.ZipFile(wheel_in(built)) as wheel:
        names = set(wheel.namelist())
        (metadata,) = [wheel.read(name).decode() for name in names if name.endswith("/METADATA")]
    held = {name for name in names if ".dist-info/" not in name}
    assert {name for name in held if not is_compiled(name)} == package_files()
    assert len(list(filter(is_compiled, held))) == 3 * (shutil.which("gcc") is not None)
    assert "clinfer/py.typed" in held
    assert f"Version: {VERSION}\n" in metadata and "any model" not in metadata.lower()


def test_a_wheel_from_the_sdist_is_the_same(built: Path, tmp_path: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    run([sys.executable, "-c", BUILD.format(str(tmp_path / "dist"))], source)
    with zipfile.ZipFile(wheel_in(built)) as first, zipfile.ZipFile(wheel_in(tmp_path / "dist")) as second:
        assert sorted(first.namelist()) == sorted(second.namelist())
        assert all(first.read(name) == second.read(name) for name in first.namelist()
                   if name.startswith("clinfer/") and not is_compiled(name))
        assert {"LICENSE"} <= {Path(name).name for name in second.namelist()}


def check_use(python: Path, model: Path) -> None:
    """The installed package runs a model, as a module, as a library, and as a stand-in for OpenVINO."""
    folder = model.parent
    assert run([python, "-m", "clinfer", "--version"], folder) == f"{VERSION}\n"
    where = run([python, "-c", "import clinfer; print(clinfer.__file__)"], folder)
    assert Path(where.strip()).is_relative_to(python.parent.parent)
    assert "a_out" in run([python, "-m", "clinfer", "run", model, "--device", "CPU"], folder)
    page = folder / "page.html"
    run([python, "-m", "clinfer", "explain", model, "--device", "CPU", "--html", page], folder)
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    (folder / "client.py").write_text(
        "import openvino as ov\nprint(type(ov.Core().compile_model('model.xml', 'CPU')).__module__)\n",
        encoding="utf-8")
    assert run([python, "-m", "clinfer.drop_in", "client.py"], folder) == "clinfer.api.compiled_model\n"


def test_the_installed_wheel_is_used(python: Path, model: Path) -> None:
    check_use(python, model)


def test_a_type_checker_sees_the_types_of_the_installed_package(python: Path, model: Path) -> None:
    (model.parent / "program.py").write_text(PROGRAM, encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--python-executable", python, "--cache-dir",
                           model.parent / "cache", "program.py"], cwd=model.parent, capture_output=True, text=True,
                          timeout=600)
    told = done.stdout
    assert 'Revealed type is "clinfer.api.compiled_model.CompiledModel"' in told, told + done.stderr
    assert 'Revealed type is "clinfer.api.infer_request.InferRequest"' in told
    errors = [line for line in told.splitlines() if ": error: " in line]
    assert len(errors) == 2 and "[assignment]" in errors[0] and '"infer_a_request"' in errors[1], told


@pytest.mark.full
def test_an_empty_environment_with_dependencies_from_the_registry(built: Path, tmp_path: Path, model: Path) -> None:
    run([sys.executable, "-m", "venv", tmp_path / "environment"], ROOT)
    python = tmp_path / "environment" / "bin" / "python"
    run([python, "-m", "pip", "install", "--quiet", f"{wheel_in(built)}[cpu]"], tmp_path)
    check_use(python, model)
    script = python.with_name("clinfer")
    assert run([script, "--version"], tmp_path) == f"{VERSION}\n"
    (tmp_path / "vendors").mkdir()
    assert "CPU.0" in run([script, "devices"], tmp_path, OCL_ICD_VENDORS=str(tmp_path / "vendors"))


@pytest.mark.parametrize("found", ["runtime.launches import _function_in_c as f; print(f('clinfer_launch_each')",
                                   "network.plans.in_c import function_in_c as f; print(f('clinfer_plan')"])
def test_c_is_found_where_it_was_compiled(python: Path, tmp_path: Path, found: str) -> None:
    asked = f"from clinfer.{found} is not None)"
    assert run([python, "-c", asked], tmp_path).strip() == str(shutil.which("gcc") is not None)
