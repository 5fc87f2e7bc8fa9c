# SPDX-License-Identifier: GPL-2.0-only
"""Folder, programs and criu of one case, and checks of the text that criu prints."""

import os
import re
import subprocess
import sys
import time

from harness import processes

NOBODY = 65534


class Failed(Exception):
    """Not as it should be."""


class Skipped(Exception):
    """Can't be tried here, and why."""


class Case:
    """A folder, programs in it, and criu."""

    def __init__(self, task):
        self.binary = task["criu"]
        self.scripts = task["scripts"]
        self.work = task["work"]
        self.images = os.path.join(self.work, "images")
        os.mkdir(self.images)
        os.chdir(self.work)

    def start(self, *argv, session=True, **streams):
        """A program in a session of its own, connected to nothing unless `streams` says so."""
        given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **streams}
        return subprocess.Popen(argv, start_new_session=session, **given)

    def python(self, text, **streams):
        """A Python program; its pid once it has made a file `ready`."""
        ready = os.path.join(self.work, "ready")
        if os.path.exists(ready):
            os.unlink(ready)
        script = os.path.join(self.work, "program.py")
        with open(script, "w", encoding="ascii") as file:
            file.write("import os, socket, sys, time\ndef ready(what=''):\n  open('new', 'w').write(str(what))\n"
                       "  os.rename('new', 'ready')\n" + text)
        process = self.start(sys.executable, script, **streams)
        until(lambda: os.path.exists(ready), "the program is ready")
        return process

    def said(self):
        """Returns the argument of ready() of the last Python program."""
        with open(os.path.join(self.work, "ready"), encoding="ascii") as file:
            return file.read()

    def criu(self, *words, status=0, prefix=(), **more):
        """One run; what it says on standard error (and standard output, after that)."""
        run = subprocess.run([*prefix, self.binary, words[0], "--no-default-config", *words[1:]], capture_output=True, text=True,
                             check=False, timeout=60, stdin=subprocess.DEVNULL, **more)
        said = run.stderr + run.stdout
        if run.returncode != status:
            raise Failed(f"criu {' '.join(words)}: exit status {run.returncode}, not {status}: {said}")
        return said

    def dump(self, pid, *words, **more):
        """A dump into the images directory. A child of the test that it ends is waited for."""
        said = self.criu("dump", "-t", str(pid), "-D", self.images, *words, **more)
        if more.get("status", 0) == 0 and "-R" not in words:
            until(lambda: not reaped(pid), "the end of the dumped processes")
        return said

    def restore(self, *words, **more):
        """A restore from there that doesn't wait."""
        return self.criu("restore", "-D", self.images, "-d", *words, **more)


def reaped(session):
    """Waits for those processes of a session that have ended: whether there are any left."""
    left = False
    for pid in processes.pids():
        fields = processes.text(f"/proc/{pid}/stat")
        if fields and int(fields.rsplit(")", 1)[1].split()[3]) == session:
            left = True
            if state(pid) == "Z" and int(processes.status(pid)["PPid"]) == os.getpid():
                os.waitpid(pid, 0)
    return left


def require(condition, message):
    """A check."""
    if not condition:
        raise Failed(message)


def says(text, *patterns):
    """All of these are said, in one line each."""
    for pattern in patterns:
        require(re.search(pattern, text), f"nothing like {pattern!r} in: {text}")


def once(text, pattern):
    """This is said, and not again."""
    found = len(re.findall(pattern, text))
    require(found == 1, f"{found} times {pattern!r} in: {text}")


def until(condition, what, seconds=60):
    """Waits."""
    deadline = time.monotonic() + seconds
    while not condition():
        require(time.monotonic() < deadline, f"not within {seconds} s: {what}")
        time.sleep(0.005)


def until_found(look, what):
    """Waits until `look` returns something but None, and returns that."""
    until(lambda: look() is not None, what)
    return look()


def state(pid):
    """The letter of a process' state; None if there is none."""
    fields = processes.status(pid)
    return fields["State"][0] if fields else None


def named(pid, name):
    """Waits until a process has called exec."""
    until(lambda: (processes.status(pid) or {}).get("Name") == name, f"process {pid} is {name}")
