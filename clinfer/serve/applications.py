"""Models as Ray Serve applications: one of a model's versions each, deployed, listed and deleted.

Serve starts all deployments of an application anew when it is deployed again, so that models which come and go share
none. Theirs have no route: Serve's proxies know one application only, the front end, and need no word from the client
to find it.
"""
from __future__ import annotations

import time
from dataclasses import dataclass

from ray import serve
from ray.serve.config import BackpressureConfig
from ray.serve.handle import DeploymentHandle
from ray.serve.schema import ApplicationStatus, ApplicationStatusOverview

from clinfer.base.errors import ClinferError
from clinfer.serve.options import ModelOptions, ModelSource
from clinfer.serve.replica import DEPLOYMENT, Replica

_PREFIX = "clinfer-model"
_ENVIRONMENT = {"RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES": "1", "RAY_EXPERIMENTAL_NOSET_HIP_VISIBLE_DEVICES": "1",
                "RAY_EXPERIMENTAL_NOSET_ONEAPI_DEVICE_SELECTOR": "1"}
"""Ray hides GPUs from processes that ask it for none. Replicas choose by their rank, among all."""


@dataclass(frozen=True)
class Deployed:
    """A version of a model in Serve. Of two with the same name and version the one of the later `generation` counts
    once it is ready. `problem`: why it is not ready."""

    name: str
    version: str
    generation: int
    is_ready: bool
    problem: str = ""

    @property
    def application(self) -> str:
        """The name of its application."""
        return f"{_PREFIX}:{self.name}:{self.version}:{self.generation}"

    @property
    def handle(self) -> DeploymentHandle:
        """What its requests are sent to."""
        return serve.get_deployment_handle(DEPLOYMENT, self.application)


def deploy(sources: tuple[ModelSource, ...], options: ModelOptions) -> tuple[Deployed, ...]:
    """Deploy versions of models and wait until all are ready. Where one fails none of them is left.

    Errors: ClinferError, with the reason of the first that failed.
    """
    generation = time.time_ns()
    new = tuple(Deployed(each.name, each.version, generation, True) for each in sources)
    deployment = serve.deployment(
        Replica, name=DEPLOYMENT, num_replicas=options.replicas, max_ongoing_requests=max(8, 2 * options.max_batch),
        max_queued_requests=options.queue, backpressure_config=BackpressureConfig(retry_after_s=1),
        max_replicas_per_node=options.replicas_per_node,
        ray_actor_options={"num_cpus": 0, "runtime_env": {"env_vars": _ENVIRONMENT}},
        max_constructor_retry_count=1, graceful_shutdown_timeout_s=60.0, health_check_period_s=5.0)
    targets = [serve.RunTarget(deployment.bind(source, options), name=each.application, route_prefix=None)
               for source, each in zip(sources, new, strict=True)]
    try:
        serve.run_many(targets)
    except RuntimeError as error:
        problem = next((f"{each.name}: {each.problem}" for each in deployed()
                        if each.generation == generation and each.problem), str(error))
        delete(new)
        raise ClinferError("a model could not be loaded", where="serving", values={"reason": problem}) from None
    return new


def delete(models: tuple[Deployed, ...]) -> None:
    """Delete versions of models; what they compute is computed to its end first."""
    for each in models:
        serve.delete(each.application)


def deployed() -> tuple[Deployed, ...]:
    """Every version of every model that Serve has, ready or not."""
    found = []
    for application, overview in serve.status().applications.items():
        prefix, *parts = application.split(":")
        if prefix == _PREFIX and overview.status != ApplicationStatus.DELETING:
            name, version, generation = parts
            found.append(Deployed(name, version, int(generation), _is_ready(overview), _problem(overview)))
    return tuple(found)


def _is_ready(overview: ApplicationStatusOverview) -> bool:
    return any(each.replica_states.get("RUNNING") for each in overview.deployments.values())


def _problem(overview: ApplicationStatusOverview) -> str:
    """Why an application is not ready: of a traceback what its last error says."""
    if overview.status not in (ApplicationStatus.DEPLOY_FAILED, ApplicationStatus.UNHEALTHY):
        return ""
    told = "\n".join(each.message for each in overview.deployments.values()) or overview.message
    lines = told.rstrip().splitlines()
    start = max((index for index, line in enumerate(lines) if line and not line.startswith((" ", "\x1b"))), default=0)
    return "\n".join(lines[start:])
