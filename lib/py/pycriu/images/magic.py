# SPDX-License-Identifier: LGPL-2.1-only
"""Magic numbers of image files, by name and by value."""

from __future__ import annotations

from .kinds import COMMON_MAGIC, KINDS, SERVICE_MAGIC

by_name = {"IMG_COMMON": COMMON_MAGIC, "IMG_SERVICE": SERVICE_MAGIC, **{kind.tag: kind.magic for kind in KINDS.values()}}
by_val = {value: name for name, value in reversed(by_name.items())}
