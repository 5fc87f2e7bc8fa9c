# SPDX-License-Identifier: GPL-2.0-only
"""Parts of the cases on real GPUs: what is refused, and criu that is ended from outside."""
import os
import re
import shutil
import subprocess
import time

from cases import Failed, Run


class Skipped(Exception):
    """Why a case can't run here."""


def refused(settings, command, pattern, environment=None):
    """The dump is refused, and the program goes on. A driver without what the case needs skips it."""
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
    """Two processes of different sizes: the pages of the small one are written while the driver copies out the large one's
    contents. Prints when that was, in seconds since the dump began."""
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
    """Whether criu still holds any thread of a process."""
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
    """Starts criu and ends it after a while, by SIGKILL or SIGTERM. Its exit code; negative if it was killed."""
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
