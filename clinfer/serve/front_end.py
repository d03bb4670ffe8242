"""The front end: the one deployment that Ray Serve's proxies know. It reads requests and hands them to the models."""
from __future__ import annotations

from pathlib import Path

from ray import serve
from starlette.applications import Starlette

from clinfer.serve.grpc_service import GrpcMethods
from clinfer.serve.messages import Limits
from clinfer.serve.models import Models
from clinfer.serve.options import ModelOptions, ModelSource
from clinfer.serve.rest import rest_app
from clinfer.serve.service import Service


class _FrontEnd(GrpcMethods):
    """REST and gRPC for one service."""

    def __init__(self, sources: tuple[ModelSource, ...], options: ModelOptions, repository: Path | None,
                 limits: Limits, is_local: bool) -> None:
        self.service = Service(Models(sources, options, repository), limits)
        self.is_local = is_local

    def __serve_build_asgi_app__(self) -> Starlette:
        return rest_app(self.service)

    async def drain(self) -> int:
        """Take no further inference, and tell that the server is not ready; how many inferences are under way."""
        self.service.is_draining = True
        return self.service.ongoing


FrontEnd = serve.ingress()(_FrontEnd)
"""What Ray Serve deploys."""
