# SPDX-License-Identifier: GPL-2.0-only
"""State of a tree in /proc: a check that doesn't depend on the program.

The state of every process is read before the dump and after the restore. Both must be equal, except for values that
depend on time, host or ids of the kernel.
"""

import os
import re

from . import processes

# Fields of /proc/PID/status, per thread.
STATUS = ["Name", "Umask", "State", "PPid", "Uid", "Gid", "Groups", "NSpid", "NSpgid", "NSsid", "Threads", "SigPnd",
          "ShdPnd", "SigBlk", "SigIgn", "SigCgt", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs",
          "Seccomp", "Seccomp_filters", "NStgid", "TracerPid", "Cpus_allowed_list", "THP_enabled"]

# Files of /proc/PID/task/TID, per thread.
THREAD_FILES = ["comm", "personality"]
THREAD_LINKS = ["cwd", "root"]

# Fields that are pids.
PIDS = ["PPid", "NStgid", "NSpid", "NSpgid", "NSsid"]

# Fields of /proc/PID/stat (numbers of proc_pid_stat(5)).
STAT = {7: "tty_nr", 8: "tpgid", 26: "startcode", 27: "endcode", 28: "startstack", 38: "exit_signal", 45: "start_data", 46: "end_data",
        47: "start_brk", 48: "arg_start", 49: "arg_end", 50: "env_start", 51: "env_end", 52: "exit_code"}

FILES = ["comm", "cmdline", "environ", "limits", "personality", "oom_score_adj", "loginuid", "timerslack_ns"]
LINKS = ["exe", "cwd", "root"]
FDINFO = {"pos", "flags", "lock", "eventfd-count", "eventfd-semaphore", "sigmask"}

# Fields that are compared for a zombie.
ZOMBIE = {"Name", "State", "PPid", "NSpid", "NSpgid", "NSsid"}

# VmFlags that depend on a mapping's history: soft-dirty; accounted, set by a first mprotect(PROT_WRITE); mapped by
# execve(2) (before Linux 5.15); possible guard pages, which the kernel also shows for a merged neighbour.
TRANSIENT_FLAGS = {"sd", "ac", "dw", "gu"}

# O_DIRECTORY, O_NOFOLLOW and the private bit of O_TMPFILE: effective only when a file is opened.
OPENING_FLAGS = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_TMPFILE

# sigwaitinfo(SIGTERM), in which the test programs sleep, unblocks the signal during the sleep.
TRIGGER_BIT = 1 << 14

# Mappings of the kernel with a new address per boot. Tests that call into them check them.
KERNEL_MAPS = ("[vdso]", "[vvar]", "[vvar_vclock]", "[vsyscall]")

MAP = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) (....) ([0-9a-f]+) (\S+) (\d+) *(.*)$")


class Pids:
    """Pids and tids of a tree in the pid namespace of its root."""

    def __init__(self, root):
        self.processes = processes.tree(root)
        self.level = processes.depth(root)
        self.own = self.level > 0
        self.names = {}
        if self.own:
            for pid in self.processes:
                for tid in processes.threads(pid):
                    self.names[tid] = processes.inside(pid, tid, self.level)

    def inside(self, pid):
        """Returns the inner pid; None outside of the namespace, or if the process doesn't exist."""
        return self.names.get(pid) if self.own else pid

    def text(self, number):
        """Returns the inner pid for a number in a text, which may not be a pid."""
        name = self.inside(int(number)) if number and number.isdigit() else None
        return number if name is None else str(name)


def picture(root):
    """Returns {pid: {what: value}} of the tree of `root`. Pids are those of the pid namespace of its processes."""
    names = {}
    pids = Pids(root)
    return {pids.inside(pid): _process(pid, names, pids) for pid in pids.processes if pids.inside(pid) is not None}


