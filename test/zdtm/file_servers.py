# SPDX-License-Identifier: GPL-2.0-only
"""Modes in which the server of a FUSE file system doesn't answer. Programs ask for these modes."""

import os
import re
import signal
import time

from harness import processes
import modes
import rollbacks
from subject import Failed


def unanswered(subject, _task):
    """Requires a dump that waits for a deaf file system to end on SIGTERM, or when the criu that was started dies. The
    tree continues."""
    for number in signal.SIGTERM, signal.SIGKILL:
        images = subject.images(f"images-{number.name}")
        pid = subject.ours.start("dump", images, "dump.log", ["-t", str(subject.root), "--timeout", "0"])
        subject.init.pause(1.5)
        if pid in subject.init.ended:
            raise Failed("the dump ended by itself")
        os.kill(pid, number)
        subject.init.wait(pid, processes.PATIENCE, f"criu dump after {number.name}")
        subject.require_running(f"after {number.name}")
        subject.require_unchanged(f"after {number.name}", leftovers=True)
    subject.check()


def server_stops(subject, _task):
    """A FUSE server stops answering during a dump. A dump that only closes a file must succeed. A dump that sends a
    request must end by itself or on SIGTERM. The tree continues."""
    def dump(name, switch, *options):
        images = subject.images(name)
        path = os.path.join(subject.folder, switch)
        with open(path, "w", encoding="ascii"):
            pass
        pid = subject.ours.start("dump", images, "dump.log", ["-t", str(subject.root), "--leave-running", *options])
        return pid, path

    def require_end(pid, path, code, name):
        ended = subject.init.wait(pid, processes.PATIENCE, f"criu dump, '{name}'").code
        if ended != code:
            raise Failed(f"{name}: the dump ended with {ended}")
        os.unlink(path)
        subject.require_running(name)
        subject.require_unchanged(name, leftovers=True)
        time.sleep(0.5)  # lets the server check the switch several times

    for name, code, switch in (("closing", 0, "deaf-to-flush"), ("asking", 1, "deaf-later")):
        require_end(*dump(name, switch, "--timeout", "2"), code, name)
    pid, path = dump("stopped", "deaf-later", "--timeout", "0")
    log = os.path.join(subject.images("stopped"), "dump.log")
    subject.init.until(lambda: "Stage: processes" in (processes.text(log) or ""), processes.PATIENCE, "a dump that asks the server")
    time.sleep(1)
    if processes.status(pid) is None:
        raise Failed("the dump ended by itself")
    os.kill(pid, signal.SIGTERM)
    require_end(pid, path, 1, "stopped")
    subject.check()


def criu_processes():
    """Returns all processes of criu, including those whose first process is gone."""
    return [pid for pid in processes.pids() if (processes.status(pid) or {}).get("Name") == "criu"]


FUSE_REQUESTS = {"LOOKUP": 1, "GETATTR": 3, "READLINK": 5, "OPEN": 14, "READ": 15, "STATFS": 17, "GETXATTR": 22, "FLUSH": 25,
                 "OPENDIR": 27}  # <linux/fuse.h>
# Requests that a dump and a restore cause, and whose answers the kernel waits for.
OF_DUMP = "LOOKUP", "GETATTR", "OPEN", "READ", "STATFS", "GETXATTR", "FLUSH"
OF_RESTORE = "LOOKUP", "OPEN", "OPENDIR", "READLINK", "GETXATTR"


class HoldingServer:
    """Controls the FUSE server of a program that calls serve_as_told() (test/zdtm/lib/fuse.hpp)."""

    def __init__(self, subject):
        self.init = subject.init
        self.switch, self.sign = (os.path.join(subject.folder, name) for name in ("held", "holding"))

    def hold(self, request):
        """Makes the server hold requests of this kind."""
        with open(self.switch + ".new", "w", encoding="ascii") as file:
            file.write(str(FUSE_REQUESTS[request]))
        os.rename(self.switch + ".new", self.switch)

    def require_held(self, pid, name):
        """Waits until the server holds a request of this process, or of its helper that closes files after it."""
        self.init.until(lambda: os.path.exists(self.sign) or pid in self.init.ended, processes.PATIENCE, f"{name}: a held request")
        self.init.until(lambda: os.path.exists(self.sign), processes.PATIENCE, f"{name}: criu has ended, a held request")

    def answer(self, name):
        """Makes the server answer again. Requires all processes of criu to end."""
        os.unlink(self.switch)
        self.init.until(lambda: not os.path.exists(self.sign), processes.PATIENCE, f"{name}: the end of the held request")
        self.init.until(lambda: not criu_processes(), processes.PATIENCE, f"{name}: the end of criu's processes")


