# SPDX-License-Identifier: LGPL-2.1-only
"""Classes of all image messages, by the names of the .proto files: ``pb.core_entry()``."""

from __future__ import annotations

from typing import Any

from .. import _schema


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return _schema.public().message(name)
    except KeyError:
        raise AttributeError(f"there is no message {name}") from None
