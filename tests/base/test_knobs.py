"""Knobs: present values, malformed ones, and names that are none."""
from __future__ import annotations

from collections.abc import Callable

import pytest

from clinfer.base import knobs
from clinfer.base.errors import ClinferError


@pytest.mark.parametrize(("variable", "text", "read"), [
    ("CLINFER_DEBUG", "loud", knobs.debug_level), ("CLINFER_DEBUG", "", knobs.debug_level),
    ("CLINFER_DEBUG", "-1", knobs.debug_level), ("CLINFER_DEBUG", "²", knobs.debug_level),
    ("CLINFER_VALIDATE", "yes", knobs.validate), ("CLINFER_CACHE", "off", knobs.cache_enabled),
])
def test_malformed_values_are_told(variable: str, text: str, read: Callable[[], object],
                                   monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, text)
    with pytest.raises(ClinferError, match=variable):
        read()


def test_switches(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, state in (("0", False), ("1", True)):
        monkeypatch.setenv("CLINFER_VALIDATE", text)
        monkeypatch.setenv("CLINFER_CACHE", text)
        assert knobs.validate() is knobs.cache_enabled() is state


def test_a_misspelt_knob_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINFER_DEBGU", "1")
    monkeypatch.setenv("CLINFER_TEST_SEED", "1")
    assert knobs.unknown_variables() == ("CLINFER_DEBGU",)


def test_every_knob_has_a_value_and_a_row() -> None:
    for knob in knobs.KNOBS:
        assert isinstance(knobs.value(knob.variable), str)
        assert f"| `{knob.variable}` |" in knobs.page()
    with pytest.raises(KeyError):
        knobs.value("CLINFER_NOTHING")
