"""Programs whose kernels are chosen and generated, and built later in one go or never."""
from __future__ import annotations

from collections.abc import Iterable

from clinfer.frontend.shape_inference import OpenVinoShapeInference
from clinfer.kernels.jitter import StageCode
from clinfer.kernels.kernel_cache import KernelCache, LoadedKernels
from clinfer.network.compile import execute_constants
from clinfer.program.build import build_program
from clinfer.program.context import BuildContext
from clinfer.program.options import BuildOptions
from clinfer.program.program import Program
from clinfer.runtime.engine import Engine
from clinfer.runtime.engine import Program as Built
from clinfer.topology import Topology


class DeferredKernels(LoadedKernels):
    """Those of programs that are built later, together."""

    def __init__(self, cache: KernelCache) -> None:
        super().__init__(cache)
        self._waiting: dict[str, StageCode] = {}

    def prepare(self, codes: Iterable[StageCode]) -> None:
        self._waiting.update((code.kernel_id, code) for code in codes)

    def program(self, kernel_id: str) -> Built:
        if kernel_id in self._waiting:
            super().prepare([self._waiting.pop(kernel_id)])
        return super().program(kernel_id)

    def build(self) -> None:
        """Have everything that was asked for ready."""
        super().prepare(self._waiting.values())
        self._waiting.clear()


class Selection:
    """Makes programs for a device, whose kernels it builds when it is told to."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._stream = engine.create_stream()
        self._kernels = DeferredKernels(KernelCache(engine))
        self._shape_inference = OpenVinoShapeInference()

    def program(self, topology: Topology, options: BuildOptions) -> Program:
        """The program of a topology. Errors: those of `compile_topology`, without those of building kernels."""
        return build_program(topology, BuildContext(self._engine, self._stream, self._kernels, self._shape_inference,
                                                    options, execute_constants))

    def build(self) -> None:
        """Build the kernels of all programs so far."""
        self._kernels.build()
