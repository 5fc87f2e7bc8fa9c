# SPDX-License-Identifier: GPL-2.0-only
"""Content of compressed memory images."""

from __future__ import annotations

import bisect
import ctypes
from typing import BinaryIO, NamedTuple

from pycriu import images

from . import checkpoint as c
from .checkpoint import Checkpoint, CheckpointError

_LZ4, _ZSTD = 1, 2
_ALIGNED = 8  # flag of CRIU 4.3 in pagemap_entry.flags: the content begins at the next page boundary of the pages file


class _Block(NamedTuple):
    """Consecutive content, and its position in the pages file."""

    size: int
    offset: int
    stored: int  # bytes; equal to size: not compressed; 0: all zeroes


def _library(name: str, package: str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(name)
    except OSError as error:
        raise CheckpointError(f"the memory is compressed, and {name} isn't there (Debian: {package})") from error


def _decompress(codec: int, data: bytes, size: int) -> bytes:
    content = ctypes.create_string_buffer(size)
    if codec == _LZ4:
        lz4 = _library("liblz4.so.1", "liblz4-1")
        got = lz4.LZ4_decompress_safe(data, content, len(data), size)
    elif codec == _ZSTD:
        zstd = _library("libzstd.so.1", "libzstd1")
        zstd.ZSTD_decompress.restype = ctypes.c_size_t
        got = zstd.ZSTD_decompress(content, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
    else:
        raise CheckpointError(f"the memory is compressed in an unknown way ({codec})")
    if got != size:
        raise CheckpointError("compressed memory is damaged")
    return content.raw


class Blocks:
    """Blocks of a compressed pagemap."""

    def __init__(self, codec: int) -> None:
        self._codec = codec
        self._positions: list[int] = []
        self._blocks: list[_Block] = []
        self._content = 0
        self.size = 0  # minimum size of the pages file in bytes

    @classmethod
    def of(cls, checkpoint: Checkpoint, pagemap: str) -> Blocks | None:
        """Creates the blocks of a pagemap. None if it isn't compressed. Pagemaps of CRIU 4.3 name no codec; their blocks
        are LZ4.
        """
        with open(checkpoint.name(pagemap), "rb") as stream:
            head, *entries = list(images.ImageReader(stream).messages()) or [None]
            if head is None:
                return None
            if not head.codec and not any(entry.HasField("blocks") or entry.flags & _ALIGNED for entry in entries):
                return None
            blocks = cls(head.codec or _LZ4)
            for entry in entries:
                if entry.flags & c.PRESENT:
                    blocks._add_run(entry.nr_pages * c.PAGE, entry.blocks.pages_per_block * c.PAGE,
                                    list(entry.blocks.block_sizes), bool(entry.flags & _ALIGNED))
            return blocks

    def _add_run(self, size: int, each: int, stored: list[int], aligned: bool) -> None:
        if not stored:
            each, stored = size, [size]
        if aligned and any(stored):
            self.size = -(-self.size // c.PAGE) * c.PAGE
        if not each or len(stored) != -(-size // each):
            raise CheckpointError("a pagemap has blocks that don't fit its pages")
        for bytes_stored in stored:
            block = _Block(min(size, each), self.size, bytes_stored)
            self._positions.append(self._content)
            self._blocks.append(block)
            self._content += block.size
            self.size += bytes_stored
            size -= block.size

    def read(self, file: BinaryIO, position: int, size: int) -> bytes:
        """Reads up to `size` bytes of content from a position on, at most to the end of its block."""
        index = bisect.bisect_right(self._positions, position) - 1
        block = self._blocks[index]
        within = position - self._positions[index]
        size = min(size, block.size - within)
        if not block.stored:
            return bytes(size)
        if block.stored == block.size:
            file.seek(block.offset + within)
            return file.read(size)
        file.seek(block.offset)
        data = file.read(block.stored)
        if len(data) != block.stored:
            raise CheckpointError(f"{file.name} is too short")
        return _decompress(self._codec, data, block.size)[within:within + size]
