"""Whose turn it is with something that one user at a time may have, kept so that no interrupt can lose it.

The interpreter hands an interrupt over behind calls, at the begin of functions and where loops go back. So a user has a
token before it asks, asks inside of `try`, and says in `finally` that it is over, by a store and not by a call:

    token = Token()
    try:
        turn.take(token)
        ...
    finally:
        token.is_over = True
"""
from __future__ import annotations

import threading
import weakref
from typing import Literal

Fate = Literal["begun", "given up"]


class Token:
    """A user. It is over when it says so, or when nobody refers to it any more.

    `is_brief`: others wait for it instead of being refused. `thread`: in which it was made.
    """

    __slots__ = ("__weakref__", "_fate", "is_brief", "is_over", "thread")

    def __init__(self, is_brief: bool = False) -> None:
        self.is_over = False
        self.is_brief = is_brief
        self.thread = threading.get_ident()
        self._fate: dict[int, list[Fate]] = {}

    def decide(self, fate: Fate) -> bool:
        """Say what becomes of something that one thread asks for and another one does; whether this said it first."""
        mine = [fate]
        return self._fate.setdefault(0, mine) is mine

    @property
    def is_given_up(self) -> bool:
        """Whether that was said first."""
        return self._fate.get(0) == ["given up"]


class Turn:
    """Which user has it."""

    __slots__ = ("_lock", "_user")

    def __init__(self) -> None:
        self._user: weakref.ref[Token] | None = None
        self._lock = threading.Lock()

    @property
    def user(self) -> Token | None:
        """The token of who has it now."""
        token = None if self._user is None else self._user()
        return None if token is None or token.is_over else token

    def take(self, token: Token) -> bool:
        """Have it from now on; False if another user has it."""
        with self._lock:
            before = None if self._user is None else self._user()
            if before is not None and not before.is_over:
                return False
            self._user = weakref.ref(token)
            return True
