# SPDX-License-Identifier: GPL-2.0-only
"""A shell in a sandbox that bubblewrap makes, as one user or another; this program sits outside and asks it things."""

import os
import subprocess
import sys
import time

from service import path_of, require, work

MOUNTS = 'for at in / /usr /tmp /dev /dev/null /proc /sys /sys/fs/cgroup; do grep " $at " /proc/self/mounts | tail -n 1; done'
# Asked all the time, also while a dump comes: none of them opens a file of the sandbox's own /proc, which no dump takes.
QUESTIONS = ["echo $$", "kill -0 1 2>&1", "hostname", "pwd", "cat /tmp/kept", "touch /usr/new 2>&1"]
# Asked before the first dump and after the last restore. Programs that are linked with libselinux read /proc/filesystems.
LAST_QUESTIONS = ["id", MOUNTS, "cat /proc/self/uid_map", "grep : /proc/net/dev | cut -d: -f1", "ls /dev",
                  "grep -E '^(Cap|NoNew)' /proc/self/status"]


class Sandbox:
    """One of them, and the pipes to its shell."""

    def __init__(self, user, options):
        argv = [path_of("bwrap"), *options, "/bin/sh"]
        if user != 0:
            argv = [path_of("setpriv"), f"--reuid={user}", f"--regid={user}", "--clear-groups", *argv]
        # pylint: disable-next=consider-using-with
        self.shell = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.ask("echo content > /tmp/kept; cd /tmp; exec 9</tmp/kept")
        self.known = self.look(QUESTIONS + LAST_QUESTIONS)

    def ask(self, command):
        """What the shell says to it."""
        self.shell.stdin.write(f"{command}; echo; echo END\n".encode())
        self.shell.stdin.flush()
        lines = []
        while (line := self.shell.stdout.readline()) != b"END\n":
            require(line != b"", f"the sandbox has ended at {command}")
            lines.append(line.decode())
        return "".join(lines).strip()

    def look(self, questions):
        """What is to stay as it is."""
        return {question: self.ask(question) for question in questions}

    def check(self, questions):
        """Compares."""
        for question, answer in self.look(questions).items():
            require(answer == self.known[question], f"{question}: was {self.known[question]!r}, is {answer!r}")

    def finish(self):
        """Compares the rest, and ends it."""
        self.check(LAST_QUESTIONS)
        require(self.ask("cat <&9") == "content", "the open file has no content")
        self.shell.stdin.close()
        require(self.shell.wait(60) == 0, f"the sandbox ended with {self.shell.returncode}")


BASE = ["--ro-bind", "/", "/", "--tmpfs", "/tmp", "--unshare-all"]
FRESH = [*BASE, "--proc", "/proc", "--dev", "/dev"]
SMALL = ["--unshare-user", "--unshare-pid", "--tmpfs", "/", "--ro-bind", "/usr", "/usr", "--ro-bind", "/sys", "/sys", "--symlink", "usr/bin", "/bin",
         "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev",
         "--dir", "/tmp", "--hostname", "inside", "--unshare-uts"]


def main():
    """Sandboxes of root and of a user, until SIGTERM."""
    os.umask(0o022)
    sandboxes = [Sandbox(user, options) for user in (0, 1000) for options in (BASE, FRESH, SMALL)]

    def turn():
        for sandbox in sandboxes:
            sandbox.check(QUESTIONS)
        time.sleep(0.01)

    def finish():
        for sandbox in sandboxes:
            sandbox.finish()

    work(turn, finish)


if __name__ == "__main__":
    sys.exit(main())
