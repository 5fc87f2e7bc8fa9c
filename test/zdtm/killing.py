# SPDX-License-Identifier: GPL-2.0-only
"""Kills all processes of criu at once, as cgroup.kill and systemctl kill do."""

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
    subject.check()


def kill_all(subject, images, moment, options):
    """Kills all processes of a dump after some seconds. Returns the moment and the exit code of the first process."""
    pid = subject.ours.start("dump", images, "dump.log", ["-t", str(subject.root), *subject.dump_options, *options])
    deadline = time.monotonic() + moment
    while pid not in subject.init.ended and time.monotonic() < deadline:
        subject.init.pause(deadline - time.monotonic())
    killed = set()
    while left := processes_of(subject.ours.binary):
        for each in sorted(left, reverse=True):  # kills the tracer before the guardian
            killed.add(each)
            try:
                os.kill(each, signal.SIGKILL)
            except ProcessLookupError:
                pass
        subject.init.pause(0.001)
    subject.init.until(lambda: killed.isdisjoint(processes.pids()), processes.PATIENCE, "the ends of criu's processes")
    subject.init.reap()
    return moment, subject.init.wait(pid, processes.PATIENCE, "the end of criu dump").code


def is_ending(subject):
    """Returns true if the root task has ended or has a pending SIGKILL."""
    subject.init.reap()
    status = processes.status(subject.root)
    if status is None or status["State"].startswith(("Z", "X")):
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
