"""The selector: the least time wins, for each shape among what is built, and every other kernel has its reason."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.format import IMAGE_2D, Format
from clinfer.base.layout import Layout, Padding
from clinfer.base.shape import ANY, Dim, Shape, Size
from clinfer.kernels.contract import Candidate, Formats, Kernel, KernelTable, Lowered, Problem
from clinfer.kernels.implementation import bind, generate
from clinfer.kernels.selector import (
    ALIKE,
    CLEAR_MARGIN,
    FAR_SLOWER,
    USUAL_SIZE,
    Forced,
    Judged,
    Selection,
    alternatives,
    cheapest,
    select,
)
from clinfer.ops import kernels_of
from clinfer.ops.eltwise import Eltwise
from clinfer.ops.softmax import Softmax
from clinfer.runtime.capabilities import Capabilities
from clinfer.runtime.engine import Engine
from clinfer.topology.primitive import FusedOp

BFYX, BYXF, YXFB = Format.of("bfyx"), Format.of("byxf"), Format.of("yxfb")


@dataclass(frozen=True)
class Fake(Kernel[Problem, Any]):
    """A kernel that takes `time(rows, config)` nanoseconds (or always the same), in one format, for at most so many
    rows; `asked` notes the rows of which it was asked the time."""

    name: str
    time: float | Callable[[int, Any], float] = 1000.0
    fmt: Format = BFYX
    most_rows: int | None = None
    refusal: str | None = None
    device: str | None = None
    tiles: tuple[int | None, ...] = (None,)
    has_epilogue: bool = False
    writes_packed: bool = False
    reads_images: bool = False
    asked: list[int] = field(default_factory=list, compare=False)

    def targets(self, device: Capabilities) -> str | None:
        return self.device

    def formats(self, problem: Problem) -> Formats:
        return Formats((self.fmt,), (self.fmt,))

    def configs(self, problem: Problem) -> tuple[int | None, ...]:
        return self.tiles

    def supports(self, problem: Problem, config: int | None) -> str | None:
        return self.refusal

    def accepts(self, problem: Problem, config: int | None) -> str | None:
        if self.most_rows is None or (problem.is_decided and problem.outputs[0].static_shape[0] <= self.most_rows):
            return None
        return "too many rows"

    def cost(self, problem: Problem, config: int | None) -> float:
        rows = problem.outputs[0].static_shape[0]
        self.asked.append(rows)
        return self.time(rows, config) if callable(self.time) else self.time

    def lower(self, problem: Problem, config: int | None) -> Lowered:
        return Lowered(())


def problem_of(engine: Engine, rows: Size = ANY, kind: str = "f32", fmt: Format = BFYX) -> Problem:
    """Rows of three numbers."""
    layout = Layout((rows, 3, 1, 1), ElementType.of(kind), fmt)
    return Problem(Softmax("s", ("x",), axis=1), (layout,), (layout,), engine.capabilities)


def table(*kernels: Kernel[Any, Any]) -> KernelTable:
    return KernelTable(kernels)


def names(selection: Selection) -> list[str]:
    return [candidate.name for candidate in selection.candidates]


@pytest.fixture
def problem(engine: Engine) -> Problem:
    return problem_of(engine)


def test_the_least_time_wins_and_the_others_say_why(problem: Problem) -> None:
    kernels = table(Fake("slow", 4000), Fake("fast", 1000), Fake("never", 1, refusal="no sub-groups"),
                    Fake("elsewhere", 1, device="made for another device"))
    chosen = select(kernels, problem)
    assert names(chosen) == ["fast"] and not chosen.is_forced
    assert dict(chosen.rejected) == {"never": "no sub-groups", "elsewhere": "made for another device",
                                     "slow": "4 us against 1 us of fast"}
    assert chosen.costs == (("fast", 1000), ("slow", 4000))
    assert chosen.why == "the least time (1 us) of 2 kernels that support it"
    assert select(table(Fake("alone")), problem).why == "the only kernel that supports it"


@pytest.mark.parametrize(("attribute", "refusal"), [
    ("has_epilogue", "applies no fused operations"), ("writes_packed", "4-bit outputs"),
    ("reads_images", "reads no images")])
def test_what_only_some_kernels_are_made_for(engine: Engine, attribute: str, refusal: str) -> None:
    plain, fused_ops = problem_of(engine), (FusedOp(Eltwise("r", ("s",), mode="Relu"), (None,)),)
    problem = {"has_epilogue": replace(plain, primitive=replace(plain.primitive, fused_ops=fused_ops)),
               "writes_packed": problem_of(engine, kind="u4"), "reads_images": plain}[attribute]
    fmt = IMAGE_2D if attribute == "reads_images" else BFYX
    able = Fake("able", 9000, fmt, **{attribute: True})  # type: ignore[arg-type]
    chosen = select(table(Fake("fast", 1, fmt), able), problem)
    assert names(chosen) == ["able"] and dict(chosen.rejected) == {"fast": refusal}


# -- shapes -----------------------------------------------------------------------------------------


def test_a_kernel_that_accepts_some_shapes_only_has_stand_ins(problem: Problem) -> None:
    kernels = table(Fake("ref", 9000), Fake("picky", 1000, most_rows=100), Fake("choosy", 1500, most_rows=200),
                    Fake("good", 2000), Fake("blocked", 3000, BYXF))
    chosen = select(kernels, problem)
    assert names(chosen) == ["picky", "choosy", "good"]
    assert dict(chosen.rejected) == {"ref": "9 us against 1 us of picky",
                                     "blocked": "works on other formats than picky"}


def test_what_accepts_no_likely_shape_is_not_built(problem: Problem) -> None:
    chosen = select(table(Fake("tiny", 1, most_rows=USUAL_SIZE - 1), Fake("good")), problem)
    assert names(chosen) == ["good"]
    assert dict(chosen.rejected) == {"tiny": "accepts none of the sizes that are likely"}
    assert chosen.costs == (("good", 1000),)


def test_a_table_in_which_nothing_accepts_every_shape_is_an_error(problem: Problem) -> None:
    with pytest.raises(ClinferError, match=r"no kernel of the table accepts every shape[^$]*picky: accepts some"):
        select(table(Fake("picky", most_rows=100), Fake("other", refusal="never")), problem)


def test_static_shapes_decide_at_once(engine: Engine) -> None:
    static = problem_of(engine, 2)
    kernels = table(Fake("ref", 9000), Fake("picky", 1000, most_rows=100), Fake("refuses", 1, most_rows=1))
    chosen = select(kernels, static)
    assert names(chosen) == ["picky"]
    assert dict(chosen.rejected) == {"refuses": "too many rows", "ref": "9 us against 1 us of picky"}


@pytest.mark.parametrize(("rows", "usual"), [(ANY, USUAL_SIZE), (Dim(0, 16), 16), (Dim(100), 100), (7, 7)])
def test_usual_sizes_lie_within_the_bounds(engine: Engine, rows: Size, usual: int) -> None:
    kernel = Fake("kernel")
    select(table(kernel), problem_of(engine, rows))
    assert kernel.asked == [usual]


@pytest.mark.parametrize(("gain", "expected"), [(1.0, ["many"]), (CLEAR_MARGIN * 0.99, ["many"]),
                                                (CLEAR_MARGIN * 1.01, ["many", "few"])])
def test_samples_have_another_kernel_built_if_it_is_clearly_faster(engine: Engine, gain: float,
                                                                   expected: list[str]) -> None:
    kernels = table(Fake("many", 1000), Fake("few", lambda rows, _: 1000 / gain if rows == 1 else 5000))
    samples = [problem_of(engine, rows) for rows in (64, 1, 500)]
    chosen = select(kernels, problem_of(engine), samples=samples)
    assert names(chosen) == expected and chosen.cost == 1000
    assert dict(chosen.rejected) == ({} if "few" in expected else {"few": "5 us against 1 us of many"})


def test_what_stands_in_for_the_kernel_of_a_sample_is_built_with_it(engine: Engine) -> None:
    kernels = table(Fake("many", 1000), Fake("few", lambda rows, _: rows * 100, most_rows=1),
                    Fake("some", lambda rows, _: rows * 200), Fake("ref", 9000))
    samples = [problem_of(engine, rows) for rows in (64, 1)]
    assert names(select(kernels, problem_of(engine), samples=samples)) == ["many", "few", "some"]


def test_configurations_compete_like_kernels(engine: Engine) -> None:
    tiled = Fake("tile", lambda rows, tile: -(-rows // tile) * (100 + 10 * tile), tiles=(1, 8, 32))
    samples = [problem_of(engine, rows) for rows in (64, 1)]
    chosen = select(table(tiled, Fake("ref", 99999)), problem_of(engine), samples=samples)
    assert names(chosen) == ["tile_32", "tile_1"]
    assert dict(chosen.costs) == {"tile_32": 840, "tile_8": 1440, "tile_1": 7040, "ref": 99999}


def test_each_shape_takes_what_is_fastest_for_it(engine: Engine) -> None:
    few, many = Candidate(Fake("few", lambda rows, _: rows * 100)), Candidate(Fake("many", 1000))
    picky = Candidate(Fake("picky", 1, most_rows=3))
    found = {rows: cheapest((many, few, picky), problem_of(engine, rows)) for rows in (1, 4, 9, 10, 11, 500)}
    assert found == {1: 2, 4: 1, 9: 1, 10: 0, 11: 0, 500: 0}


def test_no_candidate_may_accept_a_shape(engine: Engine) -> None:
    picky = Candidate(Fake("picky", 1, most_rows=3))
    assert cheapest((picky,), problem_of(engine, 4)) == cheapest((picky, picky), problem_of(engine, 4)) == -1
    assert cheapest((), problem_of(engine, 4)) == -1 and cheapest((picky,), problem_of(engine, 3)) == 0


# -- formats ----------------------------------------------------------------------------------------


def test_formats_in_which_kernels_are_alike_are_alternatives(problem: Problem) -> None:
    kernels = table(Fake("blocked", 1000, BYXF), Fake("fast", 1000 * ALIKE - 1), Fake("slow", 3000),
                    Fake("other", 1400, YXFB), Fake("open", 1200, YXFB, most_rows=100))
    first, second, third = alternatives(kernels, problem)
    assert names(first) == ["blocked"] and first.cost == 1000
    assert names(second) == ["open", "other"] and second.cost == 1200
    assert names(third) == ["fast"] and third.cost == 1000 * ALIKE - 1
    assert [x.problem.inputs[0].format for x in (first, second, third)] == [BYXF, YXFB, BFYX]
    assert dict(third.rejected) == {
        "blocked": "works on other formats than fast", "slow": "3 us against 2 us of fast",
        "other": "works on other formats than fast", "open": "works on other formats than fast"}
    assert third.why == "its formats, at 2 us; blocked takes 1 us"


def test_formats_that_take_much_longer_are_none(problem: Problem) -> None:
    kernels = table(Fake("fast", 1000), Fake("blocked", 1000 * ALIKE, BYXF))
    assert [names(x) for x in alternatives(kernels, problem)] == [["fast"]]


@pytest.mark.parametrize(("rows", "slower", "expected"), [
    (1000, FAR_SLOWER * 1.1, ["few", "even"]), (1000, FAR_SLOWER * 0.9, ["few"]), (1, FAR_SLOWER * 1.05, ["few"])])
def test_formats_that_are_far_faster_for_larger_samples_are_alternatives(engine: Engine, rows: int, slower: float,
                                                                         expected: list[str]) -> None:
    few = Fake("few", lambda given, _: 100.0 if given == 10 else 30.0 * given * slower)
    even = Fake("even", lambda given, _: 30.0 * given, BYXF)
    samples = [problem_of(engine, given) for given in (10, rows)]
    found = alternatives(table(few, even), problem_of(engine), samples=samples)
    assert [names(x)[0] for x in found] == expected
    assert found[0].sample_costs == (100.0, 30.0 * rows * slower)


def test_formats_in_which_nothing_accepts_every_shape_are_no_alternative(problem: Problem) -> None:
    kernels = table(Fake("ref", 9000), Fake("fast"), Fake("picky", 900, BYXF, most_rows=100))
    assert [names(x) for x in alternatives(kernels, problem)] == [["fast"]]


def test_what_was_judged_is_not_asked_again(engine: Engine) -> None:
    kernel, judged = Fake("kernel", fmt=BYXF), Judged()
    for fmt in (BFYX, BYXF, YXFB):
        found, = alternatives(table(kernel), problem_of(engine, fmt=fmt), judged=judged)
        assert found.problem.inputs[0].format == BYXF
    assert len(kernel.asked) == 1


def test_padded_inputs_are_judged_by_themselves(engine: Engine) -> None:
    kernel, judged, plain = Fake("kernel"), Judged(), problem_of(engine)
    padded = replace(plain, inputs=(replace(plain.inputs[0], padding=Padding((1,) * 4, (1,) * 4)),))
    for problem in (plain, padded, plain):
        found, = alternatives(table(kernel), problem, judged=judged)
        assert found.problem.inputs == problem.inputs


# -- demands ----------------------------------------------------------------------------------------


def test_a_kernel_can_be_forced(problem: Problem) -> None:
    kernels = table(Fake("ref", 9000), Fake("fast"), Fake("blocked", 500, BYXF))
    forced = select(kernels, problem, Forced(kernel="ref"))
    assert names(forced) == ["ref"] and forced.is_forced and forced.why == "kernel ref is forced"
    assert dict(forced.rejected)["blocked"] == "works on other formats than ref"
    assert forced.costs[0] == ("blocked", 500)


def test_a_forced_kernel_has_its_best_configurations(engine: Engine) -> None:
    kernels = table(Fake("fast", 1), Fake("tile", lambda rows, tile: -(-rows // tile) * (100 + 10 * tile),
                                          tiles=(1, 8, 32)))
    problem, samples = problem_of(engine), [problem_of(engine, rows) for rows in (64, 1)]
    assert names(select(kernels, problem, Forced(kernel="tile"))) == ["tile_32"]
    assert names(select(kernels, problem, Forced(kernel="tile"), samples)) == ["tile_32", "tile_1"]
    assert names(select(kernels, problem, Forced(kernel="tile_8"), samples)) == ["tile_8"]


@pytest.mark.parametrize("most_rows", [100, 1])
def test_others_stand_in_for_a_forced_kernel(problem: Problem, most_rows: int) -> None:
    """Also for one that accepts none of the sizes that are likely."""
    kernels = table(Fake("ref", 9000), Fake("picky", 5000, most_rows=most_rows), Fake("fast"))
    forced = select(kernels, problem, Forced(kernel="picky"))
    assert names(forced) == ["picky", "fast"] and forced.why == "kernel picky is forced"


def test_a_format_can_be_forced(problem: Problem) -> None:
    kernels = table(Fake("fast"), Fake("blocked", 3000, BYXF), Fake("slow", 5000, BYXF))
    forced = select(kernels, problem, Forced(format="byxf"))
    assert names(forced) == ["blocked"] and forced.problem.outputs[0].format == BYXF
    assert forced.is_forced and forced.why == "output format byxf is forced"
    assert dict(forced.rejected) == {"fast": "output format byxf is forced", "slow": "5 us against 3 us of blocked"}
    assert names(select(kernels, problem, Forced("byxf", "slow"))) == ["slow"]


@pytest.mark.parametrize("forced, message", [
    (Forced(kernel="never"), r"forced kernel 'never' cannot be used[^$]*never: no sub-groups"),
    (Forced(kernel="unheard"), r"forced kernel 'unheard' cannot be used[^$]*kernels: ref, never, tile_1, tile_8"),
    (Forced(kernel="tile_2"), r"forced kernel 'tile_2' cannot be used[^$]*kernels: ref, never, tile_1, tile_8"),
    (Forced("byxf", "ref"), r"forced kernel 'ref' cannot be used[^$]*ref: output format byxf is forced"),
    (Forced(format="yxfb"), r"no kernel supports this primitive[^$]*ref: output format yxfb is forced"),
    (Forced(format="bfzyx"), "forced format bfzyx does not fit"),
])
def test_what_cannot_be_forced(problem: Problem, forced: Forced, message: str) -> None:
    with pytest.raises(ClinferError, match=message):
        select(table(Fake("ref"), Fake("never", refusal="no sub-groups"), Fake("tile", tiles=(1, 8))), problem, forced)


def test_no_kernel_at_all_gives_every_reason(problem: Problem) -> None:
    with pytest.raises(ClinferError, match=r"Softmax 's'[^$]*a: first[^$]*b: second"):
        select(table(Fake("a", refusal="first"), Fake("b", refusal="second")), problem)


def test_tensors_beyond_32_bits_are_refused_by_code_that_has_no_more(engine: Engine) -> None:
    shape: Shape = (2**16, 2**15)
    layout, primitive = Layout.planar(shape, ElementType.of("f32")), Softmax("s", ("x",), axis=1)
    kernels = kernels_of(primitive)
    problem = kernels.problem.of(primitive, (layout,), (layout,), engine.capabilities, {})
    candidate = kernels.candidates(problem)[-1]
    with pytest.raises(ClinferError, match=r"too large to be indexed with 32 bits[^$]*\[65536,32768\]"):
        bind(generate(candidate, replace(problem, is_large=False)), problem)
