"""The kernel cache: kernels built in batches and in parallel, kept in memory and on disk.

On disk, per device, driver and way of building, `batches/<digest of kernel ids>` holds one sealed program binary, and
`index/<digest of kernel id>` names the batch that holds that kernel. A damaged file is removed and built anew.
`refused` holds what the driver cannot build, `begun` what is being built by a process itself.
"""
from __future__ import annotations

import hashlib
import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

from clinfer.base import knobs
from clinfer.base.cache_folder import CacheFolder
from clinfer.base.errors import ClinferError
from clinfer.base.tracing import dump, log
from clinfer.kernels.begun_builds import BegunBuilds
from clinfer.kernels.build_progress import BuildProgress, Progress, untold
from clinfer.kernels.jitter import StageCode, common_source
from clinfer.kernels.recipe import BUILD_OPTIONS, USUAL, Recipe
from clinfer.kernels.refused_kernels import KernelBuildError, RefusedKernels, in_files
from clinfer.runtime.builder import BuildResult, HelpersAhead, build_in_processes
from clinfer.runtime.device import compiler_settings
from clinfer.runtime.engine import Engine, Program
from clinfer.runtime.program import BuildJob

BATCH_KERNELS = 4
"""Of one program. More would spare little of the driver's time, and a batch is what an interrupt loses, what a process
that is done waits for, and what is loaded for one of its kernels."""
MOST_IDLE = 64
"""Programs that stay loaded though nobody uses them: about a megabyte each. To load one takes some milliseconds."""
_LARGEST_BINARY = 1 << 28
_LARGEST_NOTE = 64


