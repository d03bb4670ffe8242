"""The table of a megakernel's stages, as the host has it and as it is on the device."""
from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np

from clinfer.runtime.launches import WorkSize
from clinfer.runtime.program import BuildJob, Program
from clinfer.runtime.stage_image import StageImage

if TYPE_CHECKING:
    from clinfer.runtime.engine import Engine
    from clinfer.runtime.stream import Stream

_ENTRY = "exchange_words"
_SOURCE = """
typedef struct { uint places[MOST], words[MOST]; } Changes;
kernel void exchange_words(global uint* table, const Changes changes, const uint count) {
    const uint n = get_global_id(0);
    if (n < count) table[changes.places[n]] = changes.words[n];
}
"""
_MOST, _OTHERS = 480, 32
"""Words that one launch exchanges, and the bytes of its other arguments."""
_TABLE, _CHANGES, _COUNT = range(3)


def _most(engine: Engine) -> int:
    return min(_MOST, (engine.device.cl_device.max_parameter_size - _OTHERS) // 8)


def exchange_job(engine: Engine) -> BuildJob:
    """What builds the program that tables need."""
    return BuildJob(_SOURCE, f"-DMOST={_most(engine)}")


class StageTable:
    """A table of so many bytes: `image` is what it shall be, `memory` what it is since the last `update`.

    A few words are exchanged by a launch, which has them as arguments: a transfer behind other launches takes 75 to
    170 us more, since it is another engine of the device that does it (76 KB, H200). `program`: from `exchange_job`.
    """

    def __init__(self, engine: Engine, program: Program, nbytes: int) -> None:
        self._most = _most(engine)
        self.image = StageImage(nbytes, self._most)
        self.memory = engine.allocate_bytes(nbytes, "a table of stages")
        self._kernel = engine.create_kernel(program, _ENTRY)
        self._kernel.set_buffer(_TABLE, self.memory)
        self._work = WorkSize((self._most,))

    def update(self, stream: Stream) -> None:
        """Bring the device's up to date, behind what was given to the stream."""
        image, count = self.image, self.image.count
        if not count:
            return
        if count > self._most:
            stream.write(self.memory, image.words.copy())
        else:
            changes = np.zeros((2, self._most), np.uint32)
            changes[0, :count], changes[1, :count] = image.places, image.words[image.places]
            self._kernel.set_bytes(_CHANGES, changes.tobytes())
            self._kernel.set_bytes(_COUNT, struct.pack("<I", count))
            stream.enqueue(self._kernel, self._work)
        image.sent()
