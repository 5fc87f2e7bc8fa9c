# SPDX-License-Identifier: GPL-2.0-only
"""Kills all processes of criu that supply lazy pages at once."""

import os
import signal

from harness import call_kill, processes
from subject import Skipped
import killing
import lazy
import modes


class KilledSupplies(killing.KilledRestores):
    """Restores with lazy pages whose daemon is killed at a system call of the process that supplies pages. Programs whose
    restored tree changes something outside of itself don't take part, because the kill may end the running tree."""

    codes = (0, 1, -signal.SIGKILL)

    def trace(self, log, point):
        """Restores the tree with lazy pages, and kills the daemon at a point. Returns the Counts of the
        supplying process, and the daemon's exit code."""
        subject = self.subject
        subject.init.ended.pop(subject.root, None)
        images = self.images
        name = os.path.join(images, "lazy-pages.socket")
        ending = os.path.basename(log)

        def begin():
            lazy.allow_few_files()
            group.enter()
            call_kill.stop_self()

        with killing.KilledGroup(subject) as group:
            if not group.path:
                raise Skipped("the kernel has no cgroup.kill")
            daemon = subject.ours.start("lazy-pages", images, f"lazy-{ending}.log", before_exec=begin)
            trace = call_kill.CallKill(subject.init, daemon, point, group.kill_now, follows=True)
            subject.init.until(lambda: os.path.exists(name) or daemon in subject.init.ended, processes.PATIENCE,
                               "the socket of lazy-pages")
            restore = subject.ours.start("restore", images, f"restore-{ending}.log",
                                         ["-d", *subject.restore_options, "--lazy-pages"])
            subject.init.wait(restore, processes.PATIENCE, "the end of criu restore")
            return trace.finish(processes.PATIENCE)

    def point(self):
        """Draws a moment. The daemon traces no process, so only stops exist."""
        if self.counts.stops == 0:
            raise Skipped("the program has no lazy pages")
        return super().point()


def lazy_killed(subject, task):
    """Kills daemons of lazy pages. The tree must run as dumped, or nothing of it may be left, and a restore works."""
    if "--tcp-established" in subject.dump_options:
        raise Skipped("connections end with a running tree that is killed")
    killing.judge(subject, task, KilledSupplies(subject, task))


MODES = [
    modes.Mode("lazy-killed", lazy_killed, scenario=True, beyond_42=True),
]
