# SPDX-License-Identifier: GPL-2.0-only
"""Modes that compare a restored tree with its images by criu compare."""

import os
import signal

from harness import processes
from modes import Mode
from subject import Failed

# Options of a dump that criu compare doesn't have, with an argument.
ONLY_OF_DUMPS = {"--action-script"}


def comparison(subject, name):
    """Compares the tree with images. Returns the exit status of criu, and its report."""
    options = []
    words = iter(subject.dump_options)
    for word in words:
        if word in ONLY_OF_DUMPS:
            next(words)
        else:
            options.append(word)
    run = subject.ours.run("compare", subject.images(name), "compare.log", ["-t", str(subject.root), *options])
    report = processes.text(run.log + ".output") or ""
    if run.code not in (0, 1):
        raise Failed(f"{run.describe()}\n{report}")
    return run.code, report


def stopped(root):
    """Returns the processes of a tree that are stopped."""
    return [pid for pid in processes.tree(root) if (processes.status(pid) or {}).get("State", "").startswith("T")]


def compare(subject, _task):
    """Restores the tree stopped, requires it to equal its images, and lets it continue."""
    before = stopped(subject.root)
    inside = {processes.inside(pid, level=processes.depth(subject.root)) for pid in before}
    subject.dump(subject.ours, "images")
    subject.restore_options = [*subject.restore_options, "--leave-stopped"]
    subject.require_success(subject.try_restore(subject.ours, subject.images("images")))
    code, report = comparison(subject, "images")
    if code != 0:
        raise Failed(f"the restored tree differs from its images:\n{report}")
    level = processes.depth(subject.root)
    for pid in stopped(subject.root):
        if processes.inside(pid, level=level) not in inside:
            os.kill(pid, signal.SIGCONT)
    subject.require_unchanged("after the comparison")
    subject.check()


MODES = [
    Mode("compare", compare, beyond_42=True),
]
