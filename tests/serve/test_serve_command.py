"""What stands on the command line of `clinfer serve`."""
from __future__ import annotations

import pytest
import typer

from clinfer.base.errors import ClinferError
from clinfer.cli import main
from clinfer.cli.serve import seconds_of
from clinfer.cli.usage import UsageError


@pytest.mark.parametrize(("text", "seconds"), [
    ("2ms", 0.002), ("0.5s", 0.5), ("3", 3.0), ("10min", 600.0), ("250us", 0.00025),
    ("2m", None), ("-1s", None), ("ms", None), ("", None), ("nan", None), ("inf", None),
])
def test_durations(text: str, seconds: float | None) -> None:
    if seconds is None:
        with pytest.raises(typer.BadParameter):
            seconds_of(text)
    else:
        assert seconds_of(text) == pytest.approx(seconds)


def test_nothing_to_serve() -> None:
    with pytest.raises(UsageError, match="nothing to serve"):
        main.app(["serve"], standalone_mode=False)


@pytest.mark.parametrize("arguments", [["missing.onnx"], ["--repository", "nowhere"], ["../x=pyproject.toml"],
                                       ["a=pyproject.toml", "a=README.md"]], ids=str)
def test_what_cannot_be_served(arguments: list[str]) -> None:
    pytest.importorskip("ray.serve")
    with pytest.raises(UsageError):
        main.app(["serve", *arguments], standalone_mode=False)


def test_a_cluster_that_is_not_there() -> None:
    pytest.importorskip("ray.serve")
    with pytest.raises(ClinferError, match="cannot be reached"):
        main.app(["serve", "m=pyproject.toml", "--address", "127.0.0.1:9"], standalone_mode=False)
