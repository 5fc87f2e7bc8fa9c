# SPDX-License-Identifier: GPL-2.0-only
"""Runs a program as root of a user namespace of an ordinary user, in which 65536 ids are mapped, as in podman rootless.

usage: user_namespace.py USER FIRST PROGRAM ARGUMENT... FIRST is the id outside that is root inside. Root of the caller's
namespace takes the part of newuidmap(1).
"""

import ctypes
import os
import sys

CLONE_NEWUSER = 0x10000000


def main():
    """Forks a child that makes the namespace, maps its ids, and executes the program in it."""
    user, first = int(sys.argv[1]), int(sys.argv[2])
    libc = ctypes.CDLL(None, use_errno=True)
    made_end, made = os.pipe()
    mapped, mapped_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        if libc.unshare(CLONE_NEWUSER) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        os.write(made, b"x")
        os.close(mapped_end)
        os.read(mapped, 1)
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)
        os.setgroups([])
        os.execvp(sys.argv[3], sys.argv[3:])
    os.close(made)
    if os.read(made_end, 1) == b"x":
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{child}/{name}", "w", encoding="ascii") as file:
                file.write(f"0 {first} 65536")
        os.write(mapped_end, b"x")
    _, status = os.waitpid(child, 0)
    sys.exit(os.waitstatus_to_exitcode(status))


main()