class KernelCache:
    """The kernels of one engine, `refused` those that its driver cannot build; safe for use by several threads.

    Programs are kept by those that use them (`LoadedKernels`), and the last `MOST_IDLE` by the cache.
    """

    def __init__(self, engine: Engine) -> None:
        # Weak, because the table of caches below must not keep engines alive.
        self._engine_ref = weakref.ref(engine)
        self._programs: weakref.WeakValueDictionary[str, Program] = weakref.WeakValueDictionary()
        self._recent: OrderedDict[Program, None] = OrderedDict()
        self._seconds: dict[str, float] = {}
        # Who is told of progress may ask for kernels in turn.
        self._lock = threading.RLock()
        self._ahead_lock = threading.Lock()
        self._ahead: tuple[HelpersAhead, ...] = ()
        # They do not refer to this cache: programs and their context go with the engine, not with a later collection.
        self.refused = RefusedKernels(partial(_folder_of, self._engine_ref, "refused"))
        self._begun = BegunBuilds(partial(_folder_of, self._engine_ref, "begun"))

    @property
    def _engine(self) -> Engine:
        return _alive(self._engine_ref)

    def build_seconds(self, kernel_ids: Iterable[str]) -> float | None:
        """The seconds of building these kernels: of each batch their share, by the length of the sources. None: not all
        of them were built here."""
        found = [self._seconds.get(kernel_id) for kernel_id in kernel_ids]
        return None if None in found else sum(filter(None, found))

    def prepare(self, codes: Iterable[StageCode],
                progress: Progress = untold) -> dict[str, Program]:
        """The programs of kernels by kernel id: from memory, from disk, or built now. KernelBuildError for those that
        cannot be built; the others are in the cache then. What is built is kept as soon as it is there.

        Where kernels are built, `progress` is told how many of how many are done: first none, then what a batch adds.
        """
        with self._lock:
            wanted = {code.kernel_id: code for code in codes}
            held = {each: program for each in wanted if (program := self._programs.get(each))}
            unknown = [code for each, code in wanted.items() if each not in held]
            _dump(unknown)
            refused = {code.kernel_id: reason for code in unknown if (reason := self.refusal(code))}
            held |= self._loaded(code for code in unknown if code.kernel_id not in refused)
            missing = [code for code in unknown if code.kernel_id not in held and code.kernel_id not in refused]
            if missing:
                built, failed = self._build(missing, progress)
                held |= built
                refused |= failed
            self._use(held.values())
        if refused:
            raise KernelBuildError("kernels cannot be built", where=f"device {self._engine.device}", values=refused,
                                   hint="CLINFER_DEBUG=1 prints the compiler's log, CLINFER_DEBUG=4 the source")
        return held

    def adopt(self, binaries: Iterable[tuple[StageCode, bytes]]) -> dict[str, Program]:
        """The programs, by the ids of their kernels, that were built earlier, each given with the code of one of its
        kernels; ClinferError for a binary that is foreign."""
        held: dict[str, Program] = {}
        with self._lock:
            for code, binary in binaries:
                program = self._engine.load_binary(binary, code.recipe.load_options,
                                                   what="a kernel binary of a compiled blob")
                held |= self._enter(program, program.kernel_names)
            self._use(held.values())
        return held

    # -- kernels built elsewhere ----------------------------------------------------------------

    def refusal(self, code: StageCode) -> str | None:
        """Why a kernel need not be tried: what its recipe requires, or what is known of it; None: it may be built."""
        return code.recipe.refusal(self._engine.capabilities) or self.refused.reason(code.kernel_id)

    def job(self, batch: Sequence[StageCode]) -> BuildJob:
        """The building of a program with these kernels, which have one recipe."""
        recipe = batch[0].recipe
        return recipe.job("\n".join([device_macros(self._engine, recipe), common_source(),
                                     *(code.source for code in batch)]))

    def find(self, codes: Iterable[StageCode]) -> dict[str, Program]:
        """The programs of those of the kernels that are in memory or on disk."""
        with self._lock:
            held = self._loaded(codes)
            self._use(held.values())
        return held

    def keep(self, batch: Sequence[StageCode], binary: bytes) -> dict[str, Program]:
        """Take over the program of these kernels that a helper process built by `job(batch)`; ClinferError if it is
        unusable."""
        program = self._engine.load_binary(binary, batch[0].recipe.load_options)
        with self._lock:
            held = self._keep(batch, program, binary)
            self._use(held.values())
        return held

    # -- building -------------------------------------------------------------------------------

    @contextmanager
    def expecting_builds(self) -> Iterator[None]:
        """While it lasts, many kernels are likely to be wanted. Where there is none yet, neither in memory nor on disk,
        the processes that will build them start now."""
        if self._programs or (knobs.cache_enabled() and os.path.exists(_folder(self._engine, "index").path)):
            yield
            return
        helpers = HelpersAhead(self._engine.device, self._engine.build_workers)
        with self._ahead_lock:
            self._ahead = (*self._ahead, helpers)
        try:
            yield
        finally:
            with self._ahead_lock:
                self._ahead = tuple(each for each in self._ahead if each is not helpers)
            helpers.close()

    def _build(self, codes: Sequence[StageCode], progress: Progress) -> tuple[dict[str, Program], dict[str, str]]:
        """Build kernels, in batches and those of failed batches one by one; their programs, and why some cannot be
        built."""
        batches = [batch for alike in by_recipe(codes) for batch in _batches(alike)]
        log(1, f"building {len(codes)} kernels in {len(batches)} batches")
        progress(0, len(codes))
        held: dict[str, Program] = {}
        failed: list[tuple[Sequence[StageCode], BuildResult]] = []

        def take(number: int, result: BuildResult) -> None:
            if not self._take(batches[number], result, held):
                failed.append((batches[number], result))
            else:
                progress(len(held), len(codes))

        build_in_processes(self._engine.device, [self.job(batch) for batch in batches],
                           workers=self._engine.build_workers, done=take, ahead=self._ahead)
        left = [(code, result) for batch, result in failed if len(batch) == 1 or not result.is_refused
                for code in batch]
        apart = [code for batch, result in failed if len(batch) > 1 and result.is_refused for code in batch]
        left += [(code, result) for code, result in zip(apart, self._build_apart(apart), strict=True)
                 if not self._take([code], result, held)]
        for batch, result in failed:
            if len(batch) > 1 and all(code.kernel_id in held for code in batch):
                log(1, f"kernels that can be built were refused together: {result.error}")
        refused = {code.kernel_id: self._build_here(code, result, held) for code, result in left}
        if failed:
            progress(len(codes), len(codes))
        return held, {kernel_id: reason for kernel_id, reason in refused.items() if reason}

    def _build_apart(self, codes: Sequence[StageCode]) -> list[BuildResult]:
        """Build kernels one by one, to find out which of them the driver refuses or crashes at."""
        return build_in_processes(self._engine.device, [self.job([code]) for code in codes],
                                  workers=self._engine.build_workers)

    def _take(self, batch: Sequence[StageCode], result: BuildResult, held: dict[str, Program]) -> bool:
        """Add the program of a build to what is held, unless that failed or the driver refuses what it made itself."""
        if result.binary is None:
            return False
        try:
            program = self._engine.load_binary(result.binary, batch[0].recipe.load_options)
        except ClinferError as error:
            log(1, f"the driver refuses the binary of a batch: {error.what}")
            return False
        held |= self._keep(batch, program, result.binary)
        total = sum(len(code.source) for code in batch)
        self._seconds.update((code.kernel_id, result.seconds * len(code.source) / total) for code in batch)
        return True

    def _build_here(self, code: StageCode, result: BuildResult, held: dict[str, Program]) -> str | None:
        """Build a kernel in this process where no other could be had, or made what is of no use here; why it cannot be
        built."""
        if result.is_refused:
            return self._refuse(code, str(result.error), is_lasting=not result.was_killed)
        if self._begun.is_open(code.kernel_id):
            return self.refused.add(code.kernel_id, "a process ended while it built it by itself", is_lasting=False)
        try:
            with self._begun.noted(code.kernel_id):
                program = self._engine.build(self.job([code]))
        except ClinferError as error:
            return self._refuse(code, str(error.values.get("log", error)))
        held |= self._keep([code], program, program.binary)
        return None

    def _refuse(self, code: StageCode, text: str, is_lasting: bool = True) -> str:
        return self.refused.add(code.kernel_id, in_files(text, self.job([code]).source), is_lasting)

    def _keep(self, batch: Sequence[StageCode], program: Program, binary: bytes) -> dict[str, Program]:
        if knobs.cache_enabled():
            self._store(batch, binary)
        return self._enter(program, [code.kernel_id for code in batch])

    def _enter(self, program: Program, kernel_ids: Iterable[str]) -> dict[str, Program]:
        """Put a program into the table; which one holds each of its kernels: another one may have been there before."""
        return {each: self._programs.setdefault(each, program) for each in kernel_ids}

    def _use(self, programs: Iterable[Program]) -> None:
        """Note that these are the last that were used."""
        for program in programs:
            self._recent[program] = None
            self._recent.move_to_end(program)
        while len(self._recent) > MOST_IDLE:
            self._recent.popitem(last=False)

    # -- disk -----------------------------------------------------------------------------------

    def _store(self, batch: Sequence[StageCode], binary: bytes) -> None:
        kernel_ids, recipe = [code.kernel_id for code in batch], batch[0].recipe
        name = _digest("\n".join(sorted(kernel_ids)))
        _folder(self._engine, "batches", recipe).write(name, [binary])
        index = _folder(self._engine, "index", recipe)
        for kernel_id in kernel_ids:
            index.write(_digest(kernel_id), [name.encode()])

    def _loaded(self, codes: Iterable[StageCode]) -> dict[str, Program]:
        return {code.kernel_id: program for code in codes if (program := self._load(code))}

    def _load(self, code: StageCode) -> Program | None:
        """The program that holds a kernel, loaded from disk where it is not in memory; None: it was not built yet."""
        kernel_id, recipe = code.kernel_id, code.recipe
        held = self._programs.get(kernel_id)
        if held is not None or not knobs.cache_enabled():
            return held
        name = (_folder(self._engine, "index", recipe).read(_digest(kernel_id), _LARGEST_NOTE) or b"").decode("latin-1")
        batches = _folder(self._engine, "batches", recipe)
        content = batches.read(name, _LARGEST_BINARY)
        if content is None:
            return None
        try:
            program = self._engine.load_binary(content, recipe.load_options)
            names = program.kernel_names
            if kernel_id not in names:
                raise ClinferError(f"it does not hold {kernel_id}")
        except ClinferError as error:
            log(1, f"kernel cache file {batches.path / name} is unusable and will be built anew: {error.what}")
            batches.remove(name)
            return None
        return self._enter(program, names)[kernel_id]


