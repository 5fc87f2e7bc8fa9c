# SPDX-License-Identifier: GPL-2.0-only
"""Plays the commands of criu on one program, with the rights of the calling process. ./run starts it in a situation.

usage: play.py TASK. TASK is a JSON file in a folder that belongs to the user: criu, program, and words for commands.
The result is written to TASK.answer. This file needs only Python's library, because users can't read the tree.
"""

import json
import os
import signal
import subprocess
import sys
import time

PATIENCE = 60


class Program:
    """A program of test/zdtm in the current folder."""

    def __init__(self, path, prefix):
        self.path = path
        with open("out", "wb") as output:
            flags = os.O_WRONLY | os.O_APPEND
            written = os.open("out", flags)
            output.flush()
        with open("err", "ab") as errors:
            self.process = subprocess.Popen([*prefix, path], stdin=subprocess.DEVNULL, stdout=written, stderr=errors,
                                            start_new_session=True)
        os.close(written)
        self.until(lambda: self.said() or self.process.poll() is not None, "the program is ready")
        self.pid = self.find()

    def find(self):
        """Returns the pid of the program: the child, or the first process that the child started in namespaces."""
        pid = self.process.pid
        while name_of(pid) != os.path.basename(self.path)[:15]:
            below = children(pid)
            if not below:
                break
            pid = below[0]
        return pid

    @staticmethod
    def said():
        """Returns the lines that the program has printed."""
        with open("out", encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()

    @staticmethod
    def until(true, what):
        """Waits for a condition."""
        end = time.monotonic() + PATIENCE
        while not true():
            if time.monotonic() > end:
                raise TimeoutError(what)
            time.sleep(0.01)

    def ended(self):
        """Reaps all children that have ended. Returns true if the program's first process is one of them."""
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return True
            if pid == 0:
                return not os.path.exists(f"/proc/{self.process.pid}")

    def wait_for_end(self):
        """Waits until a dump has ended the program."""
        self.until(self.ended, "end of the dumped program")

    def untouched(self):
        """Returns why the program isn't as a failed dump must leave it; None if it is."""
        for line in status_of(self.pid):
            if line.startswith("State:") and line.split()[1] not in ("S", "R", "D"):
                return f"after criu the program is in {line}"
            if line.startswith("TracerPid:") and line.split()[1] != "0":
                return "after criu the program is traced"
        return None

    def check(self):
        """Lets the program check itself. Returns its verdict."""
        os.kill(self.pid, signal.SIGTERM)
        verdicts = ("PASS", "FAIL", "SKIP")
        self.until(lambda: any(line.startswith(verdicts) for line in self.said()) or not os.path.exists(f"/proc/{self.pid}"),
                   "the program's verdict")
        self.ended()
        last = [line for line in self.said() if line.startswith(verdicts)]
        return last[-1] if last else f"no verdict: {self.said()}"

    def kill(self):
        """Ends the program and all that it started."""
        for victim in {self.pid, self.process.pid}:
            try:
                os.killpg(victim, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass


class Foreign:
    """A process of another user, which checks nothing."""

    def __init__(self, pid):
        self.pid = pid

    untouched = Program.untouched

    @staticmethod
    def check():
        """Returns a verdict."""
        return "PASS"

    def kill(self):
        """Leaves the process alone."""


def name_of(pid):
    """Returns the name of a process; empty if it has ended."""
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""


def children(pid):
    """Returns the children of a process with one thread."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def status_of(pid):
    """Returns the lines of /proc/PID/status."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return file.read().splitlines()


def run(task, command, images, *words):
    """Runs criu. Returns its exit status and what it said."""
    argv = [task["criu"], command, "--no-default-config"]
    if images:
        os.makedirs(images, exist_ok=True)
        argv += ["-D", images, "-v4", "-o", f"{command}.log"]
    ran = subprocess.run([*argv, *words, *task["options"]], capture_output=True, text=True, timeout=PATIENCE, check=False,
                         stdin=subprocess.DEVNULL)
    return {"status": ran.returncode, "said": ran.stderr + ran.stdout}


def alone(task):
    """Checks that the program works here without criu."""
    program = Program(task["program"], task["prefix"])
    if program.said()[:1] != ["READY"]:
        program.kill()
        return f"{program.said()}"
    verdict = program.check()
    program.kill()
    return verdict


def restore(task, program):
    """Runs criu restore, and finds the restored program. Returns the result of criu."""
    if not task["restore_prefix"]:
        result = run(task, "restore", "images", "-d", "--pidfile", "pid", *task["restore_options"])
        if result["status"] == 0:
            with open("images/pid", encoding="ascii") as file:
                program.pid = int(file.read())
        return result
    # criu is the first process of the new pid namespace, and stays until the program has ended.
    argv = [*task["restore_prefix"], task["criu"], "restore", "--no-default-config", "-D", "images", "-v4", "-o", "restore.log"]
    with open("restore.output", "wb") as output:
        first = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    found = []

    def ready():
        found[:] = [pid for pid in descendants(first.pid) if name_of(pid) == os.path.basename(program.path)[:15]]
        with open("images/restore.log", encoding="utf-8", errors="replace") as log:
            return first.poll() is not None or (found and "Restore finished" in log.read())

    program.until(lambda: os.path.exists("images/restore.log"), "the log of the restore")
    program.until(ready, "the restored program")
    with open("restore.output", encoding="utf-8", errors="replace") as file:
        said = file.read()
    if found:
        program.pid = found[0]
    return {"status": first.poll() or 0, "said": said}


def descendants(pid):
    """Returns all descendants of a process."""
    found = []
    for child in children(pid):
        found += [child, *descendants(child)]
    return found


def play(task):
    """Plays all commands. Returns their results."""
    results = {"alone": alone(task)} if task.get("alone") else {}
    if results.get("alone", "PASS") != "PASS":
        return results
    for name in os.listdir():
        if name not in ("task.json", "criu") and os.path.isfile(name):
            os.unlink(name)
    program = Foreign(task["foreign"]) if task["foreign"] else Program(task["program"], task["prefix"])
    results["check"] = run(task, "check", None)
    at = ["-t", str(program.pid)]
    results["pre-dump"] = run(task, "pre-dump", "images-pre", *at)
    results["pre-dump"]["harm"] = program.untouched()
    results["dump -R"] = run(task, "dump", "images-left", *at, "-R")
    results["dump -R"]["harm"] = program.untouched()
    results["dump"] = run(task, "dump", "images", *at)
    if results["dump"]["status"] == 0:
        program.wait_for_end()
        results["restore"] = restore(task, program)
        if results["restore"]["status"] != 0:
            results["left"] = name_of(program.pid)
            return results
    else:
        results["dump"]["harm"] = program.untouched()
        results["restore"] = run(task, "restore", "images-none", "-d")
    results["verdict"] = program.check()
    program.kill()
    return results


def main():
    """Reads the task and writes the answer."""
    with open(sys.argv[1], encoding="utf-8") as file:
        task = json.load(file)
    try:
        answer = play(task)
    except (TimeoutError, subprocess.TimeoutExpired, OSError, ValueError) as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    with open(sys.argv[1] + ".answer", "w", encoding="utf-8") as file:
        json.dump(answer, file)


main()
