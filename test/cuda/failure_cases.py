# SPDX-License-Identifier: GPL-2.0-only
"""Cases in which the driver fails or criu is ended. The program continues, or nothing is left."""
import os
import re
import signal
import subprocess
import time

from cases import Failed
from played import (LOCKED, RUNNING, Driver, await_end_of_all, begin, kill, look_at_child, require_failure, running,
                    started, traced)

MOMENTS = 10


def fault(settings, wanted, pattern, *options, verb="dump"):
    """Requires a dump with a failing driver to leave the program running and unlocked."""
    with started(settings) as run:
        run.refused(verb, pattern, *options, environment={"FAKE_CUDA_FAULT": wanted})
        time.sleep(0.1)
        run.end(1)


def mute(settings):
    """Uses a management library that doesn't answer. Dump and restore must not wait forever."""
    silent = {"FAKE_CUDA_MUTE": "1"}
    with started(settings) as run:
        run.refused("dump", "ask how much memory GPUs have.*doesn't answer", environment=silent)
        run.dump()
        run.refused("restore", "ask how much memory GPUs have.*doesn't answer", "-d", environment=silent)
        run.restore()
        run.end(1)


def lost(settings, wanted, pattern, *options):
    """Requires a dump to fail with a message, and to detach, if the driver itself has lost a process."""
    with started(settings) as run:
        run.refused("dump", pattern, *options, environment={"FAKE_CUDA_FAULT": wanted})
        if os.path.exists(os.path.join(run.images, "inventory.img")):
            raise Failed("there is an inventory after a failed dump")
        if not run.alive() or traced(run.pid):
            raise Failed("the process was ended, or is held")
        with open(f"/proc/{run.pid}/stat", encoding="utf-8") as file:
            if file.read().rsplit(")", 1)[1].split()[0] not in "SR":
                raise Failed("the process doesn't run")


def failed_restore(settings, wanted, pattern):
    """Requires a failed restore to leave nothing, and a second one to work."""
    with started(settings) as run:
        run.dump()
        run.refused("restore", pattern, "-d", environment={"FAKE_CUDA_FAULT": wanted})
        if run.alive():
            raise Failed("a failed restore has left a process")
        run.restore()
        run.end(1)


def stopped(settings):
    """Requires a dump to refuse a stopped process, whose driver thread can't work. The process stays stopped."""
    with started(settings) as run:
        os.kill(run.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, run.pid, os.WSTOPPED | os.WNOWAIT)
        run.refused("dump", "stopped by a signal.*SIGCONT")
        os.kill(run.pid, signal.SIGCONT)
        run.end(1)


def interrupted(settings, wanted):
    """Sends SIGTERM while the driver works. The dump must end at once, and the program continues."""
    with started(settings) as run:
        with begin(run, "dump", wanted, "-t", str(run.pid), "--cuda-timeout", "600") as dump:
            dump.terminate()
            require_failure(dump)
        run.end(1)


def interrupted_restore(settings):
    """Sends SIGTERM to a restore whose driver doesn't answer. It must leave nothing."""
    with started(settings) as run:
        run.dump()
        with begin(run, "restore", "restore=hang", "-d") as restore:
            restore.terminate()
            require_failure(restore)
        if run.alive():
            raise Failed("an interrupted restore has left a process")
        run.restore()
        run.end(1)


def killed(settings, wanted):
    """Kills a dump in the middle of the driver's work. The program must be running and unlocked."""
    with started(settings) as run:
        with begin(run, "dump", wanted, "-t", str(run.pid)) as dump:
            if "slow" in wanted:
                run.until(lambda: Driver(settings).busy(run.pid), 60, "the driver to begin")
            kill(dump, of_worker=True)
            require_failure(dump)
        run.end(1)


def killed_at_moments(settings):
    """Kills the guardian at moments all over a dump. The program must be running and unlocked. The working process
    stays alive: if that died with its injection in the tree, no process could remove the injection."""
    driver = Driver(settings)
    with started(settings) as run:
        run.dump("--leave-running")
        for moment in range(MOMENTS):
            with begin(run, "dump", "none", "-t", str(run.pid), "--leave-running", stdout=subprocess.PIPE) as dump:
                time.sleep(run.times["dump"] * moment / MOMENTS)
                kill(dump, of_worker=False)
                # A next dump that starts earlier would find the process locked, and take that for its usual state.
                await_end_of_all(dump)
            if traced(run.pid) or driver.state(run.pid) != RUNNING:
                raise Failed(f"a dump killed at moment {moment} left the process traced or in state "
                             f"{driver.state(run.pid)}: {run.log('dump')[-2000:]}")
        run.end(1)


def restores_killed_at_moments(settings):
    """Kills criu at moments all over a restore. Nothing is left, or the tree runs if the restore was complete."""
    driver = Driver(settings)
    with started(settings) as run:
        run.dump()
        run.restore()
        seconds = run.times["restore"]
        run.dump()
        for moment in range(1, 6):
            with begin(run, "restore", "none", "-d") as restore:
                time.sleep(seconds * moment / 6)
                restore.kill()
            if not is_left(run, driver):
                continue
            driver.until(run, RUNNING)
            run.dump()
        run.restore()
        run.end(1)


def is_left(run, driver):
    """Waits until a killed restore has left nothing, or the tree works. Returns true if it works."""
    before = driver.ticks(run.pid)
    run.until(lambda: not run.alive() or driver.ticks(run.pid) > before >= 0, 60, "the end of a killed restore's tree")
    return run.alive()


