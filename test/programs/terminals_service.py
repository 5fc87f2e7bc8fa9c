# SPDX-License-Identifier: GPL-2.0-only
"""An interactive bash with job control, vim and less, each in a terminal of its own; this program sits at all three."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import service  # pylint: disable=wrong-import-position
from harness import terminal  # pylint: disable=wrong-import-position
from service import require  # pylint: disable=wrong-import-position


class Shell:
    """Jobs that are stopped, continued and interrupted."""

    def __init__(self):
        self.window = terminal.Terminal()
        self.pid = self.window.start(["/bin/bash", "--norc", "--noprofile", "--noediting", "-i"], ".")
        self.window.close_slave()
        self.window.expect("$ ")
        self.window.type("sleep 100000 &\n")
        self.window.expect_match(r"\[1\] \d+\r\n\$ ")

    def turn(self, number):
        """A job in the foreground, and one in the background."""
        self.window.type("cat\n")
        self.window.type(f"number {number}\n")
        self.window.expect(f"number {number}\r\nnumber {number}")
        self.window.type("\032")
        self.window.expect_match(r"(?s)\[2\]\+  Stopped.*\$ ")
        self.window.type("jobs\n")
        # A restored job that stops again may be announced a second time: bash hears of it like of the first.
        self.window.expect_match(r"(?s)\[1\]-  Running +sleep 100000 &\r\n\[2\]\+  Stopped +cat\r\n.*\$ ")
        self.window.type("fg\n")
        self.window.expect("cat\r\n")
        self.window.type("again\n")
        self.window.expect("again\r\nagain")
        self.window.type("\003")
        self.window.expect_match(r"(?s)\^C.*\$ ")
        self.window.type("echo status $?\n")
        self.window.expect("status 130\r\n$ ")

    def finish(self):
        """Ends the job, which a shell may be too late to do, and the shell as a closed window does."""
        self.window.type("kill %1; wait; echo job $?\n")
        self.window.expect_match(r"(?s)job \d+\r\n.*\$ ")
        os.close(self.window.master)
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        require(code in (-1, 129), f"bash ended with {code}")


class Editor:
    """A text that grows."""

    def __init__(self):
        self.window = terminal.Terminal(rows=30)
        self.pid = self.window.start([service.path_of("vim"), "-u", "NONE", "-i", "NONE", "-n", "text"], ".")
        self.window.close_slave()
        self.window.expect("text")
        self.lines = []

    def turn(self, number):
        """One more line, and a mistake that is taken back."""
        self.lines.append(f"line {number} of this text")
        self.window.type(f"Go{self.lines[-1]} mistake")
        self.window.expect("mistake")
        self.window.type("\x1bbhd$")
        self.window.type(":")
        self.window.expect(":")
        self.window.type("\x1b")

    def finish(self):
        """Writes the text."""
        self.window.type(":wq\n")
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        require(code == 0, f"vim ended with {code}: {self.window.seen[-300:]!r}")
        with open("text", encoding="ascii") as file:
            require(file.read() == "\n".join(["", *self.lines]) + "\n", "vim wrote another text")


class Pager:
    """A long text to look around in."""

    LINES = 100_000

    def __init__(self):
        with open("long", "w", encoding="ascii") as file:
            file.writelines(f"<{number * number}>\n" for number in range(1, self.LINES + 1))
        self.window = terminal.Terminal(rows=25)
        self.pid = self.window.start([service.path_of("less"), "long"], ".")
        self.window.close_slave()
        self.window.expect("<1>")

    def turn(self, number):
        """Somewhere else."""
        line = number * 7919 % self.LINES + 1
        self.window.type(f"{line}g")
        self.window.expect(f"<{line * line}>")

    def finish(self):
        """Leaves it."""
        self.window.type("q")
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        require(code == 0, f"less ended with {code}")


def main():
    """Three windows."""
    windows = [Shell(), Editor(), Pager()]
    turns = 0

    def turn():
        nonlocal turns
        turns += 1
        for window in windows:
            window.turn(turns)

    def finish():
        require(turns > 2, f"only {turns} turns")
        for window in windows:
            window.finish()

    service.work(turn, finish)


main()
