# SPDX-License-Identifier: LGPL-2.1-only
"""Reads and writes image files of criu, as dicts."""

from __future__ import annotations

from typing import Any

from . import pb, pb2dict
from .contents import ImageError
from .images import ImageReader, ImageWriter, MagicException, Streamed, dump, dumps, info, load, loads
from .magic import by_name, by_val

__all__ = ["ImageError", "ImageReader", "ImageWriter", "MagicException", "Streamed", "by_name", "by_val", "dump", "dumps",
           "info", "load", "loads", "pb", "pb2dict"]


def __getattr__(name: str) -> Any:
    """Makes message classes attributes of this package: pycriu.images.core_entry."""
    return getattr(pb, name)
