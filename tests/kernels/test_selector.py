"""The selector: the highest score wins, and every other kernel comes with its reason."""
from __future__ import annotations

from dataclasses import replace

import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.format import Format
from clinfer.base.layout import Layout
from clinfer.base.shape import ANY, Shape
from clinfer.kernels.implementation import bind, generate
from clinfer.kernels.selector import Forced, alternatives, select
from clinfer.kernels.spec import Formats, KernelParams, KernelSpec
from clinfer.ops import kernels_of
from clinfer.ops.softmax import Softmax
from clinfer.runtime.engine import Engine

BFYX, BYXF, YXFB = Format.of("bfyx"), Format.of("byxf"), Format.of("yxfb")


@pytest.fixture
def params(engine: Engine) -> KernelParams:
    return _params(engine, (ANY, 3))


def _params(engine: Engine, shape: Shape) -> KernelParams:
    layout = Layout.planar(shape, ElementType.of("f32"))
    return KernelParams(Softmax("s", ("x",), axis=1), (layout,), (layout,), engine.capabilities)


def _spec(name: str, score: float = 0, refuses: str | None = None, fmt: Format = BFYX,
          picky: bool = False) -> KernelSpec:
    return KernelSpec(name, (), supports=lambda p: refuses, score=lambda p: score,
                      formats=lambda p: Formats((fmt,), (fmt,)), check_shapes=(lambda p: None) if picky else None)


def test_the_best_wins_and_the_others_say_why(params: KernelParams) -> None:
    chosen = select((_spec("slow"), _spec("fast", 2), _spec("never", 9, "no sub-groups")), params)
    assert [s.name for s in chosen.specs] == ["fast"]
    assert dict(chosen.rejected) == {"never": "no sub-groups", "slow": "score 0 is below 2 of fast"}


def test_a_kernel_that_decides_per_shape_has_others_behind_it(params: KernelParams) -> None:
    table = (_spec("ref"), _spec("picky", 3, picky=True), _spec("blocked", 2, fmt=BYXF), _spec("good", 1))
    chosen = select(table, params)
    assert [s.name for s in chosen.specs] == ["picky", "good"]
    assert dict(chosen.rejected) == {"blocked": "works on other formats than picky",
                                     "ref": "score 0 is below 3 of picky"}


def test_a_table_in_which_nothing_accepts_every_shape_is_an_error(params: KernelParams) -> None:
    with pytest.raises(ClinferError, match="no kernel of the table accepts every shape"):
        select((_spec("picky", 3, picky=True),), params)


def test_static_shapes_decide_at_once(engine: Engine) -> None:
    static = _params(engine, (2, 3))
    refuses = replace(_spec("refuses", 4), check_shapes=lambda p: "odd sizes")
    chosen = select((_spec("ref"), _spec("picky", 3, picky=True), refuses), static)
    assert [s.name for s in chosen.specs] == ["picky"]
    assert dict(chosen.rejected) == {"refuses": "odd sizes", "ref": "score 0 is below 3 of picky"}


def test_formats_of_kernels_that_are_alike_are_alternatives(params: KernelParams) -> None:
    table = (_spec("blocked", 3.5, fmt=BYXF), _spec("fast", 3.2), _spec("slow", 2.4),
             _spec("other", 3.1, fmt=YXFB), replace(_spec("open", 3.3, fmt=YXFB), check_shapes=lambda p: None))
    first, second, third = alternatives(table, params)
    assert [s.name for s in first.specs] == ["blocked"] and first.loss == 0
    assert [s.name for s in second.specs] == ["open", "other"] and second.loss == pytest.approx(0.2)
    assert [s.name for s in third.specs] == ["fast"] and third.loss == pytest.approx(0.3)
    assert dict(third.rejected) == {
        "blocked": "works on other formats than fast", "slow": "score 2.4 is below 3.2 of fast",
        "other": "score 3.1 is below 3.2 of fast", "open": "works on other formats than fast"}
    assert third.why == "its formats, at a score of 3.2; blocked has 3.5"


def test_formats_in_which_nothing_accepts_every_shape_are_no_alternative(params: KernelParams) -> None:
    table = (_spec("ref"), _spec("fast", 3.2), _spec("picky", 3.1, fmt=BYXF, picky=True))
    assert [s.specs[0].name for s in alternatives(table, params)] == ["fast"]


def test_force_beats_the_score(params: KernelParams) -> None:
    table = (_spec("ref"), _spec("fast", 2), _spec("blocked", 3, fmt=BYXF))
    assert select(table, params, Forced(kernel="ref")).specs[0].name == "ref"
    forced = select(table, params, Forced(format="byxf"))
    assert forced.specs[0].name == "blocked" and forced.params.outputs[0].format == BYXF
    assert dict(forced.rejected)["fast"] == "output format byxf is forced"


@pytest.mark.parametrize("forced, message", [
    (Forced(kernel="never"), r"forced kernel 'never' cannot be used[^$]*never: no sub-groups"),
    (Forced(kernel="unheard"), r"forced kernel 'unheard' cannot be used[^$]*kernels: ref, never"),
    (Forced(format="yxfb"), r"no kernel supports this primitive[^$]*ref: output format yxfb is forced"),
    (Forced(format="bfzyx"), "forced format bfzyx does not fit"),
])
def test_what_cannot_be_forced(params: KernelParams, forced: Forced, message: str) -> None:
    with pytest.raises(ClinferError, match=message):
        select((_spec("ref"), _spec("never", refuses="no sub-groups")), params, forced)


def test_no_kernel_at_all_gives_every_reason(params: KernelParams) -> None:
    with pytest.raises(ClinferError, match=r"Softmax 's'[^$]*a: first[^$]*b: second"):
        select((_spec("a", refuses="first"), _spec("b", refuses="second")), params)


def test_tensors_beyond_32_bits_are_refused(engine: Engine) -> None:
    params = _params(engine, (2**16, 2**15))
    spec = kernels_of(params.primitive)[-1]
    with pytest.raises(ClinferError, match=r"too large to be indexed with 32 bits[^$]*\[65536,32768\]"):
        bind(generate(spec, params), params)