def differences(before, after, ignored=(), new_maps=False):
    """Returns the changes between two pictures, as lines.

    `ignored` has regular expressions for fields that may change, and "tree" if processes may start and end. With
    new_maps, mappings may have been added.
    """
    if "tree" in ignored:
        ignored = [*ignored, r"thread \d+ children"]
    lines = []
    for pid in sorted(before.keys() | after.keys()):
        if (pid not in before or pid not in after) and "tree" in ignored:
            continue
        if pid not in after:
            lines.append(f"pid {pid} is missing")
        elif pid not in before:
            lines.append(f"pid {pid} ({after[pid].get('comm')}) is new")
        else:
            old, new = before[pid], after[pid]
            for what in sorted(old.keys() | new.keys()):
                if old.get(what) == new.get(what) or any(re.fullmatch(name, what) for name in ignored):
                    continue
                if not (new_maps and what.startswith("map ") and (what not in old or _is_within_another(what, old[what], new))):
                    lines.append(f"pid {pid}: {what}: was {old.get(what)!r}, is {new.get(what)!r}")
    return lines


def _is_within_another(what, value, fields):
    """Returns whether a mapping is a part of a larger one in `fields`. The kernel merges an added mapping with its
    neighbours.
    """
    begin = int(what.split()[1].rstrip(":"), 16)
    end, _, kind = value.partition(" ")
    for name, other in fields.items():
        if name.startswith("map "):
            others_end, _, others_kind = other.partition(" ")
            if (kind == others_kind and int(name.split()[1].rstrip(":"), 16) <= begin
                    and int(others_end.lstrip("-"), 16) >= int(end.lstrip("-"), 16)):
                return True
    return False


def _process(pid, names, pids):
    fields = {}
    actor = _living_thread(pid)
    zombie = actor is None
    stat = (processes.text(f"/proc/{actor or pid}/stat") or "").rpartition(")")[2].split()
    if actor != pid:
        own = (processes.text(f"/proc/{pid}/task/{pid}/stat") or "").split()
        fields["main thread's exit_code"] = own[-1] if own else None
    for number, name in STAT.items():
        # For a stopped task this field is the stop signal, until the parent has waited for it.
        if zombie != (name == "exit_code"):
            continue
        value = stat[number - 3] if len(stat) > number - 3 else None
        fields[f"stat {name}"] = pids.text(value) if name == "tpgid" else value
    for tid in processes.threads(pid):
        status = processes.status(pid, tid) or {}
        for name in STATUS:
            if status.get("State", "Z").startswith("Z") and name not in ZOMBIE:
                continue
            value = status.get(name)
            if name == "SigBlk" and value:
                value = f"{int(value, 16) & ~TRIGGER_BIT:016x}"
            if name == "State" and value:
                # Running, sleeping and disk sleep are equal here; stopped, traced and dead differ.
                value = "runs" if value[0] in "RSD" else value
            if name in PIDS and pids.own and value:
                value = pids.text(value) if name == "PPid" else "\t".join(value.split()[pids.level:])
            fields[f"thread {pids.inside(tid)} {name}"] = value
        if not status.get("State", "Z").startswith("Z"):
            fields.update({f"thread {pids.inside(tid)} {what}": value
                           for what, value in _thread(pid, tid, names, pids).items()})
    if zombie:
        return fields
    for name in FILES:
        fields[name] = _file(actor, name)
    for name in LINKS:
        fields[name] = _link(f"/proc/{actor}/{name}", names)
    fields.update(_maps(actor))
    fields.update(_descriptors(actor, names, pids))
    fields["timers"] = _timers(actor, pids)
    return fields


def _living_thread(pid):
    """Returns the tid by which /proc shows memory and files of a process; None for a zombie.

    It isn't `pid` if the main thread has ended while other threads live.
    """
    for tid in [pid, *processes.threads(pid)]:
        if not (processes.status(pid, tid) or {}).get("State", "Z").startswith("Z"):
            return tid
    return None


def _thread(pid, tid, names, pids):
    """Returns state of a thread from /proc and the scheduler, without its status."""
    fields = {"cgroup": _cgroups(pid, tid), **_scheduling(tid)}
    children = (_file(pid, f"task/{tid}/children") or "").split()
    fields["children"] = sorted(pids.text(child) for child in children)
    for name in THREAD_FILES:
        fields[name] = _file(pid, f"task/{tid}/{name}")
    for name in THREAD_LINKS:
        fields[name] = _link(f"/proc/{pid}/task/{tid}/{name}", names)
    return fields


def _file(pid, name):
    try:
        return processes.text(f"/proc/{pid}/{name}")
    except OSError as error:
        return error.strerror


