# SPDX-License-Identifier: GPL-2.0-only
"""Dumps that write memory after the tree runs again (--background)."""

import os
import re
import signal
import threading
import time

from harness import processes
import modes
import page_servers
from subject import Failed

OPTIONS = ["--leave-running", "--background"]


def background(subject, _task):
    """Requires the images to show the moment of the freeze, whatever the tree did while criu wrote its memory."""
    size = os.path.getsize(subject.output)
    subject.dump(subject.ours, "images", OPTIONS)
    subject.require_running("after dump --background")
    subject.require_unchanged("after dump --background")
    for pid in reversed(processes.tree(subject.root)):
        os.kill(pid, signal.SIGKILL)
    subject.init.wait(subject.root, processes.PATIENCE, "end of the tree that was dumped")
    subject.require_nothing_left("after the end of the tree")
    subject.await_free_ids()
    subject.forget_output(size)
    subject.run_between()
    subject.restore(subject.ours, "images")
    subject.check()


class SlowServer(page_servers.DeafServer):
    """A page server that receives everything slowly."""

    def __init__(self):
        super().__init__(4096)

    def serve(self):
        """Receives as long as criu sends."""
        threading.Thread(target=self.read_slowly, daemon=True).start()
        super().serve()

    def read_slowly(self):
        """Receives the bytes after the questions."""
        while not self.connections or self.left > 0:
            time.sleep(0.01)
        try:
            while self.connections[0].recv(1 << 16):
                time.sleep(0.01)
        except OSError:
            return  # closed


class Begun:
    """A dump that has resumed the tree, and whose page server receives pages slowly or not at all."""

    def __init__(self, subject, name, server):
        self.subject = subject
        self.name = name
        self.server = server
        self.images = subject.images(name)
        self.pid = subject.ours.start("dump", self.images, "dump.log",
                                      ["-t", str(subject.root), *subject.dump_options, *OPTIONS, *self.server.options,
                                       "--timeout", "0"])
        subject.init.until(self._tree_runs, processes.PATIENCE, f"{name}: the tree to run again")
        subject.require_running(f"{name}, while memory is written")
        self.clones = [pid for pid in processes.pids() if self._is_clone(pid)]
        self.worker = int(processes.status(self.clones[0])["TracerPid"]) if self.clones else 0

    def _tree_runs(self):
        if self.pid in self.subject.init.ended:
            raise Failed(f"{self.name}: the dump ended by itself, see {self.images}/dump.log")
        text = processes.text(os.path.join(self.images, "dump.log")) or ""
        return "The tree runs again" in text

    def _is_clone(self, pid):
        status = processes.status(pid) or {}
        return pid not in processes.tree(self.subject.root) and status.get("TracerPid", "0") != "0"

    def require_hidden_clones(self):
        """Requires stopped clones that are no children of the tree and hold none of its files open."""
        if not self.clones:
            raise Failed(f"{self.name}: there is no snapshot, see {self.images}/dump.log")
        for clone in self.clones:
            fields = (processes.text(f"/proc/{clone}/stat") or "").rsplit(")", 1)[1].split()
            parent, session = int(fields[1]), int(fields[3])
            if parent != 1 or session in processes.tree(self.subject.root):
                raise Failed(f"{self.name}: the clone has parent {parent} and session {session}")
            if os.listdir(f"/proc/{clone}/fd"):
                raise Failed(f"{self.name}: the clone has files open")

    def end(self):
        """Waits for the end of criu. Requires the dump to leave only images that can't be restored."""
        code = self.subject.init.wait(self.pid, processes.PATIENCE, f"{self.name}: end of criu").code
        if code == 0:
            raise Failed(f"{self.name}: the dump succeeded")
        self.server.close()
        self.subject.require_running(self.name)
        self.subject.require_unchanged(self.name)
        if os.path.exists(os.path.join(self.images, "inventory.img")):
            raise Failed(f"{self.name}: inventory.img exists")
        if self.subject.try_restore(self.subject.ours, self.images).code == 0:
            raise Failed(f"{self.name}: the images were restored")


def background_stopped(subject, _task):
    """Ends criu in several ways while it writes memory of a running tree. Requires its clones to end, the tree to stay
    unchanged, and a restore to reject the images."""
    for name, number, of_worker in (("terminated", signal.SIGTERM, False), ("killed", signal.SIGKILL, False),
                                    ("worker killed", signal.SIGKILL, True)):
        dump = Begun(subject, name.replace(" ", "-"), page_servers.DeafServer(100_000))
        dump.require_hidden_clones()
        os.kill(dump.worker if of_worker else dump.pid, number)
        dump.end()
    dump = Begun(subject, "clone-killed", SlowServer())
    os.kill(dump.clones[0], signal.SIGKILL)
    dump.end()
    log = processes.text(os.path.join(dump.images, "dump.log")) or ""
    if not re.search(r"the clone of process \d+ was killed", log):
        errors = [line.strip() for line in log.splitlines() if "Error" in line]
        raise Failed(f"the dump didn't notice that its clone was killed: {' | '.join(errors)}")
    server = SlowServer()
    run = subject.ours.dump(subject.root, subject.images("too-much"),
                            [*subject.dump_options, *OPTIONS, *server.options, "--background-memory", "2M"])
    server.close()
    modes.require_refusal(subject, run, "more than --background-memory allows")
    subject.check()


MODES = [
    modes.Mode("background", background, beyond_42=True, of_memory=True),
    modes.Mode("background-stopped", background_stopped, scenario=True, beyond_42=True),
]