def killed_before_checkpoint(settings):
    """Kills criu when processes are frozen, before the driver copies. The processes must be unlocked."""
    with running(settings, ["unshare", "--net", settings.counter, "16"]) as run:
        script = os.path.join(run.work, "script.sh")
        with open(script, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\n[ \"$CRTOOLS_SCRIPT_ACTION\" != network-lock ] || kill -KILL $PPID\n")
        os.chmod(script, 0o755)
        with begin(run, "dump", "none", "-t", str(run.pid), "--action-script", script) as dump:
            require_failure(dump)
        if dump.returncode != -signal.SIGKILL:
            raise Failed(f"criu wasn't killed by its script but ended with {dump.returncode}: {run.why('dump')}")
        run.until(lambda: not traced(run.pid), 60, "the end of what a killed dump was at")
        Driver(settings).until(run, RUNNING)
        run.end(1)


def killed_with_others_lock(settings):
    """Kills a dump that has checkpointed a process which another process had locked. The process must be locked again.
    """
    driver = Driver(settings)
    with started(settings) as run:
        driver.call("Lock", run.pid)
        with begin(run, "dump", "checkpoint=slow", "-t", str(run.pid)) as dump:
            run.until(lambda: driver.busy(run.pid), 60, "the driver to begin")
            kill(dump, of_worker=True)
            require_failure(dump)
        if driver.state(run.pid) != LOCKED:
            raise Failed(f"state {driver.state(run.pid)} after a dump that was killed")
        driver.call("Unlock", run.pid)
        run.end(1)


def killed_beside_namesake(settings):
    """Requires a killed dump to be reverted for its own processes, and not for processes with the same pid in another
    pid namespace."""
    driver = Driver(settings)
    command = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "setsid", settings.counter, "16"]
    with running(settings, command) as one, running(settings, command) as other:
        for run in (one, other):
            look_at_child(run)
        driver.call("Lock", other.pid)
        with begin(one, "dump", "checkpoint=slow", "-t", str(one.pid)) as dump:
            one.until(lambda: driver.busy(one.pid), 60, "the driver to begin")
            kill(dump, of_worker=True)
            require_failure(dump)
        if (driver.state(one.pid), driver.state(other.pid)) != (RUNNING, LOCKED):
            raise Failed(f"states {driver.state(one.pid)} and, of the other, {driver.state(other.pid)}")
        driver.call("Unlock", other.pid)
        for run in (one, other):
            run.end(1)


def refused_by_others(settings):
    """Requires a refused dump to unlock frozen processes, if the reason has nothing to do with GPUs."""
    with running(settings, ["sh", "-c", f"{settings.counter} 16 & wait"], "READY") as run:
        look_at_child(run)
        asked = time.monotonic()
        run.refused("dump", "doesn't lead its session")
        if time.monotonic() - asked > 8:
            raise Failed(f"the dump took {time.monotonic() - asked:.1f} s to be refused")
        if (state := Driver(settings).state(run.pid)) != RUNNING:
            raise Failed(f"state {state} after a dump that was refused")
        run.end(1)


def nested(settings):
    """Requires a dump to refuse processes in nested pid namespaces before the driver copies."""
    with running(settings, ["unshare", "--pid", "--fork", "--kill-child", settings.counter, "16"], "READY") as run:
        run.refused("dump", "pid namespaces below its own and uses devices",
                    environment={"FAKE_CUDA_FAULT": "checkpoint=999"})
        look_at_child(run)
        if (state := Driver(settings).state(run.pid)) != RUNNING:
            raise Failed(f"state {state} after a dump that was refused")
        run.end(1)


def failed_before(settings):
    """Requires a dump to refuse a process that the driver has lost, by its state."""
    with started(settings) as run:
        run.refused("dump", "304", environment={"FAKE_CUDA_FAULT": "checkpoint=broken"})
        run.refused("dump", r"process \d+ is in state 3 of the CUDA driver, in which it can't be dumped")
        if not run.alive() or traced(run.pid):
            raise Failed("the process was ended, or is held")


def not_brought_back(settings):
    """Requires dump --leave-running to fail without an inventory if the driver can't restore the process."""
    lost(settings, "restore=broken", "304", "--leave-running")


def left_open(settings):
    """Requires a dump to refuse a child of a CUDA process that has opened a device by itself."""
    with started(settings, "16", "fork", "2") as run:
        run.until(lambda: run.lines("CHILD"), 60, "the child")
        run.refused("dump", r"descriptor \d+ of process \d+ is /dev/nvidia.*opened it")
        run.end(1)


def forked(settings):
    """Dumps and restores a child that has inherited devices, twice. It can't use them."""
    with started(settings, "16", "fork", "1") as run:
        run.until(lambda: run.lines("CHILD"), 60, "the child")
        child = int(run.lines("CHILD")[0].split()[1])

        def devices():
            links = [os.readlink(f"/proc/{child}/fd/{fd}") for fd in os.listdir(f"/proc/{child}/fd")]
            return sorted(link for link in links if link.startswith("/dev/nvidia"))

        before = devices()
        if not before:
            raise Failed("the child has inherited nothing")
        for turn in range(2):
            run.dump()
            if turn == 0 and not re.search(rf"process {child} inherited {len(before)} descriptors", run.log("dump")):
                raise Failed("the log doesn't tell of the child")
            run.restore()
            if devices() != before:
                raise Failed(f"the child has {devices()}, not {before}")
            with open(f"/proc/{child}/maps", encoding="utf-8") as maps:
                mapped = [line for line in maps if "/dev/nvidia" in line]
            if mapped:
                raise Failed(f"the child can reach {mapped}")
        run.end(1)
