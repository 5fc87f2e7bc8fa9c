# SPDX-License-Identifier: GPL-2.0-only
"""Modes in which a process with fewer privileges attacks criu while it works. Programs ask for these modes."""

import os
import re
import shutil
import signal
import socket
import sys
import tarfile

import increments
import modes
from harness import criu as criu_runs
from harness import processes, rpc
from subject import Failed

# Runs as the user of the tree, outside of it. For each process it tries to open the memory or to copy a descriptor. For
# each success it prints the process, and whether the process is free, still has criu's control page (parked), or is
# traced for 10 s more. It also prints the processes that had capabilities at that moment.
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

def traced(pid):
    return fields(pid).get("TracerPid", "0") != "0"

def maps(pid):
    try:
        with open(f"/proc/{pid}/maps") as file:
            return file.read()
    except OSError:
        return ""

print("begins", flush=True)
left, tries = set(pids), 0
while left:
    for pid in list(left):
        tries += 1
        what = opens(pid)
        if not what:
            continue
        root = [other for other in pids if int(fields(other).get("CapEff", "0"), 16) != 0]
        parked = "criu-restore-control" in maps(pid)
        # After the commit, criu sets registers and detaches. On a busy machine, this may take long.
        end = time.monotonic() + 10
        while traced(pid) and time.monotonic() < end:
            time.sleep(0.01)
        state = "parked" if parked else "traced" if traced(pid) else "free"
        print(f"{pid} {what} {state} {','.join(map(str, root)) or '-'}", flush=True)
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
    early = [" ".join(line) for line in lines if line[-1] != "-" or line[-2] != "free"]
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


# Runs as another user. It takes the abstract name by which criu once found the WP tracker daemon of the tree (second
# argument), and fills the queue of its connections.
TAKER = r"""
import os, socket, sys, time
user, root = map(int, sys.argv[1:])
with open(f"/proc/{root}/stat") as stat:
    start = stat.read().rpartition(")")[2].split()[19]
name = chr(0) + f"criu-tracking-{root}-{start}-{os.stat('/proc/self/ns/pid').st_ino}"
os.setgroups([]); os.setresgid(user, user, user); os.setresuid(user, user, user)
server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server.bind(name)
server.listen(0)
held = []
try:
    while True:
        held.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        held[-1].setblocking(False)
        held[-1].connect(name)
except BlockingIOError:
    print("taken", flush=True)
time.sleep(1000)
"""


def fill_queue(subject):
    """Stops the WP tracker daemon of the tree and fills the queue of its connections. Returns its pid and the
    connections."""
    folder = "/run/criu/daemons"
    if os.stat(folder).st_mode & 0o077:
        raise Failed(f"other users may enter {folder}")
    name, = (name for name in os.listdir(folder) if name.startswith(f"tracking-{subject.root}-")
             and name.endswith(f"-{os.stat('/proc/self/ns/pid').st_ino}"))
    keeper, = (pid for pid in processes.pids() if "tracks the memory" in (processes.text(f"/proc/{pid}/cmdline") or ""))
    os.kill(keeper, signal.SIGSTOP)
    held = []
    try:
        while True:
            held.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            held[-1].setblocking(False)
            held[-1].connect(os.path.join(folder, name, "socket"))
    except BlockingIOError:
        return keeper, held


def pre_dump(subject, name, options=()):
    """Makes a pre-dump, which must succeed. """
    run = subject.ours.run("pre-dump", subject.images(name), "pre-dump.log", ["-t", str(subject.root), *options])
    subject.require_success(run)


def names_taken(subject, _task):
    """Requires that no user can keep a pre-dump waiting for a daemon, and that such a wait ends after --timeout and at
    SIGTERM."""
    output = os.path.join(subject.work, "taker")
    taker = subject.init.start([sys.executable, "-c", TAKER, "12345", str(subject.root)], "/", output)
    subject.init.until(lambda: "taken" in (processes.text(output) or ""), processes.PATIENCE, "the names to be taken")
    pre_dump(subject, "first")
    pre_dump(subject, "second", ["--prev-images-dir", "../first"])
    if not os.path.islink(os.path.join(subject.images("second"), "parent")):
        raise Failed("the writes between two pre-dumps weren't tracked")
    os.kill(taker, signal.SIGKILL)
    subject.init.wait(taker, processes.PATIENCE, "the end of the taker")
    keeper, held = fill_queue(subject)
    # The stopped daemon still tracks the memory, so the pre-dump can't go on without it.
    limited = subject.ours.run("pre-dump", subject.images("limited"), "pre-dump.log", ["-t", str(subject.root), "--timeout", "1"])
    if limited.code != 1 or "accepts no connection" not in (processes.text(limited.log) or ""):
        raise Failed(f"a pre-dump should fail if the WP tracker daemon accepts no connection: {limited.describe()}")
    images = subject.images("ended")
    waiting = subject.ours.start("pre-dump", images, "pre-dump.log", ["-t", str(subject.root), "--timeout", "1000"])
    subject.init.until(lambda: "Finding the daemon" in (processes.text(os.path.join(images, "pre-dump.log")) or ""), processes.PATIENCE, "the wait")
    os.kill(waiting, signal.SIGTERM)
    ended = subject.init.wait(waiting, processes.PATIENCE, "the end of the pre-dump")
    if ended.code != 1:
        raise Failed(f"a pre-dump that waits should fail at SIGTERM: {ended.code}")
    subject.require_running("after pre-dumps that found no daemon")
    for connection in held:
        connection.close()
    os.kill(keeper, signal.SIGKILL)
    subject.init.until(lambda: keeper not in processes.pids(), processes.PATIENCE, "the end of the daemon")
    subject.dump(subject.ours, "images")
    subject.restore(subject.ours, "images")
    subject.check()


