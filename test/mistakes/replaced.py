# SPDX-License-Identifier: GPL-2.0-only
"""Dumps that fail into a directory with a complete checkpoint."""

import os

from case import require, says


def failed_dump_keeps_images(case):
    """A dump that fails in its action scripts of pre-dump, or by its cgroup, keeps the images of the dump before"""
    program = case.python("ready()\ntime.sleep(1000)\n")
    case.dump(program.pid, "-R")
    whole = set(os.listdir(case.images)) - {"stats-dump"}
    for options in (["--action-script", "/nonexistent.sh"], ["--freeze-cgroup", "/nonexistent"]):
        says(case.dump(program.pid, "-R", *options, status=1), "nonexistent")
        left = set(os.listdir(case.images)) - {"stats-dump"}
        require(left == whole, f"after {options}: {sorted(left ^ whole)}")
    program.kill()
    program.wait()
    case.criu("restore", "-d", "-D", case.images)


CASES = [failed_dump_keeps_images]
