# SPDX-License-Identifier: GPL-2.0-only
"""Modes in which a process with fewer privileges attacks criu while it works. Programs ask for these modes."""

import os
import sys

import modes
from harness import criu as criu_runs
from harness import processes
from subject import Failed

# Runs as the user of the tree, outside of it. For each process it tries to open the memory or to copy a descriptor. For
# each success it prints the process, and whether that was traced then and 50 ms later. It also prints the processes
# that had capabilities at that moment.
SPY = r"""
import ctypes, os, sys, time
user, pids = int(sys.argv[1]), [int(word) for word in sys.argv[2:]]
os.setgroups([]); os.setresgid(user, user, user); os.setresuid(user, user, user)
libc = ctypes.CDLL(None, use_errno=True)
CAPSET = 126
if libc.syscall(CAPSET, (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()) != 0:
    sys.exit("the spy can't give up its capabilities")
PIDFD_OPEN, PIDFD_GETFD = 434, 438

def fields(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    except OSError:
        return {}

def opens(pid):
    try:
        os.close(os.open(f"/proc/{pid}/mem", os.O_RDWR))
        return "memory"
    except OSError:
        pass
    held = libc.syscall(PIDFD_OPEN, pid, 0)
    if held < 0:
        return None
    try:
        for number in range(3):
            taken = libc.syscall(PIDFD_GETFD, held, number, 0)
            if taken >= 0:
                os.close(taken)
                return f"descriptor {number}"
    finally:
        os.close(held)
    return None

print("begins", flush=True)
left, tries = set(pids), 0
while left:
    for pid in list(left):
        tries += 1
        what = opens(pid)
        if not what:
            continue
        root = [other for other in pids if int(fields(other).get("CapEff", "0"), 16) != 0]
        traced = fields(pid).get("TracerPid", "0") != "0"
        if traced:
            time.sleep(0.05)
            traced = fields(pid).get("TracerPid", "0") != "0"
        print(f"{pid} {what} {'traced' if traced else 'free'} {','.join(map(str, root)) or '-'}", flush=True)
        left.discard(pid)
print(f"ends after {tries}", flush=True)
"""


def attacked(subject, _task):
    """Requires that the tree's user can't access a process before all processes of the tree run, and can access it
    then."""

    statuses = {pid: processes.status(pid) for pid in subject.state}
    victims = [pid for pid, status in statuses.items() if int(status["CapEff"], 16) == 0]
    user = statuses[victims[0]]["Uid"].split()[0]
    subject.dump(subject.ours, "images")
    output = os.path.join(subject.work, "spy")
    spy = subject.init.start([sys.executable, "-c", SPY, user, *map(str, victims)], "/", output)
    subject.init.until(lambda: "begins" in (processes.text(output) or ""), processes.PATIENCE, "the spy's begin")
    run = subject.try_restore(subject.ours, subject.images("images"))
    subject.require_success(run)
    if subject.init.wait(spy, processes.PATIENCE, "the spy's end").code != 0:
        raise Failed(f"the spy failed, see {output}")
    with open(output, encoding="ascii") as file:
        lines = [line.split() for line in file if line[:1].isdigit()]
    if {int(line[0]) for line in lines} != set(victims):
        raise Failed(f"the spy should have come to all of {victims} in the end, see {output}")
    early = [" ".join(line) for line in lines if line[-1] != "-" or line[-2] == "traced"]
    if early:
        raise Failed("a process outside could touch processes that weren't restored yet:\n" + "\n".join(early))
    subject.require_unchanged("after the restore")
    subject.check()


def fewer_rights(subject, _task):
    """Requires a restore to fail and to leave nothing if criu can't set the credentials of the images."""
    subject.dump(subject.ours, "images")
    for confined, pattern in ((["--bounding-set", "-wake_alarm"], "bounding set"),
                              (["--no-new-privs"], "no_new_privs")):
        run = ConfinedCriu(subject.ours, ["/usr/bin/setpriv", *confined]).restore(subject.images("images"),
                                                                                 subject.restore_options)
        if run.code == 0:
            raise Failed(f"criu restore under setpriv {' '.join(confined)} succeeded")
        if not any(pattern in line for line in criu_runs.error_lines(run.log)):
            raise Failed(f"no Error line has '{pattern}': {run.describe()}")
        subject.require_nothing_left("after the failed restore")
        subject.await_free_ids()
    subject.restore(subject.ours, "images")
    subject.check()


def fewer_signals(subject, _task):
    """Where criu may not raise the limit of queued signals, a restore is refused that wants more, before it begins."""
    subject.dump(subject.ours, "images")
    starter = ["/usr/bin/prlimit", "--sigpending=100:100", "/usr/bin/setpriv", "--bounding-set", "-sys_resource"]
    run = ConfinedCriu(subject.ours, starter).restore(subject.images("images"), subject.restore_options)
    if run.code == 0:
        raise Failed(f"criu restore under {' '.join(starter)} succeeded")
    if not any("RLIMIT_SIGPENDING" in line for line in criu_runs.error_lines(run.log)):
        raise Failed(f"no Error line names the limit: {run.describe()}")
    subject.require_nothing_left("after the failed restore")
    subject.await_free_ids()
    subject.restore(subject.ours, "images")
    subject.check()


# Starts criu in a session with a key.
WITH_KEY = r"""
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
ADD_KEY, KEYCTL, JOIN_SESSION, SESSION = 248, 250, 1, -3
if libc.syscall(KEYCTL, JOIN_SESSION, None) < 0 or libc.syscall(ADD_KEY, b"user", b"zdtm-secret", b"x", 1, SESSION) < 0:
    sys.exit(f"no key could be added: {os.strerror(ctypes.get_errno())}")
os.execv(sys.argv[1], sys.argv[1:])
"""


def own_keys(subject, _task):
    """Requires that the tree doesn't get keys of criu's session keyring."""
    subject.dump(subject.ours, "images")
    subject.restore(ConfinedCriu(subject.ours, [sys.executable, "-c", WITH_KEY]), "images")
    subject.check()


class ConfinedCriu(criu_runs.Criu):
    """A criu that another program starts."""

    def __init__(self, usual, starter):
        super().__init__(usual.init, usual.binary, usual.timeout)
        self.starter = starter

    def argv(self, action, images, log, options=()):
        return [*self.starter, *super().argv(action, images, log, options)]


ATTACKS = [
    modes.Mode("own-keys", own_keys, scenario=True, beyond_42=True),
    modes.Mode("fewer-rights", fewer_rights, scenario=True, beyond_42=True),
    modes.Mode("fewer-signals", fewer_signals, scenario=True, beyond_42=True),
    modes.Mode("attacked", attacked, scenario=True, beyond_42=True),
]
