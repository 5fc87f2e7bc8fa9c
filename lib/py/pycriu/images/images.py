# SPDX-License-Identifier: LGPL-2.1-only
"""Image files as dicts: {"magic": NAME, "entries": [...]}. Each entry is a message (pb2dict). Some kinds add an "extra"
(contents).

load(), loads(), dump() and dumps() handle a whole image. ImageReader and ImageWriter work entry by entry, for images
that don't fit into memory.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from .. import _schema
from . import pb2dict
from .contents import ImageError, read_exactly, read_size, write_record
from .kinds import BY_MAGIC, COMMON_MAGIC, KINDS, SERVICE_MAGIC, Kind


class MagicException(ImageError):
    """Error for a file without an image's magic number. `magic` is the number that the file has."""

    def __init__(self, magic: int) -> None:
        super().__init__(f"Unknown magic {magic:#x}")
        self.magic = magic


class Streamed:
    """"extra" of an entry that isn't loaded. It yields pieces of its text, and must be used before the next entry."""

    def __init__(self, text: Iterator[str]) -> None:
        self._text = text

    def __iter__(self) -> Iterator[str]:
        return self._text


def _size_for_people(size: float) -> str:
    for unit in ("", "K", "M", "G", "T", "P", "E"):
        if size < 1024:
            return f"{int(size)}{unit}B" if size == int(size) else f"{size:.1f}{unit}B"
        size /= 1024
    return f"{size:.1f}ZB"


class ImageReader:
    """Reader of an image in a file or pipe. It reads entries on demand, and doesn't close the file.

    `magic` is the kind's name. Throws MagicException for a file that isn't an image, and ImageError for a damaged
    one.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        number = self._word()
        if number in (COMMON_MAGIC, SERVICE_MAGIC):
            number = self._word()
        if number not in BY_MAGIC:
            raise MagicException(number)
        self._kind = BY_MAGIC[number]
        if self._kind.tag == "ENCRYPTED":
            raise ImageError("The image is encrypted: criu restore and criu verify decrypt it, with --decrypt")
        self.magic = self._kind.tag

    def _word(self) -> int:
        word = self._stream.read(4)
        if len(word) < 4:
            raise MagicException(int.from_bytes(word, "little"))
        return struct.unpack("<I", word)[0]

    def entries(self, pretty: bool = False, no_payload: bool = False, streamed: bool = False) -> Iterator[dict[str, Any]]:
        """Yields all entries. `pretty`: numbers in readable form. `no_payload`: "extra" is its size as text.
        `streamed`: "extra" is a Streamed if it may be large.
        """
        return self._each(lambda record, message: self._entry(record, message, pretty, no_payload, streamed))

    def messages(self) -> Iterator[Any]:
        """Yields all records as protobuf messages with strings as bytes and enumerations as numbers. Skips the bytes
        behind records.
        """
        return self._each(self._bare)

    def _bare(self, _: bytes, message: Any) -> Any:
        content = self._kind.content
        if content and content.follows(message):
            content.skip(self._stream, message)
        return message

    def _each(self, use: Callable[[bytes, Any], Any]) -> Iterator[Any]:
        schema = _schema.lenient()
        create = schema.message(self._kind.first or self._kind.message)
        while (size := read_size(self._stream)) is not None:
            record = read_exactly(self._stream, size, "record")
            try:
                message = pb2dict.parsed(create(), record)
            except Exception as error:  # versions of protobuf have different classes
                raise ImageError(f"A record of an image of kind {self.magic} can't be understood: {error}") from error
            yield use(record, message)
            create = schema.message(self._kind.message)

    def _entry(self, record: bytes, message: Any, pretty: bool, no_payload: bool, streamed: bool) -> dict[str, Any]:
        entry = pb2dict.pb2dict(message, pretty)
        stripped = type(message)()
        stripped.CopyFrom(message)
        stripped.DiscardUnknownFields()
        if stripped.ByteSize() != len(record):
            pb2dict.add_unknown(message, entry)
        content = self._kind.content
        if content is None or not content.follows(message):
            return entry
        if no_payload:
            entry["extra"] = f"... <{_size_for_people(content.skip(self._stream, message))}>"
            return entry
        text = content.stream(self._stream, message) if streamed else None
        entry["extra"] = content.read(self._stream, message) if text is None else Streamed(text)
        return entry


class ImageWriter:
    """Writer of an image to a file or pipe, entry by entry. KeyError for an unknown kind."""

    def __init__(self, stream: BinaryIO, magic: str) -> None:
        self._stream = stream
        self._kind: Kind = KINDS[magic]
        self._message = self._kind.first or self._kind.message
        if self._kind.head:
            stream.write(struct.pack("<I", self._kind.head))
        stream.write(struct.pack("<I", self._kind.magic))

    def write(self, entry: dict[str, Any]) -> None:
        """Adds an entry. ValueError or ImageError if it doesn't belong to this kind."""
        fields = dict(entry)
        extra = fields.pop("extra", None)
        message = pb2dict.dict2pb(fields, _schema.lenient().message(self._message)())
        self._message = self._kind.message
        if not message.IsInitialized():
            raise ValueError(f"{message.DESCRIPTOR.name} lacks {', '.join(message.FindInitializationErrors())}")
        write_record(self._stream, message.SerializeToString())
        content = self._kind.content
        if content and content.follows(message):
            if extra is None:
                raise ImageError(f"An entry of kind {self._kind.tag} needs an \"extra\"")
            content.write(extra, self._stream, message)
        elif extra:
            raise ImageError(f"An entry of kind {self._kind.tag} can't have this \"extra\"")


def load(f: BinaryIO, pretty: bool = False, no_payload: bool = False) -> dict[str, Any]:
    """Reads an image from a file that is open in binary mode. Throws MagicException and ImageError."""
    reader = ImageReader(f)
    return {"magic": reader.magic, "entries": list(reader.entries(pretty, no_payload))}


def loads(s: bytes, pretty: bool = False) -> dict[str, Any]:
    """Reads an image from bytes."""
    return load(io.BytesIO(s), pretty)


def dump(img: dict[str, Any], f: BinaryIO) -> None:
    """Writes an image into a file that is open in binary mode. Throws KeyError, ValueError and ImageError."""
    writer = ImageWriter(f, img["magic"])
    for entry in img["entries"]:
        writer.write(entry)


def dumps(img: dict[str, Any]) -> bytes:
    """Returns the bytes of an image."""
    f = io.BytesIO()
    dump(img, f)
    return f.getvalue()


def info(f: BinaryIO) -> dict[str, Any]:
    """Returns the kind of an image and its number of entries, without the head of a pagemap."""
    reader = ImageReader(f)
    count = sum(1 for _ in reader.messages())
    return {"magic": reader.magic, "count": count - (reader.magic == "PAGEMAP" and count > 0)}
