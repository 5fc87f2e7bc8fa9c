# SPDX-License-Identifier: GPL-2.0-only
"""What a guest says on its console: lines that begin with "::" are results, the others are for whoever reads along."""

import os
import time


class Report:
    """Counts results as they come, and prints them."""

    def __init__(self, verbose):
        self.verbose = verbose  # print all lines
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}
        self.failed = []
        self.seen = set()
        self.console = []

    def line(self, line):
        """One line of the console."""
        self.console.append(line)
        at = line.find("::")
        words = line[at + 2:].split(" ", 2) if at >= 0 else [""]
        if words[0] in self.counts and len(words) >= 2:
            self.counts[words[0]] += 1
            self.seen.add(words[1])
            if words[0] == "failed":
                self.failed.append(words[1])
            print(f"{words[0]:8}{words[1]}  {words[2] if len(words) > 2 else ''}".rstrip(), flush=True)
        elif self.verbose:
            print(line, flush=True)

    def close(self, began, expected, logs, again):
        """The closing lines; the exit status. `again(name)` is the command that runs a test again."""
        if self.failed:
            print("\nFailures:")
            for name in self.failed:
                print(f"  {name}\n      logs: {os.path.join(logs, name.replace(':', '-', 1).replace('/', '-'))}\n"
                      f"      again: {again(name)}")
        print(f"\n{time.monotonic() - began:.0f} s; console in {logs}/console")
        print("{passed} passed, {failed} failed, {skipped} skipped".format(**self.counts))
        return 1 if self.counts["failed"] or not expected else 0
