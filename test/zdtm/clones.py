# SPDX-License-Identifier: GPL-2.0-only
"""Restores that share memory (--map-pages)."""

import os
import re
import shutil
import signal
import subprocess
import sys

from harness import criu as criu_runs
from harness import processes
from subject import Failed
import modes

CLONES = 20


def restore(subject, name):
    """Restores with --map-pages. Mappings differ from before."""
    before = subject.restore_options
    subject.restore_options = [*before, "--map-pages"]
    run = subject.try_restore(subject.ours, subject.images(name))
    subject.restore_options = before
    subject.require_success(run)
    subject.init.until(lambda: processes.tree(subject.root), processes.PATIENCE, "the clone")


def map_pages(subject, _task):
    """Requires the program to find all its memory."""
    subject.dump(subject.ours, "images")
    restore(subject, "images")
    subject.check()


def map_pages_again(subject, _task):
    """Dumps a clone. Requires complete images: they don't need the ones that the clone was restored from, and an
    ordinary restore has all memory."""
    subject.dump(subject.ours, "images")
    restore(subject, "images")
    subject.require_success(subject.ours.run("dump", subject.images("again"), "dump.log",
                                             ["-t", str(subject.root), *subject.dump_options]))
    shutil.rmtree(subject.images("images"))
    subject.await_free_ids()
    subject.restore(subject.ours, "again")
    subject.check()


def keepers():
    """Returns the pids of shared-pages daemons. The process that serves pages is last."""
    found = []
    for pid in sorted(processes.pids()):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if re.match(rb"[^ ]+: clones: (watch|supply)", file.read()):
                    found.append(pid)
        except OSError:
            pass  # the process has ended
    return found


def memory_of(pid):
    """Returns the proportional share (Pss) and the resident size (Rss) of a process in KiB."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        words = dict(line.split()[:2] for line in file.read().splitlines()[1:])
    return int(words["Pss:"]), int(words["Rss:"])


# Connects to shared-pages daemons as the same user without CAP_SYS_PTRACE.
ASK = """
import glob, socket, struct
for address in glob.glob("/run/criu/daemons/clones-*/socket"):
    link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        link.connect(address)
    except ConnectionRefusedError:
        continue
    if struct.unpack("3i", link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0] == 0:
        continue
    link.settimeout(0.5)
    try:
        print("given" if link.recv(64) else "closed")
    except TimeoutError:
        print("silence")
"""


def require_guarded():
    """Requires shared-pages daemons to give nothing to a process of the same user that may not ptrace them. Such a
    process may be root of a container."""
    run = subprocess.run(["setpriv", "--bounding-set", "-sys_ptrace", sys.executable, "-c", ASK], capture_output=True, text=True, check=False)
    if run.stdout != "silence\n":
        raise Failed(f"the shared-pages daemon, with an unauthenticated peer: {run.stdout}{run.stderr}")


def require_limited(subject):
    """Requires a restore to end after --timeout if the shared-pages daemon is stopped."""
    server = keepers()[-1]
    os.kill(server, signal.SIGSTOP)
    try:
        run = subject.ours.restore(subject.images("images"), [*subject.restore_options, "--map-pages", "--timeout", "1"], "limited.log")
        if run.code == 0 or not any("doesn't answer" in line for line in criu_runs.error_lines(run.log)):
            raise Failed(f"a restore with a stopped shared-pages daemon should fail: {run.describe()}")
    finally:
        os.kill(server, signal.SIGCONT)


def map_pages_many(subject, _task):
    """Requires many clones to use little more memory than one, and to find all their memory. When the daemon is
    killed, the clones must end."""
    subject.dump(subject.ours, "images")
    roots = []
    for _ in range(CLONES):
        restore(subject, "images")
        roots.append(subject.root)
    if len(keepers()) != 2:
        raise Failed(f"one shared-pages daemon of two processes was expected: {keepers()}")
    require_guarded()
    require_limited(subject)
    least = sum(os.path.getsize(os.path.join(subject.images("images"), file))
                for file in os.listdir(subject.images("images")) if file.startswith("pages-")) >> 10
    subject.init.until(lambda: all(memory_of(root)[1] >= least * 0.9 for root in roots), processes.PATIENCE,
                       "all pages of all clones to be mapped")
    most = max(memory_of(root)[1] for root in roots)
    shares = sum(memory_of(root)[0] for root in roots)
    if shares > most * 1.2:
        raise Failed(f"{CLONES} clones of {most} KiB have {shares} KiB in common")
    for root in roots[:2]:
        os.kill(root, signal.SIGTERM)
        ended = subject.init.wait(root, processes.PATIENCE, "the check of a clone")
        if ended.code != 0:
            raise Failed(f"a clone ended with {ended.code}: {subject.output}")
    os.kill(keepers()[-1], signal.SIGKILL)
    for root in roots[2:]:
        subject.init.until(lambda root=root: root not in processes.pids(), processes.PATIENCE, "the end of clones without their daemon")


MODES = [
    modes.Mode("map-pages", map_pages, beyond_42=True, of_memory=True),
    modes.Mode("map-pages-again", map_pages_again, scenario=True, beyond_42=True),
    modes.Mode("map-pages-many", map_pages_many, scenario=True, beyond_42=True),
]
