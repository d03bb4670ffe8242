"""Tile: a tensor repeated along its axes."""
from clinfer.ops.room import Room, by_attributes
from clinfer.ops.tile.kernels import KERNELS
from clinfer.ops.tile.op import Tile

ROOM = Room("tile", converters={"Tile": by_attributes(Tile)}, kernels={Tile: KERNELS})

__all__ = ["ROOM", "Tile"]
