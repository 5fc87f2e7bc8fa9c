# SPDX-License-Identifier: GPL-2.0-only
"""Runs of a criu binary."""

import os
import re
import time


class Run:
    """A finished run of criu."""

    def __init__(self, argv, log, code, seconds, peak_rss):
        self.argv = argv
        self.log = log
        self.code = code  # negative: the signal that ended criu
        self.seconds = seconds
        self.peak_rss = peak_rss  # in bytes, of criu itself

    def describe(self):
        """Describes the exit and the last error for a message."""
        how = f"exit code {self.code}" if self.code >= 0 else f"killed by signal {-self.code}"
        return f"criu {self.argv[1]}: {how}: {last_error(self.log) or 'no Error line'} (log: {self.log})"


class Criu:
    """A criu binary that the init of a namespace runs."""

    def __init__(self, init, binary, timeout=60, verbosity=4):
        self.init = init
        self.binary = binary
        self.timeout = timeout
        self.verbosity = verbosity
        self.passed = None  # further descriptors of each run, by their numbers in criu

    def argv(self, action, images, log, options=()):
        """Returns the command line of an action. The log's name is relative to the images."""
        return [self.binary, action, "--no-default-config", "-D", images, "-o", log, f"-v{self.verbosity}", *options]

    def start(self, action, images, log, options=(), before_exec=None):
        """Starts criu and returns its pid. The new process calls before_exec first."""
        os.makedirs(images, exist_ok=True)
        return self.init.start(self.argv(action, images, log, options), "/", os.path.join(images, log + ".output"),
                               before_exec=before_exec, passed=self.passed)

    def run(self, action, images, log, options=()):
        """Runs criu to its end. Raises Timeout if it hangs."""
        begin = time.monotonic()
        pid = self.start(action, images, log, options)
        ended = self.init.wait(pid, self.timeout, f"criu {action}, log {os.path.join(images, log)}")
        seconds = time.monotonic() - begin
        return Run(self.argv(action, images, log, options), os.path.join(images, log), ended.code, seconds,
                   ended.peak_rss)

    def dump(self, root, images, options=(), log="dump.log"):
        """Runs criu dump of the tree of `root`."""
        return self.run("dump", images, log, ["-t", str(root), *options])

    def restore(self, images, options=(), log="restore.log"):
        """Runs criu restore with the restored tree in the background."""
        return self.run("restore", images, log, ["-d", *options])


def error_lines(log):
    """Returns the Error lines of a log, and of criu's output before it opened the log."""
    found = []
    for path in (log + ".output", log):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                found += [line.strip() for line in file if "Error" in line]
        except FileNotFoundError:
            pass
    return found


def last_error(log):
    """Returns the last specific Error line, or None."""
    lines = error_lines(log)
    telling = [line for line in lines if not re.search(r"(Dumping|Restoring) failed", line, re.IGNORECASE)] or lines
    return telling[-1] if telling else None
