# SPDX-License-Identifier: GPL-2.0-only
"""Runs a part of a test as init of new pid, mount and IPC namespaces.

All pids and terminals of a dumped tree are free again there, and criu is in the same namespaces as the tree. The end
of init ends all processes of the test. The caller's script is started again with INSIDE and a file with the task.
"""

import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys

INSIDE = "--inside-namespace"
MNT_DETACH = 2


class Died(Exception):
    """Error for an init that ended without a result or didn't end in time."""


def run(script, work, task, timeout, network=False, compiled=None):
    """Runs `script INSIDE FILE` in new namespaces. Returns the value that it passed to answer(). `work` contains task
    and result.

    `network`: also in a new network namespace, which has only a loopback device. `compiled`: folder for Python's
    compiled modules, for later runs. Without it they are compiled each time, and not written to the tree.
    """
    request = os.path.join(work, "task.json")
    with open(request, "w", encoding="utf-8") as file:
        json.dump(task, file)
    command = ["unshare", "--pid", "--mount", "--ipc", "--fork", "--kill-child=SIGKILL", "--mount-proc",
               sys.executable, *(["-X", f"pycache_prefix={compiled}"] if compiled else ["-B"]), os.path.abspath(script), INSIDE,
               request]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    if network:
        command.insert(1, "--net")
    with open(os.path.join(work, "init.log"), "wb") as log:
        init = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
        try:
            code = init.wait(timeout)
        except BaseException as error:
            # The kernel ends init when unshare dies, and all processes of the namespace with init.
            init.kill()
            init.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                raise Died(f"no end after {timeout:.0f} s, see {log.name}") from None
            raise
    try:
        with open(request + ".answer", encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        raise Died(f"the runner's inner half ended with {code}, see {log.name}") from None


def request():
    """Returns the task of run() inside the namespaces; None outside."""
    if len(sys.argv) == 3 and sys.argv[1] == INSIDE:
        # The outer script handles an interrupt and ends this process.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        mount_own_devices(sys.argv[2])
        with open(sys.argv[2], encoding="utf-8") as file:
            return json.load(file)
    return None


def mount_own_devices(task):
    """Mounts private devpts and /dev/shm. Numbers of pseudoterminals become free again after a dump, like pids. The
    machine's /dev/shm may be large, full, changing or inaccessible; it stays if the caller's files are there, as in
    benchmarks. The old mounts are unmounted: a covered mount would be dumped with trees that have a copy of it. It
    starts no program, because the test needs the first pid.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    for kind, where, options in ((b"devpts", b"/dev/pts", b"newinstance,mode=620,ptmxmode=666"),
                                 (b"tmpfs", b"/dev/shm", b"mode=1777")):
        if os.path.realpath(task).startswith(where.decode() + "/"):
            continue
        while libc.umount2(where, MNT_DETACH) == 0:
            pass  # one of several mounts that cover each other
        if os.path.isdir(where) and libc.mount(kind, where, kind, 0, options) != 0:
            raise OSError(ctypes.get_errno(), f"mount {where.decode()}")


def bring_up_loopback():
    """Enables the loopback device of this network namespace."""
    siocgifflags, siocsifflags, up = 0x8913, 0x8914, 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        name, flags = struct.unpack("16sH", fcntl.ioctl(any_socket, siocgifflags, struct.pack("16sH14x", b"lo", 0))[:18])
        fcntl.ioctl(any_socket, siocsifflags, struct.pack("16sH14x", name, flags | up))


def answer(value):
    """Passes the result to run()."""
    path = sys.argv[2] + ".answer"
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(value, file)
    os.rename(path + ".new", path)
