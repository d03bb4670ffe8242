"""Many graphs in several processes, and what was found, by cause."""
from __future__ import annotations

import collections
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.cores import shares_of_cores
from tests.fuzz.case import Case
from tests.fuzz.children import LIMIT, Child, CutOff
from tests.fuzz.running import STAGES, Outcome, case_of
from tests.fuzz.shrinking import shrink
from tests.fuzz.source import source

CUT_OF_ONE_CAUSE = 3
"""Findings of one kind of error that are cut down; the others are only counted."""


@dataclass
class Finding:
    """A cause, the smallest case that shows it, and the seeds that led to it, in the order in which they ended."""

    cause: str
    outcome: Outcome
    case: Case | None
    plugin_result: str = ""
    seeds: list[int] = field(default_factory=list)
    after: int = 0


class Session:
    """Draws, runs, cuts down and collects. `findings` by cause."""

    def __init__(self, device: str, shrink_seconds: float = 60, folder: Path | None = None,
                 limit: float = LIMIT) -> None:
        self._device, self._shrink_seconds, self._folder, self._limit = device, shrink_seconds, folder, limit
        self._lock = threading.Lock()
        self._seen: collections.Counter[str] = collections.Counter()
        self.findings: dict[str, Finding] = {}
        self.counts: collections.Counter[str] = collections.Counter()
        self.operations: collections.Counter[str] = collections.Counter()
        self.oracle: dict[str, int] = {}
        self.cut_off: dict[int, str] = {}
        self._wanted = 0
        self._began = time.monotonic()

    @property
    def graphs(self) -> int:
        return sum(self.counts.values())

    def run(self, seeds: Sequence[int], processes: int = 1, seconds: float | None = None) -> None:
        """All seeds, or as many as the time allows; what is under way when it is over, or when this thread is
        interrupted, is in `cut_off`."""
        deadline = None if seconds is None else time.monotonic() + seconds
        self._wanted += len(seeds)
        queue, failures = iter(seeds), list[BaseException]()
        children = [Child(self._device, self._limit, cores) for cores in shares_of_cores(processes)]

        def work(child: Child) -> None:
            try:
                self._work(queue, child)
            except BaseException as error:
                failures.append(error)
        threads = [threading.Thread(target=work, args=(child,)) for child in children]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(None if deadline is None else max(deadline - time.monotonic(), 0))
        finally:
            for child in children:
                child.cut_off()
            for thread in threads:
                thread.join()
        if failures:
            raise failures[0]

    def _work(self, queue: Iterator[int], child: Child) -> None:
        try:
            while True:
                with self._lock:
                    seed = next(queue, None)
                if seed is None:
                    return
                self._one(child, seed)
        except CutOff:
            return
        finally:
            child.close()

    def _one(self, child: Child, seed: int) -> None:
        try:
            answer = child.draw(seed)
        except CutOff as error:
            self.cut_off[seed] = str(error)
            raise
        outcome, case = answer.outcome, answer.case
        with self._lock:
            self.counts[outcome.kind] += 1
            after = self.graphs
            if case is not None:
                self.operations.update(case.graph.operations())
            if outcome.kind == "oracle":
                self.oracle[outcome.text] = seed
            self._seen[outcome.skeleton] += 1
            is_known = outcome.kind == "error" and self._seen[outcome.skeleton] > CUT_OF_ONE_CAUSE
        if not outcome.is_finding:
            return
        self._say(after, f"FINDING {outcome.kind} ({outcome.stage}), seed {seed}: python -m tests.fuzz --seed {seed} "
                         f"--graphs 1 --device '{self._device}'\n    {outcome.text[:600]}")
        plugin_result = ""
        try:
            if case is not None and not is_known:
                outcome, case = self._cut(child, case, outcome)
                plugin_result = child.plugin_result(case)
        finally:
            self._enter(seed, after, outcome, case, is_known, plugin_result)

    def _cut(self, child: Child, case: Case, outcome: Outcome) -> tuple[Outcome, Case]:
        stages = (outcome.stage,) if outcome.stage in STAGES else STAGES
        last = outcome

        def still_fails(candidate: Case) -> bool:
            nonlocal last
            found = child.check(candidate, stages)
            if found.is_finding and found.skeleton == outcome.skeleton:
                last = found
                return True
            return False
        try:
            small = shrink(case, still_fails, self._shrink_seconds)
        except CutOff:
            return outcome, case
        return last, case_of(small, last.stage) or small

    def _enter(self, seed: int, after: int, outcome: Outcome, case: Case | None, is_known: bool,
               plugin_result: str) -> None:
        with self._lock:
            cause = outcome.skeleton
            if outcome.kind != "error" and case is not None:
                cause = f"{cause}: {' '.join(case.graph.operations())}"
            finding = self.findings.setdefault(cause, Finding(cause, outcome, case, plugin_result, after=after))
            finding.seeds.append(seed)
            is_smaller = case is not None and (finding.case is None or len(case.graph.steps) < len(
                finding.case.graph.steps))
            if is_smaller and not is_known:
                finding.case, finding.outcome, finding.plugin_result = case, outcome, plugin_result
            if len(finding.seeds) == 1:
                self._say(after, f"seed {seed}, cut down: {self.told(finding)}")

    def _say(self, after: int, text: str) -> None:
        print(f"[{after} graphs, {time.monotonic() - self._began:.0f} s] {text}", flush=True)

    def told(self, finding: Finding) -> str:
        """A finding, with its program; in the folder, where there is one."""
        head = f"{finding.outcome.kind} ({finding.outcome.stage}): {finding.cause}\n    {finding.outcome.text[:600]}"
        if finding.plugin_result:
            head += f"\n    OpenVINO's CPU plugin: {finding.plugin_result}"
        if finding.case is None:
            return head
        text = source(finding.case, f"{finding.cause}; seed {finding.seeds[0]}", self._device)
        if self._folder is None:
            return f"{head}\n{text}"
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{finding.outcome.kind}_{finding.seeds[0]}.py"
        path.write_text(text, encoding="utf-8")
        steps = " ".join(finding.case.graph.operations())
        return f"{head}\n    {path}: {steps}"

    def summary(self) -> str:
        """The operations from the most frequent to the rarest, what was cut off, the causes, and one line of
        totals."""
        lines = ["operations: " + ", ".join(f"{op} {n}" for op, n in self.operations.most_common())]
        lines += [f"the oracle failed, seed {seed}: {text}" for text, seed in self.oracle.items()]
        lines += [f"cut off, seed {seed}: {text}" for seed, text in self.cut_off.items()]
        for finding in sorted(self.findings.values(), key=lambda f: -len(f.seeds)):
            steps = " ".join(finding.case.graph.operations()) if finding.case else ""
            lines.append(f"- {len(finding.seeds)} graphs, first seed {finding.seeds[0]} after {finding.after}: "
                         f"{finding.cause} | {steps} | OpenVINO's CPU plugin: {finding.plugin_result}")
        return "\n".join([*lines, self.totals()])

    def totals(self) -> str:
        """How many graphs of those that were wanted ended in which way, and how many causes were found."""
        counts = ", ".join(f"{n} {k}" for k, n in sorted(self.counts.items()))
        found = sum(len(finding.seeds) for finding in self.findings.values())
        return (f"{self.graphs} of {self._wanted} graphs in {time.monotonic() - self._began:.0f} s: "
                f"{counts or 'none'}; {found} findings of {len(self.findings)} causes")
