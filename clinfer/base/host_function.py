"""The seam to an engine that knows operations which clinfer does not: it computes them on the host, or tells the shapes
of what they give."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.shape import Shape

Evaluate = Callable[[tuple[np.ndarray, ...]], tuple[np.ndarray, ...]]
"""From the unpacked values of an operation's inputs to those of its outputs."""


class HostFunction(ABC):
    """One operation of another engine, with its attributes and its constant inputs in it."""

    @property
    @abstractmethod
    def input_types(self) -> tuple[ElementType, ...]:
        """Of the inputs that are no constants."""

    @property
    @abstractmethod
    def output_types(self) -> tuple[ElementType, ...]:
        """Of all outputs."""

    @abstractmethod
    def output_shapes(self, shapes: tuple[Shape | None, ...]) -> tuple[Shape | None, ...]:
        """The shapes of all outputs for those of the inputs that are no constants; safe for use by several threads."""

    @abstractmethod
    def start(self) -> Evaluate:
        """What computes it for one thread at a time; its results stay as they are until it is called again.

        Errors of all: ClinferError that tells what the engine says.
        """
