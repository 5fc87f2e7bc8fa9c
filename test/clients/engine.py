#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What a Java virtual machine with checkpoints has criu run: an action script that tells the process it is there again, and the
command that criu becomes, which waits for the process as its parent and ends as it does."""

import os
import signal
import sys


def main():
    """By its surroundings it knows what it is."""
    action = os.environ.get("CRTOOLS_SCRIPT_ACTION")
    if action is None:
        if sys.argv[1:] != ["restorewait"]:
            return 99
        return os.waitstatus_to_exitcode(os.waitpid(int(os.environ["CRTOOLS_INIT_PID"]), 0)[1])
    if action == "post-resume":
        os.kill(int(os.environ["CRTOOLS_INIT_PID"]), signal.SIGUSR2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
