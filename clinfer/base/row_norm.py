"""The normalisation of rows that a product does on its way."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.base.schema import Positive


@dataclass(frozen=True)
class RowNorm:
    """The left side of a product is known to be data * weight / sqrt(mean(data^2) + eps), the mean being that of each
    row ("Root Mean Square Layer Normalization", Zhang and Sennrich). The last two of the product's own inputs are the
    data, which lies as the left side does, and the weight, one number for each k.

    Of at most `rows` rows nobody makes the left side: the product is left to do so (a prologue).
    """

    eps: float
    rows: Positive
