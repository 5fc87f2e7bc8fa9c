# SPDX-License-Identifier: GPL-2.0-only
"""Converts images to JSON text and back, entry by entry. Neither an image nor its text has to fit into memory.

The text is equal to that of the json module: on one line, or with an indentation of four blanks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, TextIO

from pycriu import images

_HEAD = re.compile(r'\s*\{\s*"magic"\s*:\s*"(\w+)"\s*,\s*"entries"\s*:\s*\[')
_NEXT = re.compile(r"[\s,]*")
_CHUNK = 1 << 20  # initial number of characters per read


def write(image: images.ImageReader, pretty: bool, no_payload: bool, out: TextIO) -> None:
    """Writes an image's JSON, without a newline at its end."""
    separator, inner, end = ("\n        ", "\n            ", "\n    ]\n}") if pretty else ("", "", "]}")
    out.write('{\n    "magic": ' if pretty else '{"magic": ')
    out.write(json.dumps(image.magic))
    out.write(',\n    "entries": [' if pretty else ', "entries": [')
    empty = True
    for entry in image.entries(pretty, no_payload, streamed=True):
        if not empty:
            out.write("," if pretty else ", ")
        empty = False
        extra = entry.pop("extra") if isinstance(entry.get("extra"), images.Streamed) else None
        text = json.dumps(entry, indent=4 if pretty else None).replace("\n", separator)
        out.write(separator)
        if extra is None:
            out.write(text)
            continue
        # "extra" comes last in its entry, so the closing brace is removed and written after it.
        out.write(text[:-1].rstrip())
        out.write(("," if pretty else ", ") if len(entry) else "")
        out.write(f'{inner}"extra": "')
        for piece in extra:
            out.write(piece.replace("\n", "\\n"))
        out.write(f'"{separator}}}')
    out.write("]\n}" if pretty and empty else end)


class JsonImage:
    """Reader of an image's JSON. Throws ValueError for text that isn't JSON or isn't an image."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._text = ""
        self._at = 0
        self._ended = False
        self._more()
        head = _HEAD.match(self._text)
        self._whole: list[dict[str, Any]] | None = None
        if head:
            self.magic = head[1]
            self._at = head.end()
            return
        # This program writes "magic" first; other programs may not.
        while not self._ended:
            self._more()
        image = json.loads(self._text)
        if not isinstance(image, dict) or not isinstance(image.get("magic"), str) or not isinstance(image.get("entries"), list):
            raise ValueError('the text has no "magic" and "entries"')
        self.magic, self._whole = image["magic"], image["entries"]

    def _more(self) -> None:
        """Doubles the buffered text. So the time for a long entry is proportional to its length."""
        self._text = self._text[self._at:]
        self._at = 0
        chunk = self._stream.read(max(_CHUNK, len(self._text)))
        self._ended = not chunk
        self._text += chunk

    def entries(self) -> Iterator[dict[str, Any]]:
        """Yields all entries."""
        if self._whole is not None:
            yield from self._whole
            return
        decoder = json.JSONDecoder()
        while True:
            self._at = _NEXT.match(self._text, self._at).end()  # type: ignore[union-attr]  # matches nothing, too
            if self._at == len(self._text) and not self._ended:
                self._more()
                continue
            if self._text.startswith("]", self._at):
                break
            try:
                entry, self._at = decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError:
                if self._ended:
                    raise
                self._more()
                continue
            if not isinstance(entry, dict):
                raise ValueError(f"{entry!r} is no entry of an image")
            yield entry
        while not self._ended:
            self._more()
        if not re.fullmatch(r"\]\s*\}\s*", self._text[self._at:]):
            raise ValueError("something follows the entries")


def read(stream: TextIO, out: BinaryIO) -> None:
    """Writes the image that a JSON text describes. Throws ValueError for text that describes no image."""
    text = JsonImage(stream)
    if text.magic not in images.by_name or text.magic.startswith("IMG_"):
        raise ValueError(f"there is no kind of image named {text.magic}")
    image = images.ImageWriter(out, text.magic)
    for entry in text.entries():
        image.write(entry)
