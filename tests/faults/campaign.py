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
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tests.cores import shares_of_cores
from tests.faults.injection import MODES, Mode
from tests.faults.kinds import KINDS
from tests.faults.trial import Case, Outcome, Part

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
    """What became of the cases. `cut_off`: those that were under way when the time was over, and for how long."""

    wanted: int = 0
    total: int = 0
    raised: Counter[str] = field(default_factory=Counter)
    findings: list[tuple[Case, Outcome]] = field(default_factory=list)
    cut_off: list[tuple[Case, float]] = field(default_factory=list)

    def add(self, case: Case, outcome: Outcome) -> None:
        """Count a case."""
        self.total += 1
        if outcome.finding:
            self.findings.append((case, outcome))
        else:
            self.raised[outcome.raised] += 1

    def __str__(self) -> str:
        raised = ", ".join(f"{count} raised {name}" for name, count in self.raised.most_common())
        return f"{self.total} of {self.wanted} cases: {raised or 'none passed'}; {len(self.findings)} findings"


class CutOff(Exception):
    """The time is over."""


class Child:
    """A process that carries out cases, kept to some of the processor's cores if these are given; it is replaced when
    it crashes or hangs. Every case raises CutOff once `cut_off` was called, also the one that is under way."""

    def __init__(self, timeout: float, cores: Collection[int] = ()) -> None:
        self._timeout, self._cores = timeout, cores
        self._process: subprocess.Popen[bytes] | None = None
        self._warm: set[tuple[str, str]] = set()
        self._is_cut_off = False

    def cut_off(self) -> None:
        """End the process for good, from any thread."""
        self._is_cut_off = True
        process = self._process
        if process is not None:
            process.kill()

    def judge(self, case: Case) -> Outcome:
        """The outcome of a case."""
        if self._process is None and not self._is_cut_off:
            self._start()
        outcome = None if self._is_cut_off else self._ask(case)
        if outcome is None or self._is_cut_off:
            raise CutOff
        return outcome

    def _start(self) -> None:
        self._words = tempfile.TemporaryFile()  # noqa: SIM115
        threads = {"POCL_MAX_PTHREAD_COUNT": str(len(self._cores))} if self._cores else {}
        # A session of its own: an interrupt from the terminal is not for the process, which would call it a finding.
        self._process = subprocess.Popen([sys.executable, "-m", "tests.faults.trial"], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, stderr=self._words, start_new_session=True,
                                         env={**threads, **os.environ})
        if self._cores:
            os.sched_setaffinity(self._process.pid, self._cores)
        self._warm.clear()

    def _ask(self, case: Case) -> Outcome:
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
        return Outcome(**json.loads(answer)) if answer else self._end("crash")

    def _end(self, what: str) -> Outcome:
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
        return Outcome(f"{what}, exit code {code}\n{words}")

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


def run(chosen: Iterable[Case], processes: int, timeout: float, tell: bool = False,
        seconds: float | None = None) -> Summary:
    """Carry out cases in so many processes, or as many as the time allows, or until this thread is interrupted."""
    deadline = None if seconds is None else time.monotonic() + seconds
    lock, waiting = threading.Lock(), queue.SimpleQueue[Case]()
    for case in chosen:
        waiting.put(case)
    summary = Summary(waiting.qsize())

    def work(child: Child) -> None:
        while True:
            try:
                case = waiting.get_nowait()
            except queue.Empty:
                child.close()
                return
            began = time.monotonic()
            try:
                outcome = child.judge(case)
            except CutOff:
                summary.cut_off.append((case, time.monotonic() - began))
                child.close()
                return
            with lock:
                summary.add(case, outcome)
                if tell and outcome.finding:
                    print(f"FINDING at {outcome.at}: python -m tests.faults --case '{case}'\n{outcome.finding}\n",
                          flush=True)
                if tell and summary.total % 200 == 0:
                    print(summary, flush=True)

    children = [Child(timeout, cores) for cores in shares_of_cores(processes)]
    threads = [threading.Thread(target=work, args=(child,), daemon=True) for child in children]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(None if deadline is None else max(deadline - time.monotonic(), 0))
    except KeyboardInterrupt:
        pass
    finally:
        for child in children:
            child.cut_off()
        for thread in threads:
            thread.join()
    return summary
