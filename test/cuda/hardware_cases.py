# SPDX-License-Identifier: GPL-2.0-only
"""Parts of the cases on real GPUs: refused dumps, and a criu that is ended from outside."""
import os
import re
import shutil
import subprocess
import time

from cases import Failed, Run


class Skipped(Exception):
    """Reason why a case can't run here."""


def refused(settings, command, pattern, environment=None):
    """Requires a dump to be refused, and the program to continue. A driver without the needed feature skips the case.
    """
    try:
        run = Run(settings, command, "READY", environment=environment)
    except Failed as problem:
        raise Skipped(f"the program doesn't run here: {problem}") from problem
    try:
        run.refused("dump", pattern)
        print(f"  (says: {run.why('dump')})", flush=True)
        run.end(1)
        return {}, 0
    finally:
        run.clean()


def uneven(settings, *words):
    """Runs two processes of different sizes. criu must write pages of the small one while the driver copies contents
    of the large one. Prints the moments in seconds after the start of the dump."""
    run = Run(settings, [settings.counter, *words], "READY", 2)
    try:
        time.sleep(0.2)
        run.dump()
        size = run.size()
        for line in run.log("dump").splitlines():
            if re.search(r"already, while drivers|were written within|MiB copied out in", line):
                print(f"  {line.strip()}", flush=True)
        if "were written within" not in run.log("dump"):
            raise Failed("no pages were written while the driver was at work")
        run.restore()
        time.sleep(0.2)
        run.end(2)
        return run.times, size
    finally:
        run.clean()


def traced(pid):
    """Returns true if criu still traces a thread of the process."""
    threads = f"/proc/{pid}/task"
    for thread in os.listdir(threads) if os.path.isdir(threads) else []:
        try:
            with open(f"{threads}/{thread}/status", encoding="utf-8") as status:
                if "\nTracerPid:\t0\n" not in status.read():
                    return True
        except FileNotFoundError:
            pass
    return False


def interrupt(run, verb, seconds, *options, kill=True):
    """Starts criu and ends it after a while, by SIGKILL or SIGTERM. Returns the exit code, or the negative signal."""
    folder = os.path.join(run.work, "killed")
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    images = folder if verb == "dump" else run.images
    environment = {**os.environ}
    if run.settings.libraries:
        environment["LD_LIBRARY_PATH"] = run.settings.libraries
    with subprocess.Popen([run.settings.criu, verb, "-D", images, "-o", f"killed-{verb}.log", "-v4", *options],
                          env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as criu:
        try:
            return criu.wait(seconds)
        except subprocess.TimeoutExpired:
            if kill:
                criu.kill()
            else:
                criu.terminate()
            return criu.wait(60)
