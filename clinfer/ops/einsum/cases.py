"""Cases of einsum."""
from __future__ import annotations

from clinfer.ops.operation import Case

_Sequence = tuple[tuple[tuple[int, ...], ...], ...]


def _row(equation: str, *shapes: tuple[int, ...], kind: str = "f32", sequence: _Sequence = ()) -> Case:
    return Case("Einsum", "opset7", tuple((shape, kind) for shape in shapes), {"equation": equation},
                sequence=sequence, id=f"Einsum-{equation}-{kind}".replace("->", "to").replace(",", "-"))


CASES = (
    _row("ij,jk->ik", (3, 4), (4, 5), sequence=(((7, 1), (1, 9)), ((1, 33), (33, 2)))),
    _row("bhid,bhjd->bhij", (2, 3, 5, 4), (2, 3, 7, 4), sequence=(((1, 3, 9, 4), (1, 3, 2, 4)),)),
    _row("bqhd,hdm->bqm", (2, 5, 3, 4), (3, 4, 6), sequence=(((1, 9, 3, 4), (3, 4, 6)),)),
    _row("bhwc,hkc->bhwk", (2, 3, 4, 5), (3, 6, 5)),
    _row("bqhd,hdm->bqm", (2, 5, 3, 4), (3, 4, 6), kind="f16"),
    _row("ij,jk", (3, 4), (4, 5), kind="i32"),
    _row("i,j->ij", (3,), (4,), sequence=(((9,), (1,)),)),
    _row("ab,bcd,adc->", (2, 3), (3, 4, 5), (2, 5, 4)),
    _row("...ii->...i", (2, 3, 4, 4)),
    _row("ii->", (5, 5)),
    _row("ij->j", (5, 3), sequence=(((2, 40),),)),
    _row("...ij,...jk->...ik", (3, 1, 2, 4), (5, 4, 3)),
    _row("ji,kj->ik", (4, 3), (5, 4)),
    _row("ab,cb->", (3, 4), (5, 4)),
    _row("abc,ac->b", (3, 4, 5), (3, 5)),
    _row("bc,abcd->abd", (3, 4), (2, 3, 4, 5)),
)