def request_held(subject, _task):
    """The server holds a request of a dump, and the kernel keeps even a killed process in that wait. The tree must
    continue after --timeout, after SIGTERM and after SIGKILL."""
    server = HoldingServer(subject)

    def dump(name, request, *options):
        server.hold(request)
        pid = subject.ours.start("dump", subject.images(name), "dump.log",
                                 ["-t", str(subject.root), "--leave-running", *options])
        server.require_held(pid, name)
        return pid

    def require_end(pid, name, code):
        ended = subject.init.wait(pid, processes.PATIENCE, f"criu dump, '{name}'").code
        if ended != code:
            raise Failed(f"{name}: the dump ended with {ended}")
        # The server still holds the request. The waiting process must hold no part of the tree.
        subject.require_running(name)
        log = processes.text(os.path.join(subject.images(name), "dump.log"))
        if code == 1 and not re.search(r"Error .*doesn't answer: /mnt \(fuse\)", log):
            raise Failed(f"{name}: the log doesn't name the file system")
        server.answer(name)
        subject.require_unchanged(name, leftovers=True)

    for request in OF_DUMP:
        pid = dump(request, request, "--timeout", "1")
        require_end(pid, request, 0 if request == "FLUSH" else 1)
    for number in signal.SIGTERM, signal.SIGKILL:
        pid = dump(number.name, "READ", "--timeout", "0")
        subject.init.pause(1)
        if pid in subject.init.ended:
            raise Failed("the dump ended by itself")
        os.kill(pid, number)
        require_end(pid, number.name, 1 if number == signal.SIGTERM else -number)
    subject.check()


def held_later(subject, _task):
    """Does the same with a pre-dump, which ends as a dump does, and with a restore, which ends on SIGTERM."""
    server = HoldingServer(subject)
    server.hold("GETATTR")
    pid = subject.ours.start("pre-dump", subject.images("pre"), "pre-dump.log",
                             ["-t", str(subject.root), "--timeout", "1"])
    server.require_held(pid, "pre-dump")
    code = subject.init.wait(pid, processes.PATIENCE, "criu pre-dump").code
    if code != 1:
        raise Failed(f"the pre-dump ended with {code}")
    subject.require_running("pre-dump")
    server.answer("pre-dump")
    subject.require_unchanged("pre-dump", leftovers=True)

    own = {1, *processes.tree(subject.root)}
    strangers = frozenset(pid for pid in processes.pids() if pid not in own)
    subject.require_success(subject.ours.dump(subject.root, subject.images("images"), subject.dump_options))
    subject.require_nothing_left("after the dump", strangers)
    for request in OF_RESTORE:
        server.hold(request)
        pid = subject.ours.start("restore", subject.images("images"), "restore.log", ["-d", *subject.restore_options])
        server.require_held(pid, request)
        subject.init.pause(0.5)
        if pid in subject.init.ended:
            raise Failed(f"{request}: the restore ended by itself")
        os.kill(pid, signal.SIGTERM)
        code = subject.init.wait(pid, processes.PATIENCE, f"criu restore, '{request}'").code
        if code in (0, None):
            raise Failed(f"{request}: the restore ended with {code}")
        server.answer(request)
        subject.require_nothing_left(f"after a restore that was asked to end in {request}", strangers)
    subject.restore(subject.ours, "images")
    subject.check()


def held_in_namespace(subject, _task):
    """Does the same with a restore into a pid namespace, which the kernel removes after all its processes have ended.
    criu must not wait for the held process, and must name it."""
    server = HoldingServer(subject)
    own = {1, *processes.tree(subject.root)}
    strangers = frozenset(pid for pid in processes.pids() if pid not in own)
    subject.require_success(subject.ours.dump(subject.root, subject.images("images"), subject.dump_options))
    subject.require_nothing_left("after the dump", strangers)
    server.hold("OPEN")
    pid = subject.ours.start("restore", subject.images("images"), "restore.log", ["-d", *subject.restore_options])
    server.require_held(pid, "restore")
    os.kill(pid, signal.SIGTERM)
    code = subject.init.wait(pid, processes.PATIENCE, "criu restore").code
    if code in (0, None):
        raise Failed(f"the restore ended with {code}")
    left = re.search(r"Warn .*something holds them: (\d+) \(", processes.text(os.path.join(subject.images("images"), "restore.log")))
    if not left or int(left[1]) not in processes.pids() or int(left[1]) in strangers:
        raise Failed("the log doesn't name who is left")
    server.answer("restore")
    subject.require_nothing_left("after a restore that was asked to end", strangers)
    subject.restore(subject.ours, "images")
    subject.check()


def rolled_back(subject, _task):
    """A FUSE server holds a dump that has made temporary links. The dump must remove the links when it ends by itself,
    by SIGTERM or by SIGKILL."""
    server = HoldingServer(subject)
    for number in None, signal.SIGTERM, signal.SIGKILL:
        name = number.name if number else "by-itself"
        server.hold("READ")
        pid = subject.ours.start("dump", subject.images(name), "dump.log",
                                 ["-t", str(subject.root), "--timeout", "0" if number else "2", *subject.dump_options])
        server.require_held(pid, name)
        rollbacks.require_links(subject, name)
        if number:
            os.kill(pid, number)
        code = subject.init.wait(pid, processes.PATIENCE, f"criu dump, '{name}'").code
        if code != (-number if number == signal.SIGKILL else 1):
            raise Failed(f"{name}: the dump ended with {code}")
        rollbacks.require_no_links(subject, name)  # the server still holds the request
        subject.require_running(name)
        server.answer(name)
        subject.require_unchanged(name, leftovers=True)
        rollbacks.require_no_links(subject, name)
    subject.check()


SCENARIOS = [
    modes.Mode("server-stops", server_stops, scenario=True),
    modes.Mode("unanswered", unanswered, scenario=True, beyond_42=True),
    modes.Mode("request-held", request_held, scenario=True, beyond_42=True),
    modes.Mode("held-later", held_later, scenario=True, beyond_42=True),
    modes.Mode("rolled-back", rolled_back, scenario=True, beyond_42=True),
    modes.Mode("held-in-namespace", held_in_namespace, scenario=True, beyond_42=True),
]
