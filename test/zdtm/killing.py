# SPDX-License-Identifier: GPL-2.0-only
"""Kills all processes of criu at once, as cgroup.kill and systemctl kill do."""

import copy
import errno
import os
import random
import shutil
import signal
import stat
import subprocess
import time

import modes
from harness import call_kill, processes, procstate
from subject import Failed, Skipped


def masks_of_stopped(subject):
    """Returns the ignored fields, and the signal masks of stopped threads. Such a thread gets its mask back when its process
    continues."""
    return [*subject.ignore, *(f"{what[:-len('State')]}SigBlk" for fields in subject.state.values()
                               for what, value in fields.items() if what.endswith(" State") and value != "runs")]


def may_keep_memory(subject):
    """Returns True if the tree contains stopped threads. Such a thread ends a call of a killed criu when its process
    continues, so criu rescue can't unmap memory of criu before."""
    return any(what.endswith(" State") and value != "runs" for fields in subject.state.values() for what, value in fields.items())


def require_rescued(subject, when):
    """Runs criu rescue, after which the tree must run unchanged."""
    subject.require_success(subject.ours.run("rescue", subject.images("rescue"), "rescue.log"))
    subject.require_running(when)
    subject.require_unchanged(when, leftovers=may_keep_memory(subject))


def finish(subject, options=()):
    """Dumps and restores the tree a last time. Some programs check changes that only a dump and a restore make."""
    subject.dump(subject.ours, "last", options)
    subject.require_success(subject.try_restore(subject.ours, subject.images("last")))
    subject.require_unchanged("after the last restore", leftovers=True)
    subject.check()


