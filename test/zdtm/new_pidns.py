# SPDX-License-Identifier: GPL-2.0-only
"""Restores in a new pid namespace (--new-pidns), whose first process is an init of criu."""

import os
import signal

from harness import processes
from subject import Failed
import clones
import modes

MANY = 5
RIGHT_TO_SIGNAL = 1 << 5  # CAP_KILL
INIT_KIB = 256  # memory limit of the init


def restore(subject, name, *options):
    """Restores with --new-pidns, and finds the root of the tree and the init."""
    own_pids, subject.own_pids = subject.own_pids, True  # the pid file has the root's pid
    before, subject.restore_options = subject.restore_options, [*subject.restore_options, "--new-pidns", *options]
    run = subject.try_restore(subject.ours, subject.images(name))
    subject.own_pids, subject.restore_options = own_pids, before
    subject.require_success(run)
    subject.parent = int(processes.status(subject.root)["PPid"])
    subject.ignore = [*subject.ignore, f"thread {processes.inside(subject.root)} PPid"]
    require_init(subject)


def require_init(subject):
    """Requires the namespace's init to be small and to hold nothing. The tree must see the init, and its own pids as
    in the images."""
    parent = subject.parent
    if processes.inside(parent) != 1:
        raise Failed(f"the root's parent is process {processes.inside(parent)} of its namespace")
    subject.init.until(lambda: not os.listdir(f"/proc/{parent}/fd"), processes.PATIENCE, "the init to close its channel")
    if int(processes.status(parent)["VmRSS"].split()[0]) > INIT_KIB:
        raise Failed(f"the init takes {processes.status(parent)['VmRSS']}")
    rights = {name: processes.status(parent)[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")}
    if any(int(value, 16) & ~RIGHT_TO_SIGNAL for value in rights.values()):
        raise Failed(f"the init has rights: {rights}")
    if processes.text(f"/proc/{parent}/cmdline") != "criu: init of a restored tree\0":
        raise Failed(f"the init is called {processes.text(f'/proc/{parent}/cmdline')!r}")
    seen = {int(name) for name in os.listdir(f"/proc/{subject.root}/root/proc") if name.isdigit()}
    there = {1, *(processes.inside(pid) for pid in processes.tree(subject.root))}
    if seen != there:
        raise Failed(f"/proc of the tree shows {sorted(seen)} instead of {sorted(there)}")


def new_pidns(subject, _task):
    """Restores the tree in a private pid namespace while its pids are in use outside."""
    subject.dump(subject.ours, "images")
    restore(subject, "images")
    subject.require_unchanged("after the restore")
    subject.check()


def new_pidns_again(subject, _task):
    """Dumps such a tree twice from outside of its namespace. The images must be like those of a tree without a
    namespace: they can be restored in one, and without."""
    original = subject.root
    subject.dump(subject.ours, "images")
    for name in ("images-2", "images-3"):
        restore(subject, "images" if name == "images-2" else "images-2")
        subject.require_unchanged("after the restore")
        subject.dump(subject.ours, name)
    subject.root = original
    subject.restore(subject.ours, "images-3")
    subject.check()


def new_pidns_many(subject, _task):
    """Restores several trees of the same images beside the original, with shared memory. Each must end by itself
    together with its namespace, and one by a signal to its init."""
    subject.dump(subject.ours, "images", ["--leave-running"])
    original = subject.root
    made = []
    for _ in range(MANY):
        restore(subject, "images", "--map-pages")
        made.append((subject.root, subject.parent))
    if len(clones.keepers()) != 2:
        raise Failed(f"one shared-pages daemon of two processes was expected: {clones.keepers()}")
    if len({os.stat(f"/proc/{root}/ns/pid").st_ino for root, _ in made}) != MANY:
        raise Failed("the trees aren't in namespaces of their own")
    (killed, its_init), (asked, passing), *others = made
    os.kill(killed, signal.SIGKILL)
    code = subject.init.wait(its_init, processes.PATIENCE, "the end of the init of a killed tree").code
    if code != 128 + signal.SIGKILL:
        raise Failed(f"the init of a killed tree ended with {code}")
    os.kill(passing, signal.SIGTERM)
    for root, init in [(asked, passing), *others]:
        if init != passing:
            os.kill(root, signal.SIGTERM)
        code = subject.init.wait(init, processes.PATIENCE, "the check of a clone").code
        if code != 0:
            raise Failed(f"the init of process {root} ended with {code}")
    subject.root, subject.parent = original, None
    subject.check()


def new_pidns_failed(subject, _task):
    """Requires a failed restore to leave no process and no namespace, also if criu is killed."""
    subject.dump(subject.ours, "images")
    hidden = os.path.join(subject.work, "hidden")
    os.rename(subject.folder, hidden)
    for options in ([], ["--map-pages"]):
        run = subject.ours.restore(subject.images("images"), [*subject.restore_options, "--new-pidns", *options])
        if run.code != 1:
            raise Failed(f"a restore without the program's folder ended with {run.code}")
        subject.require_nothing_left("after a failed restore")
    os.rename(hidden, subject.folder)
    script = os.path.join(subject.work, "kill.sh")
    with open(script, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\n[ \"$CRTOOLS_SCRIPT_ACTION\" != post-restore ] || kill -KILL $PPID\n")
    os.chmod(script, 0o755)
    run = subject.ours.restore(subject.images("images"), [*subject.restore_options, "--new-pidns", "--action-script",
                                                          script])
    if run.code != -signal.SIGKILL:
        raise Failed(f"criu wasn't killed by its script but ended with {run.code}")
    subject.require_nothing_left("after criu was killed")
    restore(subject, "images")
    subject.check()


MODES = [
    modes.Mode("new-pidns", new_pidns, scenario=True, beyond_42=True),
    modes.Mode("new-pidns-again", new_pidns_again, scenario=True, beyond_42=True),
    modes.Mode("new-pidns-many", new_pidns_many, scenario=True, beyond_42=True),
    modes.Mode("new-pidns-failed", new_pidns_failed, scenario=True, beyond_42=True),
]
