"""The models that the front end knows, whatever Ray Serve does; nothing of it is started here."""
from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray.serve")

from clinfer.serve import applications
from clinfer.serve.applications import Deployed
from clinfer.serve.errors import TimedOutError, UnknownModelError
from clinfer.serve.messages import InferenceRequest
from clinfer.serve.models import Models
from clinfer.serve.options import ModelOptions


@pytest.fixture
def may_end() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def test_time_is_up_while_nobody_tells_which_models_there_are(monkeypatch: pytest.MonkeyPatch,
                                                              may_end: threading.Event) -> None:
    monkeypatch.setattr(applications, "deployed", lambda: may_end.wait(20) and ())
    models = Models((), ModelOptions(), None)

    async def ask() -> None:
        start = time.monotonic()
        try:
            with pytest.raises(TimedOutError):
                await models.infer("scores", "", InferenceRequest(()), 0.2)
            assert time.monotonic() - start < 10
        finally:
            may_end.set()

    asyncio.run(ask())


def test_what_a_lost_front_end_left_is_unloaded_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It was lost between loading a model anew and unloading the former one."""
    there = [Deployed("scores", "1", generation, True) for generation in (1, 2)] + [Deployed("other", "1", 1, True)]

    def delete(former: Any) -> None:
        for each in former:
            there.remove(each)

    monkeypatch.setattr(applications, "deployed", lambda: tuple(there))
    monkeypatch.setattr(applications, "delete", delete)
    models = Models((), ModelOptions(), tmp_path)

    async def ask() -> None:
        assert (await models.find("scores")).generation == 2
        await models.unload("scores")
        with pytest.raises(UnknownModelError):
            await models.find("scores")

    asyncio.run(ask())
    assert [each.name for each in there] == ["other"]
