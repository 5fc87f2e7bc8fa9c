# SPDX-License-Identifier: GPL-2.0-only
"""System calls for namespaces and mounts. Python has the first two since 3.12."""

from __future__ import annotations

import ctypes
import os

CLONE_NEWNS = 0x00020000
CLONE_NEWPID = 0x20000000
_MS_REC, _MS_SLAVE = 1 << 14, 1 << 19

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mount.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_void_p]


def _call(what: str, result: int) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def unshare(flags: int) -> None:
    """Moves this process to new namespaces. A new pid namespace applies to its next children."""
    _call("make a namespace", _libc.unshare(flags))


def mount_own_proc() -> None:
    """Mounts /proc of this process' pid namespace, visible only in this mount namespace."""
    _call("keep mounts to this namespace", _libc.mount(None, b"/", None, _MS_SLAVE | _MS_REC, None))
    _call("mount /proc", _libc.mount(b"proc", b"/proc", b"proc", 0, None))
