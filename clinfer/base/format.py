"""Memory formats. One description (axes, their order, inner blocks) yields everything about a format.

A format of n axes serves shapes of n axes; the four-axis formats also serve lower ranks, whose
shapes fill the axes from the front: [N, C] is b, f.
"""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from clinfer.base.errors import ClinferError


@dataclass(frozen=True)
class Format:
    """A memory format.

    `axes` names the logical axes in the order of the shape, `order` the same axes from the
    outermost to the innermost in memory, and `blocks` the inner blocks (axis, size) that follow
    them, outermost first: b_fs_yx_fsv16 is axes "bfyx", order "bfyx", blocks (("f", 16),). Of an image the device
    alone knows where its elements lie; see `IMAGE_2D`.
    """

    name: str
    axes: str
    order: str
    blocks: tuple[tuple[str, int], ...] = ()
    is_image: bool = False

    def __post_init__(self) -> None:
        if sorted(self.axes) != sorted(self.order) or any(axis not in self.axes for axis, _ in self.blocks):
            raise ClinferError(f"format {self.name} is described inconsistently",
                               values={"axes": self.axes, "order": self.order, "blocks": self.blocks})

    def fits(self, rank: int) -> bool:
        """Whether shapes of this rank can be laid out in this format."""
        return rank in self._ranks

    @cached_property
    def _ranks(self) -> range:
        if len(self.axes) > 4:
            return range(len(self.axes), len(self.axes) + 1)
        blocked = max((self.axes.index(axis) for axis, _ in self.blocks), default=-1)
        return range(blocked + 1, len(self.axes) + 1)

    @lru_cache(maxsize=256)  # noqa: B019 (formats live as long as the process)
    def order_of(self, rank: int) -> tuple[int, ...]:
        """Logical axis indices from the outermost to the innermost, for a shape of this rank."""
        return tuple(i for i in (self.axes.index(a) for a in self.order) if i < rank)

    @cached_property
    def block_axes(self) -> tuple[tuple[int, int], ...]:
        """The inner blocks as (logical axis index, size), outermost first."""
        return tuple((self.axes.index(axis), size) for axis, size in self.blocks)

    @lru_cache(maxsize=256)  # noqa: B019
    def block_of(self, axis: int) -> int:
        """The number of elements of this axis that one outer step covers (1: not blocked)."""
        total = 1
        for index, size in self.block_axes:
            if index == axis:
                total *= size
        return total

    @property
    def is_planar(self) -> bool:
        """Whether memory order is the order of the shape."""
        return not self.blocks and not self.is_image and self.order == self.axes

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def of(name: str) -> Format:
        """The registered format of that name, or `IMAGE_2D`."""
        found = IMAGE_2D if name == IMAGE_2D.name else FORMATS.get(name)
        if found is None:
            raise ClinferError(f"unknown format {name!r}", values={"known": ", ".join(FORMATS)})
        return found

    @staticmethod
    def planar(rank: int) -> Format:
        """The format in which memory order is the order of the shape."""
        if rank > len(_PLANAR[-1].axes):
            raise ClinferError(f"tensors of rank {rank} are not supported",
                               values={"largest rank": len(_PLANAR[-1].axes)})
        return _PLANAR[max(rank - 4, 0)]


_PLANAR = tuple(Format(axes, axes, axes)
                for axes in ("bfyx", "bfzyx", "bfwzyx", "bfuwzyx", "bfvuwzyx"))

