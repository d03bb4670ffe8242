"""What libraries of other languages print to standard error by themselves."""
from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from clinfer.base.scratch import scratch_file

_STANDARD_ERROR = 2


@contextmanager
def quiet_unless_done() -> Iterator[None]:
    """Hold back what is written to standard error inside. It follows when all went well; otherwise the error tells.

    For the command line alone: the descriptor belongs to the whole process.
    """
    if not sys.stderr:
        yield
        return
    sys.stderr.flush()
    own = os.dup(_STANDARD_ERROR)
    with scratch_file() as held:
        os.dup2(held.fileno(), _STANDARD_ERROR)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(own, _STANDARD_ERROR)
            os.close(own)
        held.seek(0)
        with open(_STANDARD_ERROR, "wb", closefd=False) as shown:
            shutil.copyfileobj(held, shown)
