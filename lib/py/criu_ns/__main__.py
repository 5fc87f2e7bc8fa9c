# SPDX-License-Identifier: GPL-2.0-only
"""Command line of criu-ns."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import tempfile
import termios
import time
from typing import NoReturn

from . import namespaces
from .arguments import Arguments, UsageError

_USAGE = """Usage: criu-ns dump|pre-dump -t PID [OPTION]...
       criu-ns restore [OPTION]...
       criu-ns check [OPTION]...

restore runs criu in a pid and a mount namespace of its own, so that the numbers of all processes are free. The other
commands run criu as they are: a dump works from outside of the tree's namespaces. Options are criu's, see criu(8), and
  --criu-binary PATH    the criu to run, if it isn't that of $PATH
"""
_INTERVAL = 0.01  # seconds between polls for the end of a restore


def _execute(program: str | None, words: list[str]) -> NoReturn:
    """Replaces this process by criu."""
    try:
        if program:
            os.execv(program, ["criu", *words])
        os.execvp("criu", ["criu", *words])
    except OSError as error:
        print(f"criu-ns: run {program or 'criu'}: {error.strerror}", file=sys.stderr)
    os._exit(1)


def _exit_status(status: int) -> int:
    """Converts a status of waitpid(2) to an exit status: 128 + N if signal N ended the process."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _wait(pid: int) -> int:
    """Waits for criu and returns its exit status. Leaves signals that the terminal sends to its group to criu."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return _exit_status(os.waitpid(pid, 0)[1])


# ---- restore

def _begin_restore(arguments: Arguments, program: str | None) -> NoReturn:
    """Starts the restore in the new pid namespace, as its init."""
    try:
        namespaces.unshare(namespaces.CLONE_NEWNS)
        os.setsid()
        if arguments.has("--shell-job", "j"):
            if not sys.stdin.isatty():
                raise UsageError("--shell-job needs a terminal as standard input")
            # criu makes the restored shell job the foreground job of its controlling terminal.
            fcntl.ioctl(sys.stdin.fileno(), termios.TIOCSCTTY, 1)
        namespaces.mount_own_proc()
    except (OSError, UsageError) as error:
        print(f"criu-ns: {error}", file=sys.stderr)
        os._exit(1)
    _execute(program, ["restore", *arguments.words])


def _outer_pid(first: int, inner: str) -> str | None:
    """Returns the pid in this namespace of a process of another one. `first` is any process of the other namespace."""
    try:
        name_space = os.stat(f"/proc/{first}/ns/pid")
    except OSError:
        return None  # the tree has already ended
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            other = os.stat(f"/proc/{entry}/ns/pid")
            if (other.st_dev, other.st_ino) != (name_space.st_dev, name_space.st_ino):
                continue
            with open(f"/proc/{entry}/status", encoding="utf-8", errors="replace") as status:
                numbers = next(line.split()[1:] for line in status if line.startswith("NSpid:"))
        except (OSError, StopIteration):
            continue
        if numbers[-1] == inner:
            return entry
    return None


def _absolute_pid_file(name: str, arguments: Arguments) -> str:
    """Returns the path of criu's pid file. Relative names belong to the work directory."""
    directory = arguments.value("--work-dir", "W") or arguments.value("--images-dir", "D") or "."
    return os.path.abspath(os.path.join(directory, name))


def _write_pid_file(name: str, pid: str) -> None:
    """Writes the pid file, which must not exist, as criu does."""
    with open(name, "x", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write(pid)


def _restore(words: list[str]) -> int:
    arguments = Arguments(words)
    program = arguments.take("--criu-binary")
    if arguments.has("--restore-sibling", "S"):
        raise UsageError("--restore-sibling can't be: the tree is in a pid namespace of its own")
    detached = arguments.remove("--restore-detached", "d")
    pid_file = arguments.take("--pidfile")
    if pid_file is not None:
        pid_file = _absolute_pid_file(pid_file, arguments)
        if os.path.lexists(pid_file):
            raise UsageError(f"{pid_file} exists already")
    with tempfile.TemporaryDirectory(prefix="criu-ns-") as scratch:
        # criu writes this file when the tree is restored. It contains the pid of the root in the new namespace.
        inner_file = os.path.join(scratch, "pid")
        at = arguments.words.index("--") if "--" in arguments.words else len(arguments.words)
        arguments.words[at:at] = ["--pidfile", inner_file]
        namespaces.unshare(namespaces.CLONE_NEWPID)
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            _begin_restore(arguments, program)
        if pid_file or detached:
            inner = _wait_until_restored(child, inner_file)
            if inner is None:
                return _wait(child)
            if pid_file and (outer := _outer_pid(child, inner)):
                _write_pid_file(pid_file, outer)
            if detached:
                return 0
        status = _wait(child)
        # The end of the tree after its restore isn't a failure of the restore.
        return 0 if os.path.exists(inner_file) else status


def _wait_until_restored(child: int, inner_file: str) -> str | None:
    """Returns the inner pid of the tree's root; None if criu has ended before. Doesn't wait for criu's end."""
    while True:
        ended = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        try:
            with open(inner_file, encoding="ascii") as file:
                inner = file.read()
        except FileNotFoundError:
            inner = ""
        if inner or ended:
            return inner or None
        time.sleep(_INTERVAL)


def main() -> int:
    """Runs criu. Returns its exit status, or 1 if criu couldn't be executed."""
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(_USAGE, end="", file=sys.stderr if len(sys.argv) < 2 else sys.stdout)
        return 1 if len(sys.argv) < 2 else 0
    command, words = sys.argv[1], sys.argv[2:]
    try:
        if command == "restore":
            return _restore(words)
        if command in ("dump", "pre-dump", "check"):
            # criu is executed in this mount namespace. The tree's mount namespace may have another program at its path.
            arguments = Arguments(words)
            _execute(arguments.take("--criu-binary"), [command, *arguments.words])
        raise UsageError(f"{command} is no command of criu-ns; dump, pre-dump, restore and check are")
    except (UsageError, OSError) as error:
        print(f"criu-ns: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
