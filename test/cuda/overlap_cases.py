# SPDX-License-Identifier: GPL-2.0-only
"""Cases in which criu writes pages of one process while the driver still copies device contents of another."""
import contextlib
import os

from cases import Failed, Run
from played import RUNNING, Driver, begin, kill

MEBIBYTES = 64


def written(run):
    """Returns the bytes of pages in the images so far."""
    if not os.path.isdir(run.images):
        return 0
    return sum(os.stat(os.path.join(run.images, name)).st_blocks * 512 for name in os.listdir(run.images)
               if name.startswith("pages-"))


def says(run, text):
    """Returns true if the dump's log has this text so far."""
    return os.path.exists(os.path.join(run.images, "dump.log")) and text in run.log("dump")


def compressed(settings):
    overlapped(settings, "--compress", done=lambda run: says(run, " were written within "))


def ready(run):
    return [int(line.split()[1]) for line in run.lines("READY")]


class Gate:
    """A gate that the driver's thread of one process waits for in its checkpoint."""

    def __init__(self, settings):
        self.path = os.path.join(settings.images, "gate")

    def open(self, result=""):
        """Opens the gate. `result`: error with which the checkpoint fails."""
        with open(f"{self.path}-new", "w", encoding="utf-8") as file:
            file.write(result)
        os.rename(f"{self.path}-new", self.path)


@contextlib.contextmanager
def program(settings, *words, count=2):
    """Runs a program of several processes with a gate. Ends it with its own check."""
    gate = Gate(settings)
    run = Run(settings, [settings.counter, *words], "READY", count, environment={"FAKE_CUDA_GATE": gate.path})
    try:
        yield run, gate
        run.end(count)
    finally:
        if not os.path.exists(gate.path):
            gate.open()
        run.clean()


def two(settings):
    return program(settings, str(MEBIBYTES), "processes", "2")


@contextlib.contextmanager
def half_way(run, driver, *options, which=2, done=None):
    """Starts a dump, and stops it when contents of one process are on a device and pages of another are in the images.
    """
    with begin(run, "dump", f"checkpoint=waits@{which}", "-t", str(run.pid), *options) as dump:
        try:
            done = done or (lambda: written(run) >= MEBIBYTES << 20)
            run.until(lambda: done() or dump.poll() is not None, 60, "the pages of one process")
            if not done():
                raise Failed(f"the dump has ended: {run.why('dump')}")
            busy = [pid for pid in ready(run) if driver.busy(pid)]
            if len(busy) != 1:
                raise Failed(f"the driver is at work for {len(busy)} processes when pages are written")
            yield dump
        except BaseException:
            dump.kill()
            raise


def finish(run, gate, dump, result=""):
    """Opens the gate. Returns the exit code of the dump."""
    gate.open(result)
    return dump.wait(60)


def overlapped(settings, *options, done=None):
    """Requires pages of one process before contents of the other. `done`: returns true if the pages are written, for
    images whose size doesn't show it."""
    with two(settings) as (run, gate):
        with half_way(run, Driver(settings), *options, done=done and (lambda: done(run))) as dump:
            if finish(run, gate, dump) != 0:
                raise Failed(f"the dump failed: {run.why('dump')}")
        if "--leave-running" not in options:
            run.process.wait(30)
            run.process = None
            run.restore()


def with_plain(settings):
    """Requires pages of a process without CUDA before contents of the only process with CUDA."""
    with program(settings, "16", "plain", str(MEBIBYTES)) as (run, gate):
        with half_way(run, Driver(settings), which=1) as dump:
            if finish(run, gate, dump) != 0:
                raise Failed(f"the dump failed: {run.why('dump')}")
        run.process.wait(30)
        run.process = None
        run.restore()


def unseen(settings):
    """Requires criu to wait with memory that a userfaultfd may fill without a trace, also of a process without CUDA."""
    with program(settings, "16", "plain", str(MEBIBYTES), "unseen") as (run, gate):
        with half_way(run, Driver(settings), which=1, done=lambda: says(run, "wait for others: devices")) as dump:
            if finish(run, gate, dump) == 0:
                raise Failed("the dump ended well")
        if "userfaultfd" not in run.why("dump") or says(run, "Writing pages of process"):
            raise Failed(f"pages were written, or the dump says {run.why('dump')}")
        undone(settings, run, [run.pid])


def undone(settings, run, users=None):
    """Requires a rollback. `users`: the processes with CUDA; the default is all."""
    driver = Driver(settings)
    for pid in users or ready(run):
        if (state := driver.state(pid)) != RUNNING:
            raise Failed(f"process {pid} is in state {state}")
    if os.path.exists(os.path.join(run.images, "inventory.img")):
        raise Failed("there is an inventory after a failed dump")


def other_fails(settings, result="801"):
    """Makes the checkpoint of one process fail while pages of the other are written. Both must continue."""
    with two(settings) as (run, gate):
        with half_way(run, Driver(settings)) as dump:
            if finish(run, gate, dump, result) == 0:
                raise Failed("the dump ended well")
        if "process" not in run.why("dump"):
            raise Failed(f"the dump says {run.why('dump')}")
        undone(settings, run)


def interrupted(settings):
    """Sends SIGTERM while pages of one process are written."""
    with two(settings) as (run, gate):
        with half_way(run, Driver(settings)) as dump:
            dump.terminate()
            if finish(run, gate, dump) == 0:
                raise Failed("the dump ended well")
        undone(settings, run)


def killed(settings, of_worker):
    """Kills criu or its working process while pages of one process are written."""
    with two(settings) as (run, gate):
        with half_way(run, Driver(settings)) as dump:
            kill(dump, of_worker)
            if finish(run, gate, dump) == 0:
                raise Failed("the dump ended well")
        driver = Driver(settings)
        run.until(lambda: all(driver.state(pid) == RUNNING for pid in ready(run)), 120, "both to be brought back")


def no_room(settings):
    """Leaves no room for pages of one process while contents of the other are on the device."""
    with two(settings) as (run, gate):
        run.images = os.path.join(settings.small, "overlap")
        with half_way(run, Driver(settings), done=lambda: says(run, "Writing pages of process")) as dump:
            if finish(run, gate, dump) == 0:
                raise Failed("the dump ended well")
        if "No space left" not in run.why("dump"):
            raise Failed(f"the dump says {run.why('dump')}")
        undone(settings, run)
