# SPDX-License-Identifier: GPL-2.0-only
"""Mode `damaged`: restores from images that are damaged at random, in a directory where all other files are watched.

Each restore has to succeed, or to fail with an Error line. It must not crash or hang, and must leave no process. It
must not remove or change a file that it has not created.
"""

import os
import random
import re
import shutil
import stat
import subprocess

from harness import criu as criu_runs
from harness import watched
import modes
from subject import Failed, Skipped

TURNS = 30
# (image, offset, bytes) of damages that once caused harm
KNOWN = [("remap-fpath.img", 17, b"\0")]


def damaged(subject, task):
    """Tries thirty damages, the same ones for each seed."""
    subject.dump(subject.ours, "images")
    whole = subject.images("images")
    names = sorted(name for name in os.listdir(whole) if name.endswith(".img") and not name.startswith("stats-"))
    os.mkdir(subject.images("folder"))
    _copy(subject.folder, subject.images("folder"))
    for turn in range(TURNS):
        folder = subject.images(f"damaged-{turn}")
        os.mkdir(folder)
        for name in names:
            shutil.copyfile(os.path.join(whole, name), os.path.join(folder, name))
        source = random.Random(f"{task['seed']} {subject.binary.rpartition('/')[2]} {turn}")
        what = _known(turn, folder) or _damage(source, folder, names)
        try:
            _attempt(subject, folder)
        except Failed as reason:
            raise Failed(f"turn {turn}: {what} ({folder}): {reason}") from None
        shutil.rmtree(folder)
    _renew_folder(subject)
    subject.require_success(subject.try_restore(subject.ours, whole))
    subject.check()


def _known(turn, folder):
    if turn >= len(KNOWN) or not os.path.exists(os.path.join(folder, KNOWN[turn][0])):
        return None
    name, offset, data = KNOWN[turn]
    with open(os.path.join(folder, name), "r+b") as file:
        file.seek(offset)
        file.write(data)
    return f"{name}: {len(data)} bytes at {offset} changed"


def _damage(source, folder, names):
    """Damages one image, and returns a description."""
    name = source.choice(names)
    path = os.path.join(folder, name)
    with open(path, "rb") as file:
        data = bytearray(file.read())
    way = source.choice(["flip", "flip", "flip", "zero", "zero", "ones", "cut", "swap", "missing", "insert", "random"])
    at = source.randrange(len(data)) if data else 0
    length = min(source.randint(1, 12), len(data) - at)
    what = f"{name}: {way}, {length} bytes at {at} of {len(data)}"
    if way == "missing":
        os.unlink(path)
        return what
    if way == "swap":
        other = source.choice(names)
        os.rename(path, path + ".x")
        os.rename(os.path.join(folder, other) if other != name else path + ".x", path)
        if other != name:
            os.rename(path + ".x", os.path.join(folder, other))
        return f"{name} and {other} exchanged"
    if way == "flip" and data:
        bit = source.randrange(8)
        data[at] ^= 1 << bit
        what = f"{name}: bit {bit} of byte {at} of {len(data)} turned"
    elif way == "zero":
        data[at:at + length] = bytes(length)
    elif way == "ones":
        data[at:at + length] = b"\xff" * length
    elif way == "random":
        data[at:at + length] = source.randbytes(length)
    elif way == "insert":
        data[at:at] = source.randbytes(length)
    elif way == "cut":
        del data[at:]
    with open(path, "wb") as file:
        file.write(data)
    return what


def _attempt(subject, folder):
    """Runs one restore."""
    _renew_folder(subject)
    before = _picture(subject.folder)
    # The tasks never run: criu isn't responsible for what a damaged program does.
    run = subject.ours.restore(folder, [*subject.restore_options, "--leave-stopped"])
    if run.code < 0:
        raise Failed(run.describe())
    lines = criu_runs.error_lines(run.log)
    if run.code != 0:
        if not lines:
            raise Failed(f"it failed without an Error line: {run.describe()}")
        if crashed := [line for line in lines if re.search(r"signal (4|6|7|8|11)\b", line)]:
            raise Failed(f"a process of the restore crashed: {crashed[0]}")
        subject.require_nothing_left("after the failed restore")
        after = _picture(subject.folder)
        if changed := [f"{path}: {before.get(path)}, {after.get(path)}" for path in sorted(before.keys() | after.keys())
                       if before.get(path) != after.get(path)]:
            raise Failed("the failed restore changed the program's folder: " + "; ".join(changed))
    subject.init.kill_all()
    subject.await_free_ids()
    changes = subject.watched.changes()
    if run.code == 0:
        # A damaged name of a bound socket is another valid name, and the restore creates that name.
        for socket in [line for line in changes if line.endswith(" is a new socket")]:
            os.unlink(socket.removesuffix(" is a new socket"))
            changes.remove(socket)
    if changes:
        raise Failed("files changed: " + "; ".join(changes[:5]))


def _renew_folder(subject):
    """Sets the program's folder back to its state after the dump."""
    for name in os.listdir(subject.folder):
        path = os.path.join(subject.folder, name)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)
    _copy(subject.images("folder"), subject.folder)


def _copy(source, target):
    """Copies a folder with owners, times and hard links."""
    subprocess.run(["cp", "-a", os.path.join(source, "."), target], check=True)


def _picture(folder):
    """Returns all entries of a folder. A restore replaces the socket file of the dumped process, so its inode may
    differ."""
    found = {}
    for base, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(base, name)
            info = os.lstat(path)
            found[os.path.relpath(path, folder)] = (
                info.st_mode, info.st_uid, info.st_gid,
                (info.st_ino, info.st_size, info.st_mtime_ns) if stat.S_ISREG(info.st_mode) else None)
    return found


def prepare(work):
    """Prepares the folders before the program starts. Returns the value of Subject.watched."""
    stage = os.path.join(work, "layers")
    os.mkdir(stage)
    try:
        return watched.Watched(stage, work)
    except watched.Unwatchable as reason:
        raise Skipped(f"files can't be watched: {reason}") from None


MODE = modes.Mode("damaged", damaged, scenario=True, beyond_42=True)