class LoadedKernels:
    """The kernels of one model, of a `cache`: as long as this lives, their programs stay loaded."""

    def __init__(self, cache: KernelCache, progress: BuildProgress | None = None) -> None:
        """`progress`: where what is built is added up."""
        self.cache = cache
        self.progress = progress or BuildProgress()
        self._programs: dict[str, Program] = {}

    def prepare(self, codes: Iterable[StageCode]) -> None:
        """Have every kernel ready. KernelBuildError for those that cannot be built."""
        self.hold(self.cache.prepare(codes, self.progress.round()))

    def hold(self, programs: Mapping[str, Program]) -> None:
        """Keep programs that the cache found, by the ids of the kernels that are wanted of them."""
        self._programs.update(programs)

    def program(self, kernel_id: str) -> Program:
        """The built program of a kernel that was made ready before."""
        return self._programs[kernel_id]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _batches(codes: Sequence[StageCode]) -> list[list[StageCode]]:
    """Batches of at most BATCH_KERNELS kernels with about the same amount of source each, the largest first."""
    count = -(-len(codes) // BATCH_KERNELS)
    batches: list[list[StageCode]] = [[] for _ in range(count)]
    weights = [0] * count
    for code in sorted(codes, key=lambda c: (-len(c.source), c.kernel_id)):
        lightest = weights.index(min(weights))
        batches[lightest].append(code)
        weights[lightest] += len(code.source)
    return sorted(batches, key=lambda batch: -sum(len(code.source) for code in batch))


def by_recipe(codes: Iterable[StageCode]) -> list[list[StageCode]]:
    """Kernels that may share programs."""
    groups: dict[Recipe, list[StageCode]] = {}
    for code in codes:
        groups.setdefault(code.recipe, []).append(code)
    return list(groups.values())


def _alive(reference: weakref.ref[Engine]) -> Engine:
    engine = reference()
    if engine is None:
        raise ClinferError("the engine of this kernel cache is gone")
    return engine


def _folder(engine: Engine, part: str, recipe: Recipe = USUAL) -> CacheFolder:
    identity = (engine.device.driver_key, device_macros(engine, recipe), BUILD_OPTIONS,
                *([] if recipe == USUAL else [recipe]), *compiler_settings())
    return CacheFolder("kernels", _digest(repr(identity)), part)


def _folder_of(reference: weakref.ref[Engine], part: str) -> CacheFolder:
    return _folder(_alive(reference), part)


def device_macros(engine: Engine, recipe: Recipe = USUAL) -> str:
    """What kernels of a recipe may ask about the device."""
    able = engine.capabilities
    has_subgroups = "khr" in able.subgroup_builtins and able.subgroup_option in ("", *recipe.options)
    lines = [f"#define CLINFER_SUBGROUPS {int(has_subgroups)}",
             f"#define CLINFER_FP16 {int(able.fp16)}",
             f"#define CLINFER_PREFETCH {int(able.builtin_prefetch)}"]
    if able.fp64:
        lines.append("#pragma OPENCL EXTENSION cl_khr_fp64 : enable")
    if able.fp16:
        lines.append("#pragma OPENCL EXTENSION cl_khr_fp16 : enable")
    return "\n".join(lines)


def _dump(codes: Iterable[StageCode]) -> None:
    """Print and write sources where that is asked for; to put one together takes as long as to find its kernel."""
    if knobs.debug_level() < 4 and knobs.dump_dir() is None:
        return
    for code in codes:
        log(4, f"source of {code.kernel_id}:\n{code.source}")
        dump(f"kernels/{code.kernel_id}.cl", code.source)


_CACHES: weakref.WeakKeyDictionary[Engine, KernelCache] = weakref.WeakKeyDictionary()


def kernel_cache_of(engine: Engine) -> KernelCache:
    """The one kernel cache of an engine."""
    return _CACHES.setdefault(engine, KernelCache(engine))
