"""Traces on disk: what one process traced while it compiled a model, later ones need not trace again.

Traces are found by all that they were made of: the kinds of nodes that are traced, with their attributes, layouts,
constants and kernels, the device with its ceilings, tables of measured times, and the code. Names of nodes, how often a
kind occurs, and which node is given what, are no part of it: what traces lack is made behind inferences.
"""
from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass

from clinfer.base import knobs
from clinfer.base.cache_folder import CacheFolder
from clinfer.base.errors import ClinferError
from clinfer.base.tracing import log
from clinfer.program.blobs.container import Opened, making_sense, seal
from clinfer.program.blobs.records import Reader, Special, Writer
from clinfer.program.kept_choices import judged_with
from clinfer.program.program import Program
from clinfer.symbolic.tape import Asked, Tape

FEWEST = 24
"""Nodes that are planned by traces, below which tracing takes little longer than reading a file."""
_LARGEST_FILE = 1 << 26
_JUDGED_WITH = "judged with"


@dataclass(frozen=True)
class KeptTraces:
    """Where the traces of one program are kept: the file's name tells nodes and device, `made_with` (a digest) all
    else, so that another version of the code writes in place of what it cannot use."""

    folder: CacheFolder
    name: str
    made_with: str

    def give(self, program: Program) -> bool:
        """Give a program whose nodes are described, and that has none, its traces; False: there are none to be had."""
        content = self.folder.read(self.name, _LARGEST_FILE)
        if content is None:
            return False
        try:
            opened = Opened(memoryview(content))
            opened.check_made_with({_JUDGED_WITH: self.made_with})
            found = Reader(_SPECIALS, opened.section("data")).read(opened.section("records"))
            with making_sense():
                pairs = list(zip(program.traces.values(), found, strict=True))
        except ClinferError as error:
            log(1, f"the file {self.folder.path / self.name} is unusable and will be written anew: {error}")
            return False
        for own, traces in pairs:
            own.extend(traces)
        return True

    def keep(self, program: Program) -> None:
        """Write all traces of a program."""
        writer = Writer(_SPECIALS)
        try:
            records = writer.write(tuple(map(tuple, program.traces.values())))
        except ClinferError as error:
            log(1, f"traces are not kept: {error}")
            return
        self.folder.write(self.name, seal({_JUDGED_WITH: self.made_with}, {"records": [records], "data": writer.data}))


def kept_traces(program: Program, count: int) -> KeptTraces | None:
    """Where the traces of a program are kept, of which so many nodes are described. None: nowhere, because it is small,
    or holds what is no data."""
    if count < FEWEST or not knobs.cache_enabled():
        return None
    described = repr((program.engine.device.driver_key, *program.traces))
    if any(isinstance(kind, int) for kind in program.traces) or _IDENTITY in described:
        return None
    name = hashlib.sha256(described.encode()).hexdigest()[:32]
    return KeptTraces(CacheFolder("traces"), name, judged_with(program.engine))


_IDENTITY = " at 0x"
"""In the text of what is no data."""


# -- tapes as few records -----------------------------------------------------------------------------


def _taken(tape: Tape) -> tuple[object, ...]:
    return tape.arguments, tape.kinds, tape.image, tape.code, tape.data, tape.asked


def _made(arguments: int, kinds: str, image: bytes, code: bytes, data: bytes, asked: tuple[Asked, ...]) -> Tape:
    return Tape(arguments, struct.unpack(kinds, image), code, data, asked)


_SPECIALS = (Special(Tape, _taken, _made),)
