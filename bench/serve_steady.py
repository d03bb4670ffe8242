"""A server that is loaded for minutes: failures, and the memory of its processes.

The closed loop tells what the server can take; the open loop asks for `--share` of that, inputs of mixed sizes, and
the resident memory of the model's replica and of the front end is told each minute.
Usage: python -m bench.serve_steady [ppocr_rec] [--minutes 10] [--share 0.8] [--probe 20] [--users 4] [--precision f32]
Needs `pip install clinfer[serve,bench]`.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.serve import load, open_loop, server, write_models

_MINUTE_S = 60.0


def resident(application: str) -> float:
    """MiB of the processes of a Serve application."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "cmdline").read_bytes().startswith(b"ray::ServeReplica:" + application.encode()):
                lines = (folder / "status").read_text().splitlines()
                total += next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
        except (OSError, StopIteration):
            continue
    return total / 1024


@contextmanager
def watched(model: str) -> Iterator[None]:
    """Print the memory of each minute while the context lasts."""
    is_over = threading.Event()
    watching = threading.Thread(target=_watch, args=(model, is_over))
    watching.start()
    try:
        yield
    finally:
        is_over.set()
        watching.join()


def _watch(model: str, is_over: threading.Event) -> None:
    start, minute = time.monotonic(), 0
    while not is_over.wait(max(0.0, start + minute * _MINUTE_S - time.monotonic())):
        print(f"minute {minute:2}: replica {resident(f'clinfer-model:{model}:'):7.1f} MiB, "
              f"front end {resident('clinfer:front-end'):7.1f} MiB", flush=True)
        minute += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", default="ppocr_rec")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--share", type=float, default=0.8)
    parser.add_argument("--probe", type=int, default=20)
    parser.add_argument("--users", type=int, default=4)
    parser.add_argument("--precision", default="")
    given = parser.parse_args()
    with (tempfile.TemporaryDirectory() as folder,
          server("clinfer", write_models([given.model], Path(folder)), given.precision) as address):
        load(address, given.model, given.users, given.probe)
        able = load(address, given.model, given.users, given.probe)["per_s"]
        print(f"{given.model}: {able:.1f} requests/s in a closed loop", flush=True)
        with watched(given.model):
            row, = open_loop({"clinfer": address}, given.model, given.share * able, int(given.minutes * _MINUTE_S + 1))
    print(f"asked {row.asked_per_s:.1f}, answered {row.per_s:.1f} requests/s, failed {row.failed}, "
          f"p50 {row.p50_ms:.0f} ms, p99 {row.p99_ms:.0f} ms, most {row.most_ms:.0f} ms")


if __name__ == "__main__":
    main()
