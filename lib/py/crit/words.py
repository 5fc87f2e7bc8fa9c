# SPDX-License-Identifier: GPL-2.0-only
"""Values in readable form."""

from __future__ import annotations


def printable(text: str) -> str:
    """Escapes characters of image text that could change the terminal."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


def size(count: float) -> str:
    """Formats a number of bytes."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            break
        count /= 1024
    return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """Formats a number with its noun."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def duration(microseconds: int) -> str:
    """Formats a duration."""
    return f"{microseconds / 1e6:.3f} s" if microseconds >= 1e6 else f"{microseconds / 1e3:.1f} ms"
