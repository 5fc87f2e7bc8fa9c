# SPDX-License-Identifier: LGPL-2.1-only
"""Bytes that follow the records of some image kinds, and their representation as "extra" of an entry."""

from __future__ import annotations

import array
import base64
import struct
import sys
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from .. import _schema
from . import pb2dict

# Bytes per read. A line of base64 holds 57 bytes, so pieces of a multiple of 57 can be encoded one by one.
PIECE = 57 * 16384


class ImageError(Exception):
    """Error for a file that isn't an image, or is damaged."""


def read_exactly(stream: BinaryIO, size: int, what: str = "content") -> bytes:
    """Reads `size` bytes; ImageError if there are fewer."""
    # Reads large amounts in pieces, because a damaged size may be larger than memory.
    data = bytearray()
    while len(data) < size:
        piece = stream.read(min(size - len(data), PIECE))
        if not piece:
            raise ImageError(f"The image ends in the middle of its {what}: {size - len(data)} bytes are missing")
        data += piece
    return bytes(data)


def read_size(stream: BinaryIO) -> int | None:
    """Reads the size before a record. None at the end of the file."""
    word = stream.read(4)
    if not word:
        return None
    if len(word) != 4:
        raise ImageError("The image ends in the middle of a record's size")
    return struct.unpack("<I", word)[0]


def write_record(stream: BinaryIO, record: bytes) -> None:
    """Writes a record with its size before it."""
    stream.write(struct.pack("<I", len(record)))
    stream.write(record)


def pieces(stream: BinaryIO, size: int | None) -> Iterator[bytes]:
    """Yields the next `size` bytes, or all remaining ones, in pieces of PIECE bytes. The last piece may be shorter."""
    while size is None or size > 0:
        if size is None:
            piece = stream.read(PIECE)
            if not piece:
                return
        else:
            piece = read_exactly(stream, min(size, PIECE))
            size -= len(piece)
        yield piece


def skip(stream: BinaryIO, size: int | None) -> int:
    """Skips bytes, also of a pipe; returns how many."""
    return sum(len(piece) for piece in pieces(stream, size))


def encoded(data: bytes) -> str:
    """Encodes bytes for JSON: base64 in lines of 76 characters."""
    return base64.encodebytes(data).decode()


def decoded(text: str) -> bytes:
    """Reverses encoded()."""
    return base64.decodebytes(text.encode())


def padding(size: int, unit: int) -> int:
    """Returns how many bytes are missing to a multiple of `unit`."""
    return -size % unit


class Content:
    """Bytes behind records of a kind. `entry` is always the record's message."""

    def follows(self, entry: Any) -> bool:  # pylint: disable=unused-argument
        """Returns whether this entry has an "extra"."""
        return True

    def read(self, stream: BinaryIO, entry: Any) -> Any:
        """Reads the value of "extra"."""
        raise NotImplementedError

    def stream(self, stream: BinaryIO, entry: Any) -> Iterator[str] | None:
        """Yields pieces of an "extra" that is a text and may be large. Otherwise returns None and reads nothing."""
        return None

    def skip(self, stream: BinaryIO, entry: Any) -> int:
        """Skips the bytes; returns their size without padding."""
        raise NotImplementedError

    def write(self, value: Any, stream: BinaryIO, entry: Any) -> None:
        """Writes a value that read() has returned."""
        raise NotImplementedError


class Sized(Content):
    """Bytes whose size is in the message, padded with zeroes to a multiple of `padding`."""

    def __init__(self, size: Callable[[Any], int], padding: int = 1) -> None:  # pylint: disable=redefined-outer-name
        self._size = size
        self._unit = padding

    def read(self, stream: BinaryIO, entry: Any) -> str:
        return "".join(self.stream(stream, entry))

    def stream(self, stream: BinaryIO, entry: Any) -> Iterator[str]:
        size = self._size(entry)
        yield from map(encoded, pieces(stream, size))
        read_exactly(stream, padding(size, self._unit))

    def skip(self, stream: BinaryIO, entry: Any) -> int:
        size = self._size(entry)
        skip(stream, size + padding(size, self._unit))
        return size

    def write(self, value: str, stream: BinaryIO, entry: Any) -> None:
        size = self._size(entry)
        data = decoded(value)
        if len(data) != size:
            raise ImageError(f"The message says {size} bytes, but its \"extra\" has {len(data)}")
        stream.write(data)
        stream.write(bytes(padding(size, self._unit)))


