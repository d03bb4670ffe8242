"""Tile: a tensor repeated along its axes."""
from clinfer.ops.operation import Operation, by_attributes
from clinfer.ops.tile.kernels import KERNELS
from clinfer.ops.tile.op import Tile

OPERATION = Operation("tile", converters={"Tile": by_attributes(Tile)}, kernels={Tile: KERNELS})

__all__ = ["OPERATION", "Tile"]
