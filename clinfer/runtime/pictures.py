"""Batches of images."""
from __future__ import annotations

from collections.abc import Sequence

from clinfer.base.layout import Layout
from clinfer.runtime.memory import Allocation, Memory


class Pictures(Memory):
    """Images that are together one tensor [n, height, width, channels], one for each of its n pictures.

    The images stay what they are, wherever they lie; nothing here is given back but by who made them.
    """

    __slots__ = ("_pictures",)

    def __init__(self, pictures: Sequence[Memory], layout: Layout) -> None:
        first = pictures[0]
        nbytes = sum(picture.nbytes for picture in pictures)
        super().__init__(first.engine, Allocation(first.native, nbytes), layout)
        self._pictures = tuple(pictures)

    @property
    def pictures(self) -> tuple[Memory, ...]:
        return self._pictures

    @property
    def is_released(self) -> bool:
        return any(picture.is_released for picture in self._pictures)