def all_killed(subject, task, options=()):
    """Kills all processes of a dump at random moments. The tree must continue unchanged, or must have ended with
    complete images. With --background among the options, the tree never ends."""
    images = subject.images("whole")
    whole = subject.ours.dump(subject.root, images, [*subject.dump_options, *options, "--leave-running"])
    subject.require_success(whole)
    subject.require_unchanged("after dump --leave-running")
    whens = modes.moments(task["seed"], whole.seconds * 1.1)
    subject.ignore = masks_of_stopped(subject)
    for turn in range(task["turns"]):
        ends = turn % 2 == 1 and not options
        images = subject.images(f"killed-{turn}")
        moment, code = kill_all(subject, images, next(whens), options if ends else [*options, "--leave-running"])
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
            subject.warns = None  # the restored tree lacks what a dump warns about
            continue
        if code == 0 and ends:
            raise Failed(f"{when}: the dump has succeeded, and the root task lives")
        subject.require_running(when)
        subject.require_unchanged(when, leftovers=may_keep_memory(subject))
    finish(subject)


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
            self._write("cgroup.procs", "0")

    def kill_now(self):
        """Kills all processes of the group, without waiting for their ends. Returns them if the kernel can't do this."""
        if self.path:
            self._write("cgroup.kill", "1")
            return []
        found = sorted(processes_of(self.subject.ours.binary), reverse=True)
        for each in found:  # kills the tracer before the guardian
            try:
                os.kill(each, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return found

    def kill(self):
        """Kills all processes of the group, and waits for their ends."""
        killed = set()
        while left := self.kill_now():
            killed.update(left)
            self.subject.init.pause(0.001)
        if self.path:
            self.subject.init.until(self._is_empty, processes.PATIENCE, "the ends of criu's processes")
            return
        self.subject.init.until(lambda: killed.isdisjoint(processes.pids()), processes.PATIENCE,
                                "the ends of criu's processes")

    def remove(self):
        """Removes the group, which must be empty."""
        if self.path:
            self.subject.init.until(self._removed, processes.PATIENCE, "the removal of criu's cgroup")

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        """Also ends the daemon that tracks written memory, and processes that a failure of the test has left."""
        self.kill()
        self.remove()

    def _write(self, name, text):
        with open(os.path.join(self.path, name), "w", encoding="ascii") as file:
            file.write(text)

    def _removed(self):
        self.subject.init.reap()
        try:
            os.rmdir(self.path)
        except OSError as error:
            if error.errno != errno.EBUSY:  # the kernel still frees an ended process
                raise
            return False
        return True

    def contains_any(self):
        """Returns true if a process is in the cgroup of the group."""
        with open(os.path.join(self.path, "cgroup.procs"), encoding="ascii") as file:
            return bool(file.read())

    def _is_empty(self):
        self.subject.init.reap()
        return not self.contains_any()


def mounted(kind):
    """Returns where a file system of this type is mounted; None if it isn't."""
    with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as mounts:
        return next((fields[1] for line in mounts if (fields := line.split())[2] == kind), None)


def kill_all(subject, images, moment, options):
    """Kills all processes of a dump after some seconds. Returns the moment and the exit code of the first process."""
    with KilledGroup(subject) as group:
        pid = subject.ours.start("dump", images, "dump.log", ["-t", str(subject.root), *subject.dump_options, *options],
                                 before_exec=group.enter)
        deadline = time.monotonic() + moment
        while pid not in subject.init.ended and time.monotonic() < deadline:
            subject.init.pause(deadline - time.monotonic())
        group.kill()
        subject.init.reap()
        return moment, subject.init.wait(pid, processes.PATIENCE, "the end of criu dump").code


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


def blocks_all(pid):
    """Returns true if a process blocks all signals that it can block."""
    status = processes.status(pid)
    every = 2**64 - 1 - (1 << signal.SIGKILL - 1) - (1 << signal.SIGSTOP - 1)
    return bool(status) and int(status["SigBlk"], 16) == every


def processes_of(binary):
    """Returns the processes that execute a program."""
    found = []
    binary = os.path.realpath(binary)
    for pid in processes.pids():
        try:
            if os.readlink(f"/proc/{pid}/exe") == binary:
                found.append(pid)
        except OSError:
            pass
    return found


class InGroup:
    """A criu whose processes are in a KilledGroup. The images of its dumps therefore tell the cgroup of the tree, which a
    restore enters at once."""

    def __init__(self, ours, group):
        self.ours = ours
        self.group = group

    def dump(self, root, images, options):
        """Runs criu dump of the tree of `root`."""
        ours = copy.copy(self.ours)
        ours.start = lambda *arguments: self.ours.start(*arguments, before_exec=self.group.enter)
        return ours.dump(root, images, options)


class KilledRestores:
    """Restores of a tree that are killed at system calls, and the judgement of the rest."""

    codes = (0, -signal.SIGKILL)  # exit codes of a killed criu

    def __init__(self, subject, task, everyone=False):
        """everyone: all processes of criu are killed, not only the first one."""
        self.subject = subject
        self.everyone = everyone
        self.random = random.Random(task["seed"])
        self.known = {1, *subject.others, *(pid for pid in processes.pids() if pid not in processes.tree(subject.root))}
        self.network = task["network"]
        self.blocks_all = blocks_all(subject.root)
        self.turns = 0
        self.dump()
        images = subject.images("whole")
        self.before = (subject.list_files(), outside(self.network))
        self.counts, code = self.trace(images, None)
        if code != 0:
            raise Failed(f"a traced restore ended with {code} ({images})")
        self.find_root()
        self.require_restored()
        subject.warns = None  # the restored tree lacks what a dump warns about
        subject.ignore = masks_of_stopped(subject)
        self.dump()

    def dump_options(self):
        """Returns options of dumps, in addition to the program's."""
        return []

    def restore_options(self):
        """Returns options of restores, in addition to the program's."""
        return []

    def require_restored(self):
        """Requires the first restored tree to be unchanged."""
        self.subject.require_unchanged("after a restore")

    def dump(self):
        """Dumps the tree, and stores what a killed restore must leave of the files and mounts."""
        self.turns += 1
        self.images = self.subject.images(f"images-{self.turns}")
        if self.everyone:
            with KilledGroup(self.subject) as group:
                self.subject.dump(InGroup(self.subject.ours, group), self.images, self.dump_options())
        else:
            self.subject.dump(self.subject.ours, self.images, self.dump_options())
        self.before = (self.subject.list_files(), outside(self.network))

    def trace(self, log, point):
        """Restores the tree, and kills criu at a point. Returns its Counts and exit code."""
        subject = self.subject
        subject.init.ended.pop(subject.root, None)
        options = ["-d", *subject.restore_options, *self.restore_options()]
        if subject.own_users:
            os.chmod(self.images, 0o700)  # users of the namespace must not read images
        name = f"restore-{os.path.basename(log)}.log"
        if not self.everyone:
            pid = subject.ours.start("restore", self.images, name, options, before_exec=call_kill.stop_self)
            return call_kill.CallKill(subject.init, pid, point, lambda: os.kill(pid, signal.SIGKILL)).finish(processes.PATIENCE)
        with KilledGroup(subject) as group:
            if not group.path:
                raise Skipped("the kernel has no cgroup.kill")

            def begin():
                group.enter()
                call_kill.stop_self()

            pid = subject.ours.start("restore", self.images, name, options, before_exec=begin)
            ended = call_kill.CallKill(subject.init, pid, point, group.kill_now).finish(processes.PATIENCE)
            if point is None and group.contains_any():
                raise Skipped("criu leaves the tree in its own cgroup")
            return ended

    def point(self):
        """Draws a moment."""
        return self.counts.draw(self.random)

    def living(self):
        """Returns the orphans and children of this process that the restore has left."""
        return [pid for pid in processes.pids() if pid not in self.known
                and (processes.status(pid) or {}).get("PPid") == "1"]

    def find_root(self):
        """Finds the root of the restored tree, whose pid the test doesn't know in a private pid namespace."""
        if self.subject.own_pids and (roots := self.living()):
            self.subject.root = roots[0]

    def find_daemons(self):
        """Finds processes of criu that a restored tree needs."""

    def turn(self):
        """Kills one restore. The tree must then be whole, or must be gone, so that the images can be restored."""
        subject = self.subject
        self.turns += 1
        point = self.point()
        _, code = self.trace(f"killed-{self.turns}", point)
        when = f"after SIGKILL of criu at {point} of restore-killed-{self.turns} of {self.images}"
        if code not in self.codes:
            raise Failed(f"{when}: criu ended with {code}")
        gone = self.is_gone()
        # Runs after the last process of the restore has ended: these processes also hold the lock of the journal.
        subject.require_success(subject.ours.run("rescue", subject.images("rescue"), "rescue.log"))
        if gone:
            self.require_clean(when)
            return
        self.find_root()
        subject.require_running(when)
        subject.require_unchanged(when, leftovers=may_keep_memory(subject))
        self.dump()

    def is_gone(self):
        """Waits until the killed restore has left nothing, or the dumped tree. Returns True for nothing."""
        subject = self.subject
        deadline = time.monotonic() + 10
        while True:
            subject.init.reap()
            if self.known.issuperset(processes.pids()):
                return True
            self.find_root()
            # A restored tree may need a moment to get back to sleep; require_unchanged() waits longer and says more.
            # If the kill came before the commit, other processes of criu end a complete tree, or the tree's own
            # stand-by, which blocks all signals. Some programs ignore all differences.
            settled = not processes_of(subject.ours.binary) and (self.blocks_all or not blocks_all(subject.root))
            if time.monotonic() > deadline or (settled and not is_ending(subject) and not procstate.differences(
                    subject.state, procstate.picture(subject.root), subject.ignore, True)):
                return False
            subject.init.pause(0.01)

    def require_clean(self, when):
        """Requires that nothing of a killed restore is left: no file, no mount, no table of nftables. A restore removes
        socket files of the dumped processes, so such a file may be missing."""
        files, rest = self.subject.list_files(), outside(self.network)
        left, missing = files - self.before[0], {entry for entry in self.before[0] - files if not stat.S_ISSOCK(entry[1])}
        if left or missing:
            raise Failed(f"{when}: files are left: {sorted(left)}, or missing: {sorted(missing)}")
        if rest != self.before[1]:
            raise Failed(f"{when}: left or missing: {sorted(rest ^ self.before[1])}")


def outside(network):
    """Returns the mounts and the System V shared memory that the init of the test sees, and the nftables tables if its
    network is private."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as mounts:
        found = {" ".join(line.split()[2:6]) for line in mounts}
    with open("/proc/sysvipc/shm", encoding="ascii") as segments:
        found |= {f"System V shared memory {line.split()[1]}" for line in segments}
    if network:
        found |= {f"TCP connection {fields[1]} {fields[2]} that sends a FIN" for fields in connections()
                  if fields[3] == "04" and fields[9] == "0"}
    if network and (nft := shutil.which("nft")):
        found |= set(subprocess.run([nft, "list", "tables"], capture_output=True, text=True, check=False).stdout.splitlines())
    return found


def connections():
    """Returns the fields of /proc/net/tcp and tcp6 of each TCP socket. In state 04 (FIN_WAIT1) with inode 0, the kernel still
    sends the data and the FIN of a closed socket."""
    found = []
    for name in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(name, encoding="ascii") as file:
            found += [line.split() for line in file.readlines()[1:]]
    return found


def restore_killed(subject, task):
    """Kills restores at system calls. The tree must run as dumped, or nothing of it may be left, and a restore works."""
    judge(subject, task, KilledRestores(subject, task))


def restore_all_killed(subject, task):
    """Kills all processes of restores at system calls, also restored processes that criu hasn't moved to their cgroup yet."""
    judge(subject, task, KilledRestores(subject, task, everyone=True))


def judge(subject, task, killed):
    """Makes the kills of a KilledRestores, and then restores the tree."""
    for _ in range(task["turns"]):
        killed.turn()
    subject.restore_options = [*subject.restore_options, *killed.restore_options()]
    subject.require_success(subject.try_restore(subject.ours, killed.images))
    killed.find_daemons()
    subject.require_unchanged("after the last restore", leftovers=True)
    subject.check()


def kill_at_call(subject, command, images, options, point):
    """Kills all processes of a dump or pre-dump at a system call of its working process. Without a point, kills nothing.
    Returns the Counts and exit code of criu."""
    with KilledGroup(subject) as group:
        def begin():
            group.enter()
            call_kill.stop_self()

        pid = subject.ours.start(command, images, f"{command}.log", ["-t", str(subject.root), *options],
                                 before_exec=begin)
        trace = call_kill.CallKill(subject.init, pid, point, group.kill_now, follows=True)
        counts, code = trace.finish(processes.PATIENCE)
    if point is None and code != 0:
        raise Failed(f"a traced {command} ended with {code} ({images})")
    return counts, code


def dump_killed(subject, task):
    """Kills dumps at system calls. The tree must continue unchanged."""
    kill_dumps(subject, task, [])


def kill_dumps(subject, task, more):
    """Kills dumps with more options at system calls."""
    source = random.Random(task["seed"])
    options = ["--leave-running", *subject.dump_options, *more]
    whole, _ = kill_at_call(subject, "dump", subject.images("whole"), options, None)
    subject.ignore = masks_of_stopped(subject)
    for turn in range(task["turns"]):
        images = subject.images(f"killed-{turn}")
        point = whole.draw(source)
        kill_at_call(subject, "dump", images, options, point)
        when = f"after SIGKILL of all of criu at {point} of {images}"
        require_rescued(subject, when)
    finish(subject)


def background_killed(subject, task):
    """Kills dumps in the background at system calls. Each process has enough memory for a memory snapshot."""
    kill_dumps(subject, task, ["--background"])


def background_all_killed(subject, task):
    """Kills all processes of dumps in the background at random moments."""
    all_killed(subject, task, ["--background"])


def pre_dump_killed(subject, task):
    """Kills pre-dumps at system calls of the working process. The tree must continue unchanged. Later pre-dumps and a dump
    can use the directories of complete pre-dumps as parents."""
    source = random.Random(task["seed"])
    parent, whole = [], None
    subject.ignore = masks_of_stopped(subject)
    for turn in range(task["turns"] + 1):
        images = subject.images(f"pre-{turn}")
        point = whole.draw(source) if whole else None
        counts, code = kill_at_call(subject, "pre-dump", images, parent, point)
        when = f"after SIGKILL of all of criu at {point} of {images}"
        whole = whole or counts
        require_rescued(subject, when)
        if code == 0:
            parent = ["--prev-images-dir", f"../pre-{turn}"]
    finish(subject, ["--track-mem", *parent])


SCENARIOS = [
    modes.Mode("all-killed", all_killed, scenario=True, beyond_42=True),
    modes.Mode("dump-killed", dump_killed, scenario=True, beyond_42=True),
    modes.Mode("background-killed", background_killed, scenario=True, beyond_42=True, like="dump-killed"),
    modes.Mode("background-all-killed", background_all_killed, scenario=True, beyond_42=True, like="all-killed"),
    modes.Mode("pre-dump-killed", pre_dump_killed, scenario=True, beyond_42=True),
    modes.Mode("restore-killed", restore_killed, scenario=True, beyond_42=True),
    modes.Mode("restore-all-killed", restore_all_killed, scenario=True, beyond_42=True),
]
