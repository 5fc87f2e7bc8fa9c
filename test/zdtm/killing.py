# SPDX-License-Identifier: GPL-2.0-only
"""Kills all processes of criu at once, as cgroup.kill and systemctl kill do."""

import errno
import os
import signal
import time

import modes
from harness import processes
from subject import Failed


def all_killed(subject, task):
    """Kills all processes of a dump at random moments. The tree must continue unchanged, or must have ended with
    complete images."""
    images = subject.images("whole")
    whole = subject.ours.dump(subject.root, images, [*subject.dump_options, "--leave-running"])
    subject.require_success(whole)
    subject.require_unchanged("after dump --leave-running")
    whens = modes.moments(task["seed"], whole.seconds * 1.1)
    # A thread of a stopped process gets its signal mask back when the process continues.
    subject.ignore = [*subject.ignore, *(f"{what[:-len('State')]}SigBlk" for fields in subject.state.values()
                                         for what, value in fields.items() if what.endswith(" State") and value != "runs")]
    for turn in range(task["turns"]):
        ends = turn % 2 == 1
        images = subject.images(f"killed-{turn}")
        moment, code = kill_all(subject, images, next(whens), [] if ends else ["--leave-running"])
        when = f"after SIGKILL of all of criu at {1000 * moment:.1f} of {1000 * whole.seconds:.1f} ms of {images}"
        complete = os.path.exists(os.path.join(images, "inventory.img"))
        # Must not take from a tree, nor from complete images, what they need.
        subject.require_success(subject.ours.run("rescue", subject.images("rescue"), "rescue.log"))
        if ends and is_ending(subject):
            if not complete:
                raise Failed(f"{when}: the root task has ended, and there is no inventory")
            subject.require_dumped()
            subject.run_between()
            subject.require_success(subject.try_restore(subject.ours, images))
            subject.require_unchanged(f"{when}: after the restore", leftovers=True)
            continue
        if code == 0 and ends:
            raise Failed(f"{when}: the dump has succeeded, and the root task lives")
        subject.require_running(when)
        subject.require_unchanged(when, leftovers=True)
    # Some programs check changes that only a dump and a restore make.
    subject.dump(subject.ours, "last")
    subject.require_success(subject.try_restore(subject.ours, subject.images("last")))
    subject.require_unchanged("after the last restore", leftovers=True)
    subject.check()


class KilledGroup:
    """Processes of criu that end at the same instant: a cgroup of version 2 with cgroup.kill (Linux 5.14). Where the kernel
    has none, it kills them one by one."""

    def __init__(self, subject):
        self.subject = subject
        self.path = None
        root = mounted("cgroup2")
        if root and os.path.exists("/proc/self/cgroup") and os.access(root, os.W_OK):
            self.path = os.path.join(root, f"criu-killed-{os.getpid()}-{time.monotonic_ns()}")
            try:
                os.mkdir(self.path)
            except OSError:
                self.path = None
        if self.path and not os.path.exists(os.path.join(self.path, "cgroup.kill")):
            self.remove()
            self.path = None

    def enter(self):
        """Moves the calling process into the group, before it executes criu."""
        if self.path:
            with open(os.path.join(self.path, "cgroup.procs"), "w", encoding="ascii") as file:
                file.write("0")

    def kill(self):
        """Kills all processes of the group, and waits for their ends."""
        if self.path:
            with open(os.path.join(self.path, "cgroup.kill"), "w", encoding="ascii") as file:
                file.write("1")
            self.subject.init.until(self._is_empty, processes.PATIENCE, "the ends of criu's processes")
            return
        killed = set()
        while left := processes_of(self.subject.ours.binary):
            for each in sorted(left, reverse=True):  # kills the tracer before the guardian
                killed.add(each)
                try:
                    os.kill(each, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.subject.init.pause(0.001)
        self.subject.init.until(lambda: killed.isdisjoint(processes.pids()), processes.PATIENCE,
                                "the ends of criu's processes")

    def remove(self):
        """Removes the group, which must be empty."""
        if self.path:
            self.subject.init.until(self._removed, processes.PATIENCE, "the removal of criu's cgroup")

    def _removed(self):
        self.subject.init.reap()
        try:
            os.rmdir(self.path)
        except OSError as error:
            if error.errno != errno.EBUSY:  # the kernel still frees an ended process
                raise
            return False
        return True

    def _is_empty(self):
        self.subject.init.reap()
        with open(os.path.join(self.path, "cgroup.procs"), encoding="ascii") as file:
            return not file.read()


def mounted(kind):
    """Returns where a file system of this type is mounted; None if it isn't."""
    with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as mounts:
        return next((fields[1] for line in mounts if (fields := line.split())[2] == kind), None)


def kill_all(subject, images, moment, options):
    """Kills all processes of a dump after some seconds. Returns the moment and the exit code of the first process."""
    group = KilledGroup(subject)
    pid = subject.ours.start("dump", images, "dump.log", ["-t", str(subject.root), *subject.dump_options, *options],
                             before_exec=group.enter)
    deadline = time.monotonic() + moment
    while pid not in subject.init.ended and time.monotonic() < deadline:
        subject.init.pause(deadline - time.monotonic())
    group.kill()
    subject.init.reap()
    ended = subject.init.wait(pid, processes.PATIENCE, "the end of criu dump").code
    group.remove()
    return moment, ended


def is_ending(subject):
    """Returns true if the root task has ended, is in its exit, or has a pending SIGKILL."""
    subject.init.reap()
    status = processes.status(subject.root)
    fields = processes.text(f"/proc/{subject.root}/stat")
    if status is None or not fields or status["State"].startswith(("Z", "X")):
        return True
    exiting, killed = 0x4, 0x400  # PF_EXITING and PF_SIGNALED of linux/sched.h
    if int(fields.rsplit(")", 1)[1].split()[6]) & (exiting | killed):
        return True
    pending = int(status["SigPnd"], 16) | int(status["ShdPnd"], 16)
    return bool(pending & 1 << (signal.SIGKILL - 1))


def processes_of(binary):
    """Returns the processes that execute a program."""
    found = []
    for pid in processes.pids():
        try:
            if os.readlink(f"/proc/{pid}/exe") == binary:
                found.append(pid)
        except OSError:
            pass
    return found


SCENARIOS = [
    modes.Mode("all-killed", all_killed, scenario=True, beyond_42=True),
]