class GhostFile(Content):
    """Content of a ghost file: all bytes behind the first record. If that record announces chunks, these are separate
    records.
    """

    @staticmethod
    def _is_chunk(entry: Any) -> bool:
        return entry.DESCRIPTOR.name == "ghost_chunk_entry"

    def follows(self, entry: Any) -> bool:
        return self._is_chunk(entry) or not entry.chunks

    def read(self, stream: BinaryIO, entry: Any) -> str:
        return "".join(self.stream(stream, entry))

    def stream(self, stream: BinaryIO, entry: Any) -> Iterator[str]:
        return map(encoded, pieces(stream, entry.len if self._is_chunk(entry) else None))

    def skip(self, stream: BinaryIO, entry: Any) -> int:
        return skip(stream, entry.len if self._is_chunk(entry) else None)

    def write(self, value: str, stream: BinaryIO, entry: Any) -> None:
        data = decoded(value)
        if self._is_chunk(entry) and len(data) != entry.len:
            raise ImageError(f"A chunk of {entry.len} bytes, but its \"extra\" has {len(data)}")
        stream.write(data)


class TcpQueues(Content):
    """Receive and send queue of a TCP connection."""

    def read(self, stream: BinaryIO, entry: Any) -> dict[str, str]:
        return {"inq": encoded(read_exactly(stream, entry.inq_len)), "outq": encoded(read_exactly(stream, entry.outq_len))}

    def skip(self, stream: BinaryIO, entry: Any) -> int:
        return skip(stream, entry.inq_len + entry.outq_len)

    def write(self, value: dict[str, str], stream: BinaryIO, entry: Any) -> None:
        queues = decoded(value["inq"]), decoded(value["outq"])
        if [len(queue) for queue in queues] != [entry.inq_len, entry.outq_len]:
            raise ImageError(f"The message says {entry.inq_len} and {entry.outq_len} bytes in queues, but \"extra\" has "
                             f"{len(queues[0])} and {len(queues[1])}")
        stream.write(b"".join(queues))


class Semaphores(Content):
    """Values of a semaphore set: 16 bits each, padded to a multiple of 8 bytes."""

    def read(self, stream: BinaryIO, entry: Any) -> list[int]:
        values = array.array("H", read_exactly(stream, 2 * entry.nsems))
        if sys.byteorder != "little":
            values.byteswap()
        read_exactly(stream, padding(2 * entry.nsems, 8))
        return values.tolist()

    def skip(self, stream: BinaryIO, entry: Any) -> int:
        size = 2 * entry.nsems
        skip(stream, size + padding(size, 8))
        return size

    def write(self, value: list[int], stream: BinaryIO, entry: Any) -> None:
        if len(value) != entry.nsems:
            raise ImageError(f"A set of {entry.nsems} semaphores, but its \"extra\" has {len(value)}")
        stream.write(struct.pack(f"<{len(value)}H", *value))
        stream.write(bytes(padding(2 * entry.nsems, 8)))


class Messages(Content):
    """Messages of a queue: for each a record and its text, padded to a multiple of 8 bytes. In JSON it is a list in
    which records and texts alternate.
    """

    @staticmethod
    def _heads(stream: BinaryIO, entry: Any) -> Iterator[Any]:
        for _ in range(entry.qnum):
            size = read_size(stream)
            if size is None:
                raise ImageError(f"A queue of {entry.qnum} messages, but the image ends before the last of them")
            record = read_exactly(stream, size, "message")
            try:
                head = pb2dict.parsed(_schema.lenient().message("ipc_msg")(), record)
            except Exception as error:  # versions of protobuf have different classes
                raise ImageError(f"A message of a queue can't be understood: {error}") from error
            yield head

    def read(self, stream: BinaryIO, entry: Any) -> list[Any]:
        found: list[Any] = []
        for head in self._heads(stream, entry):
            found += [pb2dict.pb2dict(head), encoded(read_exactly(stream, head.msize))]
            read_exactly(stream, padding(head.msize, 8))
        return found

    def skip(self, stream: BinaryIO, entry: Any) -> int:
        total = 0
        for head in self._heads(stream, entry):
            skip(stream, head.msize + padding(head.msize, 8))
            total += head.msize
        return total

    def write(self, value: list[Any], stream: BinaryIO, entry: Any) -> None:
        if len(value) != 2 * entry.qnum:
            raise ImageError(f"A queue of {entry.qnum} messages, but its \"extra\" has {len(value) / 2:g}")
        for fields, text in zip(value[::2], value[1::2]):
            head = pb2dict.dict2pb(fields, _schema.lenient().message("ipc_msg")())
            data = decoded(text)
            if len(data) != head.msize:
                raise ImageError(f"A message of {head.msize} bytes, but its text has {len(data)}")
            write_record(stream, head.SerializeToString())
            stream.write(data)
            stream.write(bytes(padding(head.msize, 8)))
