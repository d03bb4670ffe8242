"""What a converter sees of the model: one operation as plain data, free of the front end's classes."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clinfer.base.element_type import ElementType
from clinfer.base.host_function import HostFunction
from clinfer.base.shape import Shape
from clinfer.topology.loop_ports import LoopPorts
from clinfer.topology.primitive import Port
from clinfer.topology.topology import Topology


@dataclass(frozen=True)
class SourceBody:
    """A subgraph of an operation: its topology, the operation's input index behind each of its
    inputs, and the names of its outputs in the order of the operation's outputs.

    `loop`: how its runs hang together, if it may run more than once for one run of the operation.
    """

    topology: Topology
    inputs: Mapping[str, int]
    outputs: tuple[str, ...]
    loop: LoopPorts | None = None


@dataclass(frozen=True)
class SourceNode:
    """One operation of the model. `id` is unique; `name` is the layer name users know.

    `used_outputs` says of each output whether anybody reads it (empty: all are taken to be read). `isolated` makes the
    operation between its inputs that are no constants, with these in it.
    """

    id: str
    name: str
    type_name: str
    opset: str
    attributes: Mapping[str, Any]
    inputs: tuple[Port, ...]
    input_shapes: tuple[Shape | None, ...]
    input_types: tuple[ElementType, ...]
    output_shapes: tuple[Shape | None, ...]
    output_types: tuple[ElementType, ...]
    constants: Mapping[int, np.ndarray] = field(default_factory=dict)
    bodies: tuple[SourceBody, ...] = ()
    used_outputs: tuple[bool, ...] = ()
    isolated: Callable[[], HostFunction] | None = None
