"""The kernel cache: kernels built in batches and in parallel, kept in memory and on disk.

On disk, per device, driver and way of building, `batches/<digest of kernel ids>` holds one sealed program binary, and
`index/<digest of kernel id>` names the batch that holds that kernel. A damaged file is removed and built anew.
"""
from __future__ import annotations

import hashlib
import os
import threading
import weakref
from collections.abc import Iterable, Sequence

from clinfer.base import knobs
from clinfer.base.errors import ClinferError
from clinfer.base.tracing import dump, log
from clinfer.base.trusted_folder import TrustedFolder
from clinfer.kernels.jitter import StageCode, common_source
from clinfer.runtime.builder import BuildJob, build_in_processes
from clinfer.runtime.engine import Engine, Program

BATCH_KERNELS = 12
BUILD_OPTIONS = "-cl-mad-enable"
_LARGEST_BINARY = 1 << 28
_LARGEST_NOTE = 64


class KernelCache:
    """The kernels of one engine; safe for use by several threads."""

    def __init__(self, engine: Engine) -> None:
        # Weak, because the table of caches below must not keep engines alive.
        self._engine_ref = weakref.ref(engine)
        self._programs: dict[str, Program] = {}
        self._lock = threading.Lock()

    @property
    def _engine(self) -> Engine:
        engine = self._engine_ref()
        if engine is None:
            raise ClinferError("the engine of this kernel cache is gone")
        return engine

    def program(self, kernel_id: str) -> Program:
        """The built program that holds a kernel given to `prepare` before."""
        return self._programs[kernel_id]

    def prepare(self, codes: Iterable[StageCode]) -> None:
        """Have every kernel ready: from memory, from disk, or built now."""
        with self._lock:
            wanted = {code.kernel_id: code for code in codes if code.kernel_id not in self._programs}
            _dump(wanted.values())
            missing = [code for code in wanted.values() if not self._load(code.kernel_id)]
            if missing:
                self._build(missing)

    def adopt(self, binaries: Iterable[bytes]) -> None:
        """Have the kernels of programs that were built earlier ready; ClinferError for a binary that is foreign."""
        with self._lock:
            for binary in binaries:
                program = self._engine.load_binary(binary, what="a kernel binary of a compiled blob")
                for kernel_id in program.kernel_names:
                    self._programs.setdefault(kernel_id, program)

    # -- kernels built elsewhere ----------------------------------------------------------------

    def source(self, batch: Sequence[StageCode]) -> str:
        """The text of a program with these kernels."""
        return _source(self._engine, batch)

    def missing(self, codes: Iterable[StageCode]) -> list[StageCode]:
        """Those of the kernels that are neither in memory nor on disk; what was on disk is loaded."""
        with self._lock:
            return [code for code in codes if not self._load(code.kernel_id)]

    def keep(self, batch: Sequence[StageCode], binary: bytes) -> None:
        """Take over a program that a helper process built of `source(batch)`; ClinferError if it is unusable."""
        program = self._engine.load_binary(binary)
        with self._lock:
            self._keep(batch, program, binary)

    # -- building -------------------------------------------------------------------------------

    def _build(self, codes: Sequence[StageCode]) -> None:
        batches = _batches(codes)
        log(1, f"building {len(codes)} kernels in {len(batches)} batches")
        jobs = [BuildJob(_source(self._engine, batch), BUILD_OPTIONS) for batch in batches]
        results = build_in_processes(self._engine.device, jobs, workers=self._engine.build_workers)
        for batch, result in zip(batches, results, strict=True):
            program = self._accepted(result.binary)
            if program is None or result.binary is None:
                self._build_singly(batch)
            else:
                self._keep(batch, program, result.binary)

    def _accepted(self, binary: bytes | None) -> Program | None:
        """The program of a helper's binary, unless its build failed or the driver refuses what it made itself."""
        if binary is None:
            return None
        try:
            return self._engine.load_binary(binary)
        except ClinferError as error:
            log(1, f"the driver refuses the binary of a batch: {error.what}")
            return None

    def _build_singly(self, batch: Sequence[StageCode]) -> None:
        """Build the kernels of a failed batch here, one by one, so that an error names the kernel."""
        for code in batch:
            try:
                program = self._engine.build_program(_source(self._engine, [code]), BUILD_OPTIONS)
            except ClinferError as error:
                raise error.at(f"kernel {code.kernel_id}") from None
            self._keep([code], program, program.binary)

    def _keep(self, batch: Sequence[StageCode], program: Program, binary: bytes) -> None:
        for code in batch:
            self._programs[code.kernel_id] = program
        if knobs.cache_enabled():
            self._store([code.kernel_id for code in batch], binary)

    # -- disk -----------------------------------------------------------------------------------

    def _folder(self, part: str) -> TrustedFolder:
        identity = (self._engine.device.driver_key, device_macros(self._engine), BUILD_OPTIONS)
        return TrustedFolder(knobs.cache_dir(), "kernels", _digest(repr(identity)), part)

    def _store(self, kernel_ids: Sequence[str], binary: bytes) -> None:
        name = _digest("\n".join(sorted(kernel_ids)))
        self._folder("batches").write(name, [binary])
        index = self._folder("index")
        for kernel_id in kernel_ids:
            index.write(_digest(kernel_id), [name.encode()])

    def _load(self, kernel_id: str) -> bool:
        """Load the batch that holds a kernel; whether the kernel is there now."""
        if kernel_id in self._programs:
            return True
        if not knobs.cache_enabled():
            return False
        name = (self._folder("index").read(_digest(kernel_id), _LARGEST_NOTE) or b"").decode("latin-1")
        batches = self._folder("batches")
        content = batches.read(name, _LARGEST_BINARY)
        if content is None:
            return False
        try:
            program = self._engine.load_binary(content)
            names = program.kernel_names
            if kernel_id not in names:
                raise ClinferError(f"it does not hold {kernel_id}")
        except ClinferError as error:
            log(1, f"kernel cache file {batches.path / name} is unusable and will be built anew: {error.what}")
            batches.remove(name)
            return False
        for held in names:
            self._programs.setdefault(held, program)
        return True


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _batches(codes: Sequence[StageCode]) -> list[list[StageCode]]:
    """Batches of at most BATCH_KERNELS kernels with about the same amount of source each."""
    count = max(-(-len(codes) // BATCH_KERNELS), min(len(codes) // 4, os.cpu_count() or 1), 1)
    batches: list[list[StageCode]] = [[] for _ in range(count)]
    weights = [0] * count
    for code in sorted(codes, key=lambda c: (-len(c.source), c.kernel_id)):
        lightest = weights.index(min(weights))
        batches[lightest].append(code)
        weights[lightest] += len(code.source)
    return batches


def _source(engine: Engine, batch: Sequence[StageCode]) -> str:
    return "\n".join([device_macros(engine), common_source(), *(code.source for code in batch)])


def device_macros(engine: Engine) -> str:
    """What kernels may ask about the device."""
    able = engine.capabilities
    lines = [f"#define CLINFER_SUBGROUPS {int('khr' in able.subgroup_builtins)}",
             f"#define CLINFER_FP16 {int(able.fp16)}",
             f"#define CLINFER_PREFETCH {int(able.builtin_prefetch)}"]
    if able.fp64:
        lines.append("#pragma OPENCL EXTENSION cl_khr_fp64 : enable")
    if able.fp16:
        lines.append("#pragma OPENCL EXTENSION cl_khr_fp16 : enable")
    return "\n".join(lines)


def _dump(codes: Iterable[StageCode]) -> None:
    for code in codes:
        log(4, f"source of {code.kernel_id}:\n{code.source}")
        dump(f"kernels/{code.kernel_id}.cl", code.source)


_CACHES: weakref.WeakKeyDictionary[Engine, KernelCache] = weakref.WeakKeyDictionary()


def kernel_cache_of(engine: Engine) -> KernelCache:
    """The one kernel cache of an engine."""
    return _CACHES.setdefault(engine, KernelCache(engine))
