"""The front end: the one process that clients know. It reads requests and hands them to the models."""
from __future__ import annotations

import asyncio
from pathlib import Path

from clinfer.serve.listening import Address, Listeners
from clinfer.serve.messages import Limits
from clinfer.serve.models import Models
from clinfer.serve.options import ModelOptions, ModelSource
from clinfer.serve.service import Service


class FrontEnd:
    """What Ray Serve deploys, once. It listens itself: Serve's proxies would hand on each request one time more.

    Errors of the constructor: OSError, RuntimeError where the address is taken.
    """

    def __init__(self, sources: tuple[ModelSource, ...], options: ModelOptions, repository: Path | None,
                 limits: Limits, address: Address) -> None:
        self._service = Service(Models(sources, options, repository), limits)
        self._listeners = Listeners(self._service, address)
        # Serve makes what it deploys in the event loop in which it calls it.
        self._starting = asyncio.get_running_loop().create_task(self._listeners.start())

    async def check_health(self) -> None:
        """Raise where nobody is answered: Ray Serve ends the front end and starts another."""
        await self._starting
        if not self._listeners.are_open:
            raise RuntimeError("the server does not listen any more")

    async def started(self) -> None:
        """Wait until clients are answered."""
        await self._starting

    async def drain(self) -> int:
        """Take no further inference, and tell that the server is not ready; how many inferences are under way."""
        self._service.is_draining = True
        return self._service.ongoing

    async def close(self) -> None:
        """Listen no more; answers that are being written are written first."""
        await self._listeners.close()
