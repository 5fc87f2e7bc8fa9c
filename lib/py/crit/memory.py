# SPDX-License-Identifier: GPL-2.0-only
"""Content of dumped memory."""

from __future__ import annotations

import bisect
import os
from types import TracebackType
from typing import Any, BinaryIO

from pycriu import images

from . import checkpoint as c
from .checkpoint import Checkpoint, CheckpointError, PageRun
from .compressed import Blocks

_MOST_LAYERS = 1024  # limit for chains of incremental dumps; ends circles of links


class Stripes:
    """Distribution of a pagemap's content over pages files, in pieces of fixed size, round robin. CRIU 4.2 has one file
    only.
    """

    def __init__(self, head: Any) -> None:
        self.files: list[int] = [*head.more_pages_ids]
        if head.pages_id or not self.files:  # a pages_id of 0 means that all pages files are in more_pages_ids
            self.files.insert(0, head.pages_id)
        self._piece: int = head.stripe_pages * c.PAGE
        if len(self.files) > 1 and not self._piece:
            raise CheckpointError("a pagemap names several pages files, but no length of pieces")

    def place(self, position: int) -> tuple[int, int, int]:
        """Returns the location of a byte of the content: index of the file, offset in it, and number of bytes that
        follow there.
        """
        if len(self.files) == 1:
            return 0, position, 1 << 64
        number, within = divmod(position, self._piece)
        turn, file = divmod(number, len(self.files))
        return file, turn * self._piece + within, self._piece - within

    def size_of(self, file: int, content: int) -> int:
        """Returns how many bytes of the content a file has, by its index."""
        if len(self.files) == 1:
            return content
        rounds, rest = divmod(content, self._piece * len(self.files))
        return rounds * self._piece + max(0, min(rest - file * self._piece, self._piece))


class _Layer:
    """Pages of a memory object in one directory."""

    def __init__(self, directory: str, pagemap: str) -> None:
        checkpoint = Checkpoint(directory)
        with open(checkpoint.name(pagemap), "rb") as stream:
            head = next(images.ImageReader(stream).messages(), None)
        if head is None:
            raise CheckpointError(f"{checkpoint.name(pagemap)} is empty")
        self._stripes = Stripes(head)
        self._blocks = Blocks.of(checkpoint, pagemap)
        self.runs: list[PageRun] = []
        self._offsets: list[int] = []  # offset in the pages file of each run
        offset = 0
        for run in checkpoint.pages(pagemap):
            self.runs.append(run)
            self._offsets.append(offset)
            if run.flags & c.PRESENT:
                offset += run.pages * c.PAGE
        self._starts = [run.start for run in self.runs]
        self._content: list[BinaryIO] = []
        try:
            for number in self._stripes.files if offset else []:
                self._content.append(open(checkpoint.name(f"pages-{number}.img"), "rb"))  # pylint: disable=consider-using-with
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Closes the pages files."""
        for file in self._content:
            file.close()

    def at(self, address: int) -> tuple[PageRun | None, int]:
        """Returns the run at an address, or None, and the end of the range for which this result holds."""
        index = bisect.bisect_right(self._starts, address) - 1
        if index >= 0 and address < self.runs[index].end:
            return self.runs[index], self.runs[index].end
        return None, self._starts[index + 1] if index + 1 < len(self._starts) else 1 << 64

    def read(self, address: int, size: int) -> bytes:
        """Reads bytes of a run whose pages are present."""
        index = bisect.bisect_right(self._starts, address) - 1
        position, found = self._offsets[index] + address - self._starts[index], b""
        while len(found) < size:
            number, offset, together = self._stripes.place(position)
            file = self._content[number]
            if self._blocks:
                data = self._blocks.read(file, position, size - len(found))
            else:
                file.seek(offset)
                data = file.read(min(size - len(found), together))
            if not data:
                raise CheckpointError(f"{file.name} is too short")
            found += data
            position += len(data)
        return found


class Memory:
    """A memory object: of a process ("pagemap-PID.img"), or shared ("pagemap-shmem-ID.img").

    It keeps its pages files open until it is closed. Throws CheckpointError, pycriu's ImageError and OSError.
    """

    def __init__(self, checkpoint: Checkpoint, pagemap: str) -> None:
        self._layers: list[_Layer] = []
        directory = checkpoint.path
        try:
            while os.path.exists(os.path.join(directory, pagemap)):
                if len(self._layers) == _MOST_LAYERS:
                    raise CheckpointError(f"{checkpoint.path} has more than {_MOST_LAYERS} parents")
                self._layers.append(_Layer(directory, pagemap))
                directory = os.path.join(directory, "parent")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes all files."""
        for layer in self._layers:
            layer.close()

    def piece(self, address: int, end: int) -> tuple[bytes | None, int]:
        """Returns content from `address` on, at most to `end`, and the end of it. None instead of content that isn't in
        the images.
        """
        for layer in self._layers:
            run, until = layer.at(address)
            end = min(end, until)
            if run is None:
                return None, end
            if run.flags & c.PRESENT:
                return layer.read(address, end - address), end
            if not run.flags & c.IN_PARENT:
                return None, end
        return None, end

    def read(self, address: int, size: int) -> bytes:
        """Returns content, with zeroes for pages that aren't in the images."""
        found, end = bytearray(), address + size
        while address < end:
            data, until = self.piece(address, end)
            found += bytes(until - address) if data is None else data
            address = until
        return bytes(found)
