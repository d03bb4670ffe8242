"""The seam to an engine that computes on the host what has no kernels."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from clinfer.base.element_type import ElementType

Evaluate = Callable[[tuple[np.ndarray, ...]], tuple[np.ndarray, ...]]
"""From the unpacked values of an operation's inputs to those of its outputs."""


class HostFunction(ABC):
    """One operation that another engine computes on the host, with its attributes and its constant inputs in it."""

    @property
    @abstractmethod
    def input_types(self) -> tuple[ElementType, ...]:
        """Of the inputs that are no constants."""

    @property
    @abstractmethod
    def output_types(self) -> tuple[ElementType, ...]:
        """Of all outputs."""

    @abstractmethod
    def start(self) -> Evaluate:
        """What computes it for one thread at a time; its results stay as they are until it is called again.

        Errors of both: ClinferError that tells what the engine says.
        """
