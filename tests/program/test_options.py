"""Build options: forced implementations by option and by knob."""
from __future__ import annotations

import pytest

from clinfer.base.errors import ClinferError
from clinfer.kernels.selector import ANYTHING, Forced
from clinfer.program.options import BuildOptions


def test_the_option_wins_over_the_knob(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINFER_FORCE_KERNEL", "a=one,b=byxf:two,a/b=c=bfyx:,d=::host")
    options = BuildOptions({"a": ("", "three")})
    assert options.forced("a") == Forced("", "three")
    assert options.forced("b") == Forced("byxf", "two")
    assert options.forced("a/b=c") == Forced("bfyx", "")
    assert options.forced("d") == Forced("", "", "host")
    assert options.forced("other") == ANYTHING


@pytest.mark.parametrize("knob, message", [("nothing", "CLINFER_FORCE_KERNEL is malformed"),
                                           ("a=b:c:d:e", "CLINFER_FORCE_KERNEL is malformed"),
                                           ("a=nchw:one", "unknown format 'nchw'")])
def test_a_wrong_knob_is_an_error(monkeypatch: pytest.MonkeyPatch, knob: str, message: str) -> None:
    monkeypatch.setenv("CLINFER_FORCE_KERNEL", knob)
    with pytest.raises(ClinferError, match=message):
        BuildOptions().forced("a")


def test_unknown_types_are_named() -> None:
    with pytest.raises(ClinferError, match=r"unknown: blas[^$]*there are host, ocl"):
        BuildOptions({"a": ("", "", "blas")}).check({"a"})


def test_unknown_primitives_are_named() -> None:
    options = BuildOptions({"a": ("", "x"), "b": ("", "x")})
    options.check({"a", "b", "c"})
    with pytest.raises(ClinferError, match=r"unknown: b"):
        options.check({"a"})
