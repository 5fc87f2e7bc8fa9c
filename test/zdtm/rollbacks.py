# SPDX-License-Identifier: GPL-2.0-only
"""Mode in which a dump ends after the images are written and before the tree is resumed."""

import ctypes
import os
import signal
import socket

from harness import processes
import killing
import modes
from subject import Failed

# Reports that it has begun, and then runs the file "then".
SCRIPT = """#!/bin/sh
[ "$CRTOOLS_SCRIPT_ACTION" = post-dump ] || exit 0
echo > {folder}/begun
exec {folder}/then
"""


def sockets_in_repair(pid):
    """Returns the number of TCP sockets of a process in repair mode."""
    pidfd_getfd, tcp_repair = 438, 19
    libc = ctypes.CDLL(None, use_errno=True)
    count = 0
    held = os.pidfd_open(pid)
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            if os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:"):
                with socket.socket(fileno=libc.syscall(pidfd_getfd, held, int(name), 0)) as copy:
                    if copy.family in (socket.AF_INET, socket.AF_INET6) and copy.type == socket.SOCK_STREAM:
                        count += copy.getsockopt(socket.IPPROTO_TCP, tcp_repair)
    finally:
        os.close(held)
    return count


def _links(subject):
    return [name for name in os.listdir(subject.folder) if name.startswith("link_remap.")]


def require_links(subject, when):
    """Requires deleted files to have temporary links."""
    if not _links(subject):
        raise Failed(f"{when}: it isn't the moment: there is no temporary link")


def require_no_links(subject, when):
    """Waits until no temporary link is left. After a SIGKILL of criu another process of criu removes the links."""
    subject.init.until(lambda: not _links(subject), processes.PATIENCE, f"{when}: the end of temporary links")


def undone(subject, _task):
    """A dump fails, gets SIGTERM or SIGKILL while connections are locked and deleted files have temporary links. Both must
    be reverted, and the tree and its connections continue. No connection may stay in repair mode."""
    folder = subject.images("script")
    os.mkdir(folder)
    script, then, begun = (os.path.join(folder, name) for name in ("script", "then", "begun"))

    def write(path, text):
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(path, 0o755)

    write(script, SCRIPT.format(folder=folder))
    for name, number in ("failed", None), ("SIGTERM", signal.SIGTERM), ("SIGKILL", signal.SIGKILL):
        go_on = os.path.join(folder, f"go-on-{name}")
        write(then, f"#!/bin/sh\nwhile ! [ -e {go_on} ]; do sleep 0.05; done\nexit 1\n")
        pid = subject.ours.start("dump", subject.images(name), "dump.log",
                                 ["-t", str(subject.root), "--action-script", script, *subject.dump_options])
        subject.init.until(lambda: os.path.exists(begun) or pid in subject.init.ended, processes.PATIENCE, f"{name}: the script's begin")
        if pid in subject.init.ended:
            raise Failed(f"{name}: the dump ended by itself")
        require_links(subject, name)
        if sockets_in_repair(subject.root) != 0:
            raise Failed(f"{name}: a connection is in repair mode while the dump waits")
        if number:
            os.kill(pid, number)
        else:
            write(go_on, "")
        code = subject.init.wait(pid, processes.PATIENCE, f"criu dump, '{name}'").code
        if code != (-number if number == signal.SIGKILL else 1):
            raise Failed(f"{name}: the dump ended with {code}")
        require_no_links(subject, name)
        subject.require_running(name)
        subject.init.until(lambda: sockets_in_repair(subject.root) == 0, processes.PATIENCE, f"{name}: the end of repair mode")
        write(go_on, "")
        os.unlink(begun)
        own = {1, *processes.tree(subject.root)}
        subject.init.until(lambda: own.issuperset(processes.pids()), processes.PATIENCE, f"{name}: the end of the script")
        subject.require_unchanged(name, leftovers=True)
    subject.check()


def rescued(subject, _task):
    """All of criu is killed while deleted files have temporary links. The tree continues; `criu rescue` removes the links
    and says so, and a second one finds nothing."""
    folder = subject.images("script")
    os.mkdir(folder)
    script, then, begun, go_on = (os.path.join(folder, name) for name in ("script", "then", "begun", "go-on"))
    for path, text in (script, SCRIPT.format(folder=folder)), (then, f"#!/bin/sh\nwhile ! [ -e {go_on} ]; do sleep 0.05; done\n"):
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(path, 0o755)
    with killing.KilledGroup(subject) as group:
        pid = subject.ours.start("dump", subject.images("killed"), "dump.log",
                                 ["-t", str(subject.root), "--action-script", script, *subject.dump_options],
                                 before_exec=group.enter)
        subject.init.until(lambda: os.path.exists(begun) or pid in subject.init.ended, processes.PATIENCE,
                           "the script's begin")
        if pid in subject.init.ended:
            raise Failed("the dump ended by itself")
        group.kill()
        subject.init.wait(pid, processes.PATIENCE, "the killed dump")
    with open(go_on, "w", encoding="ascii"):
        pass
    require_links(subject, "after the kill")
    subject.require_running("after the kill")
    for expected in "removed the temporary link", "Nothing to do":
        images = subject.images("rescue")
        subject.require_success(subject.ours.run("rescue", images, "rescue.log"))
        said = processes.text(os.path.join(images, "rescue.log.output"))
        if expected not in said:
            raise Failed(f"criu rescue says {said!r}, expected {expected!r}")
        if _links(subject):
            raise Failed("after criu rescue: there is a temporary link")
    subject.require_unchanged("after criu rescue", leftovers=True)
    subject.check()


SCENARIOS = [modes.Mode("undone", undone, scenario=True), modes.Mode("rescued", rescued, scenario=True, beyond_42=True)]
