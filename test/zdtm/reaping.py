# SPDX-License-Identifier: GPL-2.0-only
"""Modes in which processes outside of the tree don't reap ended ones."""

import os
import signal

from harness import processes
import modes
from subject import Failed


def init_reaps_nobody(subject, _task):
    """Requires a dump to end its tree, nested pid namespaces included, without help of the init outside. This init,
    which gets the orphans, reaps only its own children."""
    with subject.init.adopting_nobody():
        run = subject.ours.dump(subject.root, subject.images("images"), subject.dump_options)
        subject.require_success(run)
        held_up = [pid for pid in processes.pids() if not _has_ended(pid) and pid != 1]
        if held_up:
            raise Failed(f"after the dump processes are left that haven't ended: {held_up}")
    _require_warning(run, False)
    subject.require_dumped()
    subject.await_free_ids()
    subject.restore(subject.ours, "images")
    subject.check()


VISIT = """#!/bin/sh
[ "$CRTOOLS_SCRIPT_ACTION" = post-dump ] || exit 0
/usr/bin/nsenter -t {first} -p /bin/sleep 1000 < /dev/null > /dev/null 2>&1 &
until [ -n "$(cat /proc/$!/task/$!/children)" ]; do
    sleep 0.01
done
kill -STOP $!
echo $! > {note}
"""


def visitor_unreaped(subject, _task):
    """A process from outside enters a pid namespace of the tree after the dump. It ends with the namespace, and its
    parent doesn't reap it. The dump must not wait forever, and must report what it has left. After the end of the
    parent nothing may be left."""
    first = _first_of_nested(subject)
    script = os.path.join(subject.work, "visit")
    note = os.path.join(subject.work, "visitor")
    with open(script, "w", encoding="ascii") as file:
        file.write(VISIT.format(first=first, note=note))
    os.chmod(script, 0o700)
    run = subject.ours.dump(subject.root, subject.images("images"), [*subject.dump_options, "--action-script", script])
    subject.require_success(run)
    _require_warning(run, True)
    parent = int(processes.text(note))
    if not all(_has_ended(pid) for pid in processes.tree(parent)[1:]):
        raise Failed("the process that was put into the namespace lives on")
    if _has_ended(first):
        raise Failed("the first process of the namespace has ended, so nothing has held it up")
    os.kill(parent, signal.SIGKILL)
    subject.init.wait(parent, processes.PATIENCE)
    subject.require_dumped()
    subject.await_free_ids()
    subject.restore(subject.ours, "images")
    subject.check()


def _require_warning(run, wanted):
    with open(run.log, encoding="utf-8", errors="replace") as file:
        found = [line.strip() for line in file if "first of a pid namespace, and was killed" in line or "can't be made to wait" in line]
    if bool(found) != wanted:
        raise Failed(f"the log says {found or 'nothing'} of the end of a pid namespace")


def _first_of_nested(subject):
    for pid in processes.tree(subject.root):
        if processes.inside(pid) == 1 and processes.depth(pid) > processes.depth(subject.root):
            return pid
    raise Failed("no process of the tree is the first one of a nested pid namespace")


def _has_ended(pid):
    return (processes.status(pid) or {}).get("State", "Z")[:1] in ("Z", "X")


SCENARIOS = [
    modes.Mode("init-reaps-nobody", init_reaps_nobody, scenario=True, beyond_42=True),
    modes.Mode("visitor-unreaped", visitor_unreaped, scenario=True, beyond_42=True),
]