FORMATS = {f.name: f for f in (
    *_PLANAR,
    Format("byxf", "bfyx", "byxf"),
    Format("bzyxf", "bfzyx", "bzyxf"),
    Format("yxfb", "bfyx", "yxfb"),
    Format("b_fs_yx_fsv16", "bfyx", "bfyx", (("f", 16),)),
    Format("b_fs_zyx_fsv16", "bfzyx", "bfzyx", (("f", 16),)),
    Format("o_osv16", "o", "o", (("o", 16),)),
    Format("os_is_yx_isv16_osv16", "oiyx", "oiyx", (("i", 16), ("o", 16))),
    Format("os_is_zyx_isv16_osv16", "oizyx", "oizyx", (("i", 16), ("o", 16))),
    Format("g_os_is_x_isv16_osv16", "goix", "goix", (("i", 16), ("o", 16))),
    Format("g_os_is_yx_isv16_osv16", "goiyx", "goiyx", (("i", 16), ("o", 16))),
    Format("g_os_is_zyx_isv16_osv16", "goizyx", "goizyx", (("i", 16), ("o", 16))),
    Format("os_yx_is_isv16_osv16", "ioyx", "oyxi", (("i", 16), ("o", 16))),
    Format("os_zyx_is_isv16_osv16", "iozyx", "ozyxi", (("i", 16), ("o", 16))),
    Format("g_os_x_is_isv16_osv16", "giox", "goxi", (("i", 16), ("o", 16))),
    Format("g_os_yx_is_isv16_osv16", "gioyx", "goyxi", (("i", 16), ("o", 16))),
    Format("g_os_zyx_is_isv16_osv16", "giozyx", "gozyxi", (("i", 16), ("o", 16))),
    Format("oyxi", "oiyx", "oyxi"),
    Format("ozyxi", "oizyx", "ozyxi"),
    *(Format(f"go{axes}i", f"goi{axes}", f"go{axes}i") for axes in ("x", "yx", "zyx")),
    Format("yxio", "ioyx", "yxio"),
    Format("zyxio", "iozyx", "zyxio"),
    Format("gxio", "giox", "gxio"),
    Format("gyxio", "gioyx", "gyxio"),
    Format("gzyxio", "giozyx", "gzyxio"),
    Format("os_iyx_osv16", "oiyx", "oiyx", (("o", 16),)),
    Format("os_izyx_osv16", "oizyx", "oizyx", (("o", 16),)),
    Format("gs_oix_gsv16", "goix", "goix", (("g", 16),)),
    Format("gs_oiyx_gsv16", "goiyx", "goiyx", (("g", 16),)),
    Format("gs_oizyx_gsv16", "goizyx", "goizyx", (("g", 16),)),
    *(Format(f"gs_os_i{axes}_gsv{16 // size}_osv{size}", f"goi{axes}", f"goi{axes}", (("g", 16 // size), ("o", size)))
      for size in (2, 4, 8) for axes in ("x", "yx", "zyx")),
    *(Format(f"gs_os_{axes}i_gsv{16 // size}_osv{size}", f"gio{axes}", f"go{axes}i", (("g", 16 // size), ("o", size)))
      for size in (2, 4, 8) for axes in ("x", "yx", "zyx")),
    Format("os_i_osv32", "oi", "oi", (("o", 32),)),
    Format("ks_n_nsv32", "kn", "nk", (("n", 32),)),
    Format("d_us_kg_usv16", "dkgu", "dukg", (("u", 16),)),
    Format("os_is_yx_isv4_osv32_isv4", "oiyx", "oiyx", (("i", 4), ("o", 32), ("i", 4))),
    Format("os_is_yx_osv32_isv4", "oiyx", "oiyx", (("o", 32), ("i", 4))),
    Format("os_is_yx_isv2_osv16_isv2", "oiyx", "oiyx", (("i", 2), ("o", 16), ("i", 2))),
    Format("os_is_osv32_isv4", "oi", "oi", (("o", 32), ("i", 4))),
    Format("ns_ks_nsv32_ksv4", "kn", "nk", (("n", 32), ("k", 4))),
    Format("os_is_yx_isv8_osv16_isv2", "oiyx", "oiyx", (("i", 8), ("o", 16), ("i", 2))),
    Format("os_is_zyx_isv8_osv16_isv2", "oizyx", "oizyx", (("i", 8), ("o", 16), ("i", 2))),
    Format("g_os_is_x_isv8_osv16_isv2", "goix", "goix", (("i", 8), ("o", 16), ("i", 2))),
    Format("g_os_is_yx_isv8_osv16_isv2", "goiyx", "goiyx", (("i", 8), ("o", 16), ("i", 2))),
    Format("g_os_is_zyx_isv8_osv16_isv2", "goizyx", "goizyx", (("i", 8), ("o", 16), ("i", 2))),
    Format("os_is_yx_isv16_osv16_isv2", "oiyx", "oiyx", (("i", 16), ("o", 16), ("i", 2))),
    Format("g_os_is_yx_isv16_osv16_isv2", "goiyx", "goiyx", (("i", 16), ("o", 16), ("i", 2))),
    Format("os_is_isv8_osv16_isv2", "oi", "oi", (("i", 8), ("o", 16), ("i", 2))),
    Format("ns_ks_ksv8_nsv16_ksv2", "kn", "nk", (("k", 8), ("n", 16), ("k", 2))),
)}

IMAGE_2D = Format("image_2d", "bfyx", "bfyx", is_image=True)
"""Tensors [n, height, width, channels] as n images of one or two channels. The caller provides them, and kernels that
are made for it read them; no reorder makes or takes apart an image, hence it is not among `FORMATS`."""
