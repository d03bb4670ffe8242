"""A table of stages as the host has it."""
from __future__ import annotations

import ctypes

import numpy as np

WORD = 4


class _Header(ctypes.Structure):
    _fields_ = [*((name, ctypes.c_void_p) for name in ("bytes", "is_listed", "places")),
                *((name, ctypes.c_size_t) for name in ("most", "count"))]


class StageImage:
    """Bytes, which `launch_loop.c` writes too, and the `places` of the first words that were written since they were
    `sent`, at most so many. `count`: how many were, or more than there are places for, as in the beginning."""

    __slots__ = ("_bytes", "_header", "_is_listed", "_places", "address", "most", "words")

    def __init__(self, nbytes: int, most: int) -> None:
        self.most = most
        self._bytes = bytearray(-(-nbytes // WORD) * WORD)
        self.words = np.frombuffer(self._bytes, np.uint32)
        self._is_listed = np.zeros(len(self.words), np.uint8)
        self._places = np.zeros(most, np.uint32)
        self._header = _Header(self.words.ctypes.data, self._is_listed.ctypes.data, self._places.ctypes.data, most,
                               most + 1)
        self.address = ctypes.addressof(self._header)

    @property
    def count(self) -> int:
        """How many words were written since they were sent; more than `most`: nobody knows which."""
        return self._header.count

    @property
    def places(self) -> np.ndarray:
        """Which words."""
        return self._places[:self.count]

    def put(self, place: int, raw: bytes) -> None:
        """Write bytes from a place on."""
        if self._bytes[place:place + len(raw)] == raw:
            return
        header, is_listed, count = self._header, self._is_listed, self._header.count
        for word in range(place // WORD, -(-(place + len(raw)) // WORD)):
            if count <= self.most and not is_listed[word]:
                if count < self.most:
                    self._places[count], is_listed[word] = word, 1
                header.count = count = count + 1
        # What is listed and did not change does no harm where this ends between.
        self._bytes[place:place + len(raw)] = raw

    def put_rows(self, places: np.ndarray, rows: np.ndarray) -> None:
        """Write rows of words, each from a place on."""
        words = (places[:, None] // WORD + np.arange(rows.shape[1])).ravel()
        differs = self.words[words] != rows.ravel()
        words = words[differs]
        new, header = words[self._is_listed[words] == 0], self._header
        room = max(self.most - header.count, 0)
        if header.count <= self.most and len(new):
            listed = new[:room]
            self._places[header.count:header.count + len(listed)] = listed
            self._is_listed[listed] = 1
            header.count = min(header.count + len(new), self.most + 1)
        # What is listed and did not change does no harm where this ends between.
        self.words[words] = rows.ravel()[differs]

    def part(self, place: int, nbytes: int) -> bytes:
        """So many bytes from a place on."""
        return bytes(self._bytes[place:place + nbytes])

    def become(self, other: StageImage) -> None:
        """Be the same as another one."""
        self.words[:], self._header.count = other.words, self.most + 1

    def clear(self) -> None:
        """Let all bytes be zeros."""
        self.words[:], self._header.count = 0, self.most + 1

    def sent(self) -> None:
        """All of it was sent."""
        self._is_listed[:], self._header.count = 0, 0
