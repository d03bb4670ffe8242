"""Many cases in child processes: what they found, crashes and hangs included."""
from __future__ import annotations

import json
import os
import queue
import random
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field

from tests.faults.injection import MODES, Mode
from tests.faults.kinds import KINDS
from tests.faults.trial import Case, Part, Verdict

FIRST_TIMEOUT_S = 600.0
"""Of the first case of each kind in a process, for which kernels may be built."""


def cases(seed: int, count: int, device: str, kinds: Sequence[str] = (), modes: Sequence[Mode] = (),
          parts: Sequence[Part] = ()) -> Iterator[Case]:
    """As many cases, the same ones for the same seed; one in eight strikes a compilation."""
    rng = random.Random(seed)
    for _ in range(count):
        part: Part = rng.choice(parts) if parts else "compile" if rng.random() < 1 / 8 else "infer"
        yield Case(rng.choice(list(kinds or KINDS)), part, rng.choice(list(modes or MODES)), rng.random(),
                   rng.getrandbits(32), device)


@dataclass
class Summary:
    """What became of the cases."""

    total: int = 0
    raised: Counter[str] = field(default_factory=Counter)
    findings: list[tuple[Case, Verdict]] = field(default_factory=list)

    def add(self, case: Case, verdict: Verdict) -> None:
        """Count a case."""
        self.total += 1
        if verdict.finding:
            self.findings.append((case, verdict))
        else:
            self.raised[verdict.raised] += 1

    def __str__(self) -> str:
        raised = ", ".join(f"{count} raised {name}" for name, count in self.raised.most_common())
        return f"{self.total} cases: {raised or 'none passed'}; {len(self.findings)} findings"


class Child:
    """A process that carries out cases; it is replaced when it crashes or hangs."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._process: subprocess.Popen[bytes] | None = None
        self._warm: set[tuple[str, str]] = set()

    def judge(self, case: Case) -> Verdict:
        """The verdict of a case."""
        if self._process is None:
            self._words = tempfile.TemporaryFile()  # noqa: SIM115
            self._process = subprocess.Popen([sys.executable, "-m", "tests.faults.trial"], stdin=subprocess.PIPE,
                                             stdout=subprocess.PIPE, stderr=self._words)
            self._warm.clear()
        process, key = self._process, (case.kind, case.device)
        assert process.stdin and process.stdout
        try:
            process.stdin.write(f"{case}\n".encode())
            process.stdin.flush()
        except OSError:
            return self._end("crash")
        answer = _line(process, self._timeout if key in self._warm else FIRST_TIMEOUT_S)
        self._warm.add(key)
        if answer is None:
            process.send_signal(signal.SIGABRT)
            return self._end("hang")
        return Verdict(**json.loads(answer)) if answer else self._end("crash")

    def _end(self, what: str) -> Verdict:
        process, self._process = self._process, None
        assert process is not None
        try:
            code = process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        self._words.seek(0)
        words = self._words.read().decode(errors="replace")[-6000:]
        self.close()
        return Verdict(f"{what}, exit code {code}\n{words}")

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            self._words.close()


def _line(process: subprocess.Popen[bytes], timeout: float) -> bytes | None:
    """The next line of a process; empty if it ended, None if there is none in that time."""
    assert process.stdout
    line, deadline = b"", time.monotonic() + timeout
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while not line.endswith(b"\n"):
            if not selector.select(max(0.0, deadline - time.monotonic())):
                return None
            part = os.read(process.stdout.fileno(), 1 << 16)
            if not part:
                return b""
            line += part
    return line


def run(chosen: Iterable[Case], processes: int, timeout: float, tell: bool = False) -> Summary:
    """Carry out cases in so many processes."""
    summary, lock, waiting = Summary(), threading.Lock(), queue.SimpleQueue[Case]()
    for case in chosen:
        waiting.put(case)

    def work() -> None:
        child = Child(timeout)
        while True:
            try:
                case = waiting.get_nowait()
            except queue.Empty:
                child.close()
                return
            verdict = child.judge(case)
            with lock:
                summary.add(case, verdict)
                if tell and verdict.finding:
                    print(f"FINDING {asdict(case)}\n  at {verdict.at}\n{verdict.finding}\n", flush=True)
                if tell and summary.total % 200 == 0:
                    print(summary, flush=True)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return summary
