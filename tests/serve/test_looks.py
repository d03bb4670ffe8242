"""What many ask for at a time is looked at once, and no request waits for it beyond its time."""
from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from clinfer.serve.looks import Looks


class Slow:
    """Something that is slow to look at; counts how often it was."""

    def __init__(self) -> None:
        self.count, self.value, self.may_end = 0, 0, threading.Event()

    def look(self) -> int:
        self.count += 1
        value = self.value
        if not self.may_end.wait(20):
            raise TimeoutError
        return value


def test_many_share_a_look() -> None:
    """Asked one after the other while the first look is under way; each look would keep all behind it waiting."""
    slow = Slow()
    looks = Looks(slow.look)

    async def ask(max_age_s: float) -> list[int]:
        asking = []
        for _ in range(50):
            asking.append(asyncio.create_task(looks.get(max_age_s)))
            await asyncio.sleep(0.001)
        slow.may_end.set()
        return await asyncio.gather(*asking)

    assert asyncio.run(ask(20.0)) == [0] * 50 and slow.count == 1
    slow.may_end.clear()
    slow.value = 1
    assert set(asyncio.run(ask(20.0))) == {0} and slow.count == 1
    slow.may_end.clear()
    assert asyncio.run(ask(0.0)) == [1] * 50 and slow.count == 3


def test_a_look_that_is_out_of_date_before_it_ends() -> None:
    slow = Slow()
    looks = Looks(slow.look)

    async def ask() -> int:
        asking = asyncio.create_task(looks.get(20.0))
        await asyncio.to_thread(lambda: [time.sleep(0.01) for _ in range(1000) if not slow.count])
        slow.value = 1
        looks.forget()
        slow.may_end.set()
        return await asking

    assert asyncio.run(ask()) == 1 and slow.count == 2


def test_who_asks_may_go_and_errors_are_told() -> None:
    slow = Slow()
    looks = Looks(slow.look)

    async def ask() -> int:
        gone, stays = (asyncio.create_task(looks.get(0.0)) for _ in range(2))
        await asyncio.sleep(0.01)
        gone.cancel()
        slow.may_end.set()
        return await stays

    assert asyncio.run(ask()) == 0 and slow.count == 1

    def fail() -> Any:
        raise ValueError("not today")

    failing = Looks(fail)
    for _ in range(2):
        with pytest.raises(ValueError, match="not today"):
            asyncio.run(failing.get(0.0))