def require_over_limit(subject, option, text, images=None):
    """Requires a restore to be refused because of a limit, and to create nothing."""
    run = subject.ours.restore(images or subject.images("images"), [*subject.restore_options, *option], "limited.log")
    lines = criu_runs.error_lines(run.log)
    if run.code == 0 or not any(re.search(text, line) for line in lines):
        raise Failed(f"a restore with {' '.join(option)} should be refused with \"{text}\": {run.describe()}")
    subject.require_nothing_left("after a restore that a limit refused")
    if any("Stage: birth" in line for line in (processes.text(run.log) or "").splitlines()):
        raise Failed("the restore had begun to create processes")


def add_descriptors(path, count):
    """Adds descriptors to an image of a descriptor table. All refer to the file of its first descriptor."""
    with open(path, "rb") as file:
        magics, records = increments.read_records(file.read())
    numbers = increments.decode(records[0])
    with open(path, "ab") as file:
        for number in range(count):
            fields = {**numbers, 4: 1000 + number}
            record = b"".join(rpc.varint(field << 3) + rpc.varint(value) for field, value in sorted(fields.items()))
            file.write(len(record).to_bytes(4, "little") + record)


def limited(subject, _task):
    """Requires limits of a restore to refuse images before criu creates anything."""
    count = len(subject.state)
    subject.dump(subject.ours, "images")
    require_over_limit(subject, ["--max-processes", str(count - 1)], f"ask for {count} processes and threads, but --max-processes allows {count - 1}")
    require_over_limit(subject, ["--max-files", "2"], "descriptors, but --max-files allows 2")
    require_over_limit(subject, ["--max-memory", "64K"], "bytes of memory and files, but --max-memory allows 65536")
    explained = subject.ours.run("explain", subject.images("images"), "explain.log", ["--max-processes", "1"])
    if explained.code == 0 or "--max-processes allows 1" not in (processes.text(explained.log + ".output") or "") + (processes.text(explained.log) or ""):
        raise Failed("criu explain doesn't find an obstacle that --max-processes makes")
    images = subject.images("images")
    hostile = subject.images("hostile")
    shutil.copytree(images, hostile)
    table = next(name for name in sorted(os.listdir(hostile)) if name.startswith("fdinfo-"))
    add_descriptors(os.path.join(hostile, table), 2000)
    run = subject.ours.restore(hostile, [*subject.restore_options, "--max-files", "2000"])
    if run.code == 0 or not any("descriptors, but --max-files allows 2000" in line for line in criu_runs.error_lines(run.log)):
        raise Failed(f"images with many descriptors should be refused: {run.describe()}")
    subject.require_nothing_left("after a restore of images with many descriptors")
    subject.restore_options = [*subject.restore_options, "--max-processes", str(count), "--max-memory", "1G", "--max-files", "0"]
    subject.restore(subject.ours, "images")
    subject.check()


def fill_archive(path, names, size):
    """Replaces an archive of a tmpfs by one with other files, each of `size` zero bytes."""
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name in names:
            entry = tarfile.TarInfo(name)
            entry.size = size
            with open("/dev/zero", "rb") as zeros:
                archive.addfile(entry, zeros)


def limited_content(subject, _task):
    """Requires --max-memory and --max-files to count deleted files and files of a tmpfs."""
    subject.dump(subject.ours, "images")
    whole = subject.images("images")
    memory = ["--max-memory", "16M"]
    archives = [name for name in sorted(os.listdir(whole)) if name.startswith("tmpfs-dev-")]
    if archives:
        hostile = subject.images("hostile")
        shutil.copytree(whole, hostile)
        fill_archive(os.path.join(hostile, archives[0]), ["large"], 32 << 20)
        require_over_limit(subject, memory, "bytes of memory and files, but --max-memory allows", hostile)
        fill_archive(os.path.join(hostile, archives[0]), [f"file-{number}" for number in range(400)], 0)
        require_over_limit(subject, ["--max-files", "300"], "files, but --max-files allows 300", hostile)
        fill_archive(os.path.join(hostile, archives[0]), [f"file-{number}" for number in range(5)], 4 << 20)
        require_over_limit(subject, memory, "bytes of memory and files, but --max-memory allows", hostile)
    else:
        require_over_limit(subject, memory, "bytes of memory and files, but --max-memory allows")
    subject.restore_options = [*subject.restore_options, "--max-memory", "256M", "--max-files", "300"]
    subject.restore(subject.ours, "images")
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
    modes.Mode("limited", limited, scenario=True, beyond_42=True),
    modes.Mode("limited-content", limited_content, scenario=True, beyond_42=True),
    modes.Mode("names-taken", names_taken, scenario=True, beyond_42=True),
    modes.Mode("attacked", attacked, scenario=True, beyond_42=True),
]
