"""Tokens and turns: nothing is lost, whatever interrupts their user."""
from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import Any

import pytest

from clinfer.base.turns import Token, Turn


def test_one_user_at_a_time() -> None:
    turn, one, other = Turn(), Token(), Token()
    assert turn.take(one) and not turn.take(other) and turn.user is one
    one.is_over = True
    assert turn.user is None and turn.take(other) and turn.user is other


def test_a_token_that_nobody_has_is_over() -> None:
    turn = Turn()
    assert turn.take(Token())
    assert turn.user is None and turn.take(Token())


def test_only_the_first_decides() -> None:
    token = Token()
    decided: list[bool] = []
    threads = [threading.Thread(target=lambda: decided.append(token.decide("begun"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(decided) == 1 and not token.decide("given up") and not token.is_given_up


def test_an_interrupt_at_any_bytecode_leaves_it_free() -> None:
    turn = Turn()

    def use() -> None:
        token = Token()
        try:
            turn.take(token)
        finally:
            token.is_over = True

    point = 0
    while _is_struck(use, point):
        assert turn.user is None, f"bytecode {point}"
        point += 1
    assert point > 20


def _is_struck(use: Any, point: int) -> bool:
    """Whether a function has so many bytecodes, at the last of which an interrupt comes."""
    count = 0

    def step(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        if event == "opcode":
            count += 1
            # The lock that guards a turn is left between two instructions that no interrupt divides.
            if count - 1 == point and not frame.f_code.co_name == "take":
                raise KeyboardInterrupt
        return step

    sys.settrace(step)
    try:
        use()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(None)
    return count > point


@pytest.mark.parametrize("is_brief", [False, True])
def test_who_is_brief_says_so(is_brief: bool) -> None:
    turn, token = Turn(), Token(is_brief)
    assert turn.take(token) and turn.user is not None and turn.user.is_brief == is_brief