def _cgroups(pid, tid):
    """Returns groups of a thread outside of the hierarchies' roots. Other programs may create and remove hierarchies.
    """
    lines = (_file(pid, f"task/{tid}/cgroup") or "").splitlines()
    members = [line.partition(":")[2] for line in lines]
    return sorted(member for member in members if not member.endswith(":/"))


def _link(path, names):
    """Returns the target of a /proc link. Ids of pipes and similar objects become numbers in the order of their
    appearance.
    """
    try:
        target = os.readlink(path)
    except OSError as error:
        return error.strerror
    if re.fullmatch(r"\w+:\[\d+\]", target):
        kind = target.partition(":")[0]
        return names.setdefault(target, f"{kind} #{len(names)}")
    return target


def _scheduling(tid):
    """Returns the scheduling policy with the flag SCHED_RESET_ON_FORK."""
    try:
        return {"policy": os.sched_getscheduler(tid), "priority": os.sched_getparam(tid).sched_priority,
                "nice": os.getpriority(os.PRIO_PROCESS, tid), "affinity": sorted(os.sched_getaffinity(tid))}
    except OSError as error:
        return {"policy": error.strerror}


def _maps(pid):
    """Returns mappings with their flags. Neighbours that only differ in address are joined, because the kernel may
    merge them.
    """
    found = []
    for line in (processes.text(f"/proc/{pid}/smaps") or "").splitlines():
        match = MAP.match(line)
        if match:
            begin, end, rights, offset, device, _, path = match.groups()
            found.append([int(begin, 16), int(end, 16), rights, int(offset, 16), device, path, ""])
        elif line.startswith("VmFlags:"):
            found[-1][6] = " ".join(flag for flag in line.split()[1:] if flag not in TRANSIENT_FLAGS)
    merged = []
    for begin, end, rights, offset, device, path, flags in found:
        if path in KERNEL_MAPS:
            continue
        # A restore can't give shared anonymous memory its old name.
        path = re.sub(r"^socket:\[\d+\]$", "socket", path)  # the number is an id of the kernel
        path = path.replace("/memfd:/dev/zero", "/dev/zero").replace("/memfd:/anon_hugepage", "/anon_hugepage")
        if not path or path in ("[heap]", "[stack]"):
            device, offset = "", 0
        kind = (rights, device, path, flags)
        last = merged[-1] if merged else None
        if last and last[1] == begin and last[3] == kind and (not device or last[2] + (begin - last[0]) == offset):
            last[1] = end
        else:
            merged.append([begin, end, offset, kind])
    return {f"map {begin:x}": f"-{end:x} {rights} {offset:x} {path} {flags}"
            for begin, end, offset, (rights, _, path, flags) in merged}


def _descriptors(pid, names, pids):
    fields = {}
    try:
        numbers = sorted(int(name) for name in os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return fields
    for fd in numbers:
        info = processes.text(f"/proc/{pid}/fdinfo/{fd}") or ""
        kept = [_info_line(line, pids) for line in info.splitlines() if line.partition(":")[0] in FDINFO]
        # The kernel lists locks by their owners, and the order of owners isn't fixed.
        kept.sort(key=lambda line: line if line.startswith("lock:") else "")
        fields[f"fd {fd}"] = "; ".join([_link(f"/proc/{pid}/fd/{fd}", names)] + kept)
    return fields


def _info_line(line, pids):
    name, _, value = line.partition(":")
    value = value.strip()
    if name == "lock":
        words = value.split()
        # The inode of a deleted file is another one after a restore. A flock belongs to an open file description; the pid
        # is that of its last caller.
        words[4] = "any" if words[1] == "FLOCK" else words[4]
        words[5] = words[5].rpartition(":")[0]
        value = " ".join(words[1:4] + [pids.text(words[4])] + words[5:])
    if name == "flags":
        value = f"{int(value, 8) & ~OPENING_FLAGS:o}"
    return f"{name}: {value}"


def _timers(pid, pids):
    """Returns POSIX timers without kernel addresses and remaining times."""
    try:
        text = processes.text(f"/proc/{pid}/timers")
        if text and pids.own:
            text = re.sub(r"(?<=\.)\d+$", lambda match: pids.text(match[0]), text, flags=re.MULTILINE)
        # If threads create timers at the same time, the order of the list may differ from the order of ids.
        return sorted(re.split(r"^(?=ID: )", text, flags=re.MULTILINE)) if text else text
    except OSError as error:
        return error.strerror
