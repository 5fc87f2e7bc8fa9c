# SPDX-License-Identifier: GPL-2.0-only
"""Mount namespace in which every change to the machine's files is visible, and none takes effect.

Each file system is covered by an overlay with its upper layer in memory. All that any process creates, removes or
changes is found there. Kernel file systems (/proc, /sys, control groups, terminals) and one folder stay unchanged.
"""

import ctypes
import os
import stat

MS_BIND, MS_REC, MS_PRIVATE, MNT_DETACH = 4096, 16384, 1 << 18, 2
SYS_PIVOT_ROOT = 155  # number on x86-64
KERNEL = {"proc", "sysfs", "cgroup", "cgroup2", "devpts", "mqueue", "debugfs", "tracefs", "securityfs", "bpf",
          "configfs", "fusectl", "pstore", "binfmt_misc", "hugetlbfs", "autofs", "efivarfs", "nsfs"}

LIBC = ctypes.CDLL(None, use_errno=True)


class Unwatchable(Exception):
    """Error with the reason why the machine can't do it."""


def _require(result, what):
    if result != 0:
        raise Unwatchable(f"{what}: {os.strerror(ctypes.get_errno())}")


def _mount(source, target, kind, flags, options=None):
    encode = lambda text: None if text is None else text.encode()  # pylint: disable=unnecessary-lambda-assignment
    _require(LIBC.mount(encode(source), encode(target), encode(kind), flags, encode(options)), f"mount {target}")


def _mounts():
    """Returns (path, type) of all mounts, in the order in which they cover each other."""
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        for line in file:
            words = line.split()
            yield words[4].encode().decode("unicode_escape"), words[words.index("-") + 1]


class Watched:
    """Moves the calling process and all its children below overlays. Create it once, in a private mount namespace."""

    def __init__(self, stage, keep):
        """`stage` is an empty folder for the layers; `keep` is the folder that stays unchanged."""
        self.layers = []  # (path, upper, lower)
        _mount("none", "/", None, MS_REC | MS_PRIVATE)
        _mount("layers", stage, "tmpfs", 0, "mode=755")
        root = os.path.join(stage, "root")
        lower = os.path.join(stage, "lower")
        os.mkdir(root)
        os.mkdir(lower)
        last = {path: kind for path, kind in _mounts() if not (path + "/").startswith(stage + "/")}
        for number, (path, kind) in enumerate(sorted(last.items())):
            target = root + ("" if path == "/" else path)
            if path != "/" and not os.path.exists(target):
                continue
            if kind in KERNEL or not os.path.isdir(path):
                _mount(path, target, None, MS_BIND)
                continue
            layer = [os.path.join(stage, f"{name}-{number}") for name in ("upper", "work")]
            below = os.path.join(lower, str(number))
            for folder in (*layer, below):
                os.mkdir(folder)
            info = os.stat(path)
            os.chown(layer[0], info.st_uid, info.st_gid)
            os.chmod(layer[0], stat.S_IMODE(info.st_mode))
            _mount(path, below, None, MS_BIND)
            _mount("watched", target, "overlay", 0, f"lowerdir={below},upperdir={layer[0]},workdir={layer[1]}")
            self.layers.append((path, layer[0], below))
        _mount(keep, root + keep, None, MS_BIND)
        # Only this process can reach the layers.
        _mount(stage, root + stage, None, MS_BIND | MS_REC)
        os.chdir(root)
        _require(LIBC.syscall(SYS_PIVOT_ROOT, b".", b"."), "pivot_root")
        _require(LIBC.umount2(b".", MNT_DETACH), "take off the old root")
        os.chdir("/")

    def changes(self):
        """Returns the differences from the machine, as lines."""
        lines = []
        for path, upper, lower in self.layers:
            for base, folders, files in os.walk(upper):
                for name in sorted(folders + files):
                    here = os.path.join(base, name)
                    below = os.path.relpath(here, upper)
                    line = _difference(here, os.path.join(lower, below))
                    if line:
                        lines.append(f"{os.path.join(path, below)} {line}")
        return lines


def _difference(here, original):
    now = os.lstat(here)
    try:
        before = os.lstat(original)
    except FileNotFoundError:
        return "is a new socket" if stat.S_ISSOCK(now.st_mode) else "is new"
    if stat.S_ISCHR(now.st_mode) and now.st_rdev == 0:
        return "is gone"
    if stat.S_IFMT(now.st_mode) != stat.S_IFMT(before.st_mode):
        return "is something else"
    if (now.st_mode, now.st_uid, now.st_gid) != (before.st_mode, before.st_uid, before.st_gid):
        return "has another mode or owner"
    if stat.S_ISREG(now.st_mode) and (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
        return "was written to"
    return None
