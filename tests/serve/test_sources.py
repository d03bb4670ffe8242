"""Which files are models, and what never is."""
from __future__ import annotations

from pathlib import Path

import pytest

from clinfer.serve.sources import SourceError, check_sources, parse_source, scan


def test_models_of_a_folder(tmp_path: Path) -> None:
    root, outside = tmp_path / "models", tmp_path / "outside.onnx"
    for path in ("a.onnx", "b/1/model.onnx", "b/10/other.xml", "b/10/other.bin", "b/x/model.onnx", "b/01/model.onnx",
                 "empty/1/readme.txt", "no model.txt", "../outside.onnx"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()
    (root / "linked.onnx").symlink_to(outside)
    (root / "inside.onnx").symlink_to(root / "a.onnx")
    found = {name: [(each.version, each.path.name) for each in sources] for name, sources in scan(root).items()}
    assert found == {"a": [("1", "a.onnx")], "b": [("1", "model.onnx"), ("10", "other.xml")],
                     "inside": [("1", "inside.onnx")]}


@pytest.mark.parametrize(("text", "expected"), [
    ("{}/m.onnx", ("m", "1")), ("n={}/m.onnx", ("n", "1")), ("n:3={}/m.onnx", ("n", "3")),
    ("n:0={}/m.onnx", None), ("n:x={}/m.onnx", None), ("../n={}/m.onnx", None), ("a:b:3={}/m.onnx", None),
    ("={}/m.onnx", None), ("n={}/missing.onnx", None),
])
def test_names_of_models(tmp_path: Path, text: str, expected: tuple[str, str] | None) -> None:
    (tmp_path / "m.onnx").touch()
    if expected is None:
        with pytest.raises(SourceError):
            parse_source(text.format(tmp_path))
    else:
        source = parse_source(text.format(tmp_path))
        assert (source.name, source.version) == expected


def test_one_version_twice(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").touch()
    with pytest.raises(SourceError, match="one version"):
        check_sources([parse_source(f"n={tmp_path}/m.onnx"), parse_source(f"n:1={tmp_path}/m.onnx")])
