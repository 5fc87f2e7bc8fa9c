# SPDX-License-Identifier: GPL-2.0-only
"""Modes that compare a restored tree with its images by criu compare."""

import os
import re
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


def require_equal(subject, name):
    """Requires the tree to differ from images only as the program allows."""
    code, report = comparison(subject, name)
    lines = report.splitlines()
    if (code == 0) != (lines == ["The tree equals the images."]):
        raise Failed(f"criu compare ended with {code} and reported:\n{report}")
    wrong = [line for line in lines if code != 0 and not any(re.search(known, line) for known in subject.may_differ)]
    if wrong:
        raise Failed("\n".join(["the restored tree differs from its images:", *wrong]))


def stopped(root):
    """Returns the processes of a tree that are stopped."""
    return [pid for pid in processes.tree(root)
            if any((processes.status(pid, tid) or {}).get("State", "").startswith("T") for tid in processes.threads(pid))]


def compare(subject, _task):
    """Restores the tree stopped, requires it to equal its images, and lets it continue."""
    before = stopped(subject.root)
    inside = {processes.inside(pid, level=processes.depth(subject.root)) for pid in before}
    subject.dump(subject.ours, "images")
    subject.restore_options = [*subject.restore_options, "--leave-stopped"]
    subject.require_success(subject.try_restore(subject.ours, subject.images("images")))
    require_equal(subject, "images")
    level = processes.depth(subject.root)
    for pid in stopped(subject.root):
        if processes.inside(pid, level=level) not in inside:
            os.kill(pid, signal.SIGCONT)
    subject.require_unchanged("after the comparison")
    subject.check()


# Lines that criu compare must add for each change of task/changing.cpp.
CHANGES = (
    r"memory 0x[0-9a-f]+: 1 of the bytes in 1 pages .*: 0x00 in the image, 0xa5 in the tree",
    r"tc\.rlimits\.rlimits\[4\]\.cur: .* in the image, 77 in the tree",
    r"fd \d+: reg\.pos: 3 in the image, 5 in the tree",
    r"fd 40: absent in the image, present in the tree",
    r"fd \d+: present in the image, absent in the tree",
    r"tc\.blk_sigset: ",
    r"fd \d+: pipe\.flags: ",
    r"fd \d+: pipes-data: content at byte 5: the end in the image, 0x21 in the tree",
    r"fd \d+: sk-queues: absent in the image, present in the tree",
    r"umask: ",
    r"tc\.sigactions\[\d+\]\.sigaction: 0 in the image, 1 in the tree",
    r"mapping 0x[0-9a-f]+: prot: 3 in the image, 1 in the tree",
    r"process \d+ \(changing\): absent in the image, present in the tree",
    r"fd \d+: efd\.counter: 3 in the image, 7 in the tree",
    r"shared memory: 1 of the bytes in 1 pages .*: 0x00 in the image, 0x5a in the tree",
    r"thread \d+: absent in the image, present in the tree",
    r'cwd_id: reg\.name: ".*" in the image, "/" in the tree',
    r"creds\.groups\[0\]: .*7 in the tree",
    r"creds\.no_new_privs: ",
    r"fd \d+: reg\.size: 9 in the image, 100 in the tree",
)


def compare_planted(subject, _task):
    """Requires criu compare to tell each change that the restored program makes, and to leave the program running."""
    subject.dump(subject.ours, "images")
    subject.restore_options = [*subject.restore_options, "--leave-stopped"]
    subject.require_success(subject.try_restore(subject.ours, subject.images("images")))
    require_equal(subject, "images")
    for pid in stopped(subject.root):
        os.kill(pid, signal.SIGCONT)
    for number, wanted in enumerate(CHANGES):
        told = comparison(subject, "images")[1]
        if any(re.search(wanted, line) for line in told.splitlines()):
            raise Failed(f"criu compare tells change {number} before it is made:\n{told}")
        os.kill(subject.root, signal.SIGRTMIN + number)
        subject.init.until(lambda: is_idle(subject.root), processes.PATIENCE, f"change {number}")
        code, told = comparison(subject, "images")
        if code != 1 or not any(re.search(wanted, line) for line in told.splitlines()):
            raise Failed(f"criu compare ended with {code} and didn't tell change {number} ({wanted}):\n{told}")
    subject.check()


def is_idle(pid):
    """Returns true if a process sleeps and has no pending signal."""
    fields = processes.status(pid) or {}
    return fields.get("State", "").startswith("S") and int(fields.get("ShdPnd", "1"), 16) == 0


MODES = [
    Mode("compare", compare, beyond_42=True),
    Mode("compare-planted", compare_planted, scenario=True, beyond_42=True),
]
