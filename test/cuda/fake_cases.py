# SPDX-License-Identifier: GPL-2.0-only
"""Cases with the fake driver: a table of all, and those that succeed."""
import json
import os
import platform
import re
import signal
import subprocess
import sys
import time

from cases import Failed, Settings, counter, lazy
from failure_cases import (failed_before, failed_restore, fault, interrupted, interrupted_restore, killed, killed_at_moments,
                           killed_before_checkpoint, killed_beside_namesake, killed_with_others_lock, forked, left_open, lost, mute, nested, not_brought_back,
                           refused_by_others, restores_killed_at_moments, stopped)
from image_cases import (in_background, of_criu_42, page_server, pre_dumped, requested, streamed, switched_off, together)
from machine_cases import (checked, in_a_container, moved, named_gpu, no_room, numbered_gpu, other_library, other_machine,
                           shown, smaller_gpu, too_old)
import overlap_cases as overlap
from played import CHECKPOINTED, LOCKED, RUNNING, Driver, Nodes, running, started
import refused_cases as unsupported
from storage_cases import no_room_for_images, on_two_devices, stored


def made_ready(settings):
    """Requires criu to make the memory that the driver copies into, and to clear the flags that the driver objects to.
    """
    with started(settings, "64") as run:
        run.dump()
        if not re.search(r"64 MiB of process \d+ were made ready", run.log("dump")):
            raise Failed("the driver's mapping wasn't seen")
        run.restore()
        run.end(1)


def on_nodes(settings, command, says):
    """Requires criu to make the driver's memory on the NUMA node that the driver's thread prefers. Machines with one
    node only have node 0."""
    settings.machine = Nodes(settings.images)
    with running(settings, [*command, settings.counter, "64"]) as run:
        run.dump()
        if not re.search(rf"memory for contents of process \d+ is made {says}", run.log("dump")):
            raise Failed("the node wasn't chosen")
        run.restore()
        run.end(1)


# Runs a program with all memory on node 0 (set_mempolicy(2), MPOL_BIND).
BOUND = [sys.executable, "-c", f"""import ctypes, os, sys
if ctypes.CDLL(None).syscall({237 if platform.machine() == 'aarch64' else 238}, 2, ctypes.byref(ctypes.c_ulong(1)), 64):
    sys.exit("no policy")
os.execv(sys.argv[1], sys.argv[1:])"""]


def of_others(settings, calls, state):
    """Requires a lock or checkpoint of another process to stay after the dump, however the dump ends."""
    driver = Driver(settings)
    with started(settings) as run:
        for call in calls:
            driver.call(call, run.pid)
        run.dump("--leave-running")
        if driver.state(run.pid) != state:
            raise Failed(f"state {driver.state(run.pid)} after a dump that leaves it running")
        wanted = "checkpoint=801" if state == LOCKED else "state=999"
        run.refused("dump", "process", environment={"FAKE_CUDA_FAULT": wanted})
        if driver.state(run.pid) != state:
            raise Failed(f"state {driver.state(run.pid)} after a dump that failed")
        run.dump()
        run.restore()
        if driver.state(run.pid) != state:
            raise Failed(f"state {driver.state(run.pid)} after a restore")
        if state == CHECKPOINTED:
            driver.call("Restore", run.pid)
        driver.call("Unlock", run.pid)
        run.end(1)


def left_stopped(settings):
    """Requires a tree that stays stopped after its restore to stay locked, so no process submits work."""
    driver = Driver(settings)
    with started(settings) as run:
        run.dump()
        run.restore("--leave-stopped")
        os.kill(run.pid, signal.SIGCONT)
        time.sleep(0.2)
        if driver.state(run.pid) != LOCKED:
            raise Failed(f"state {driver.state(run.pid)} after a restore that leaves it stopped")
        driver.call("Unlock", run.pid)
        run.end(1)


def dry_run(settings):
    """Requires dry runs to refuse nothing, to leave no lock and no image, and to name the process that they didn't examine."""
    driver = Driver(settings)
    with started(settings) as run:
        for _ in range(2):
            run.must("dump", "-t", str(run.pid), "--dry-run")
            if driver.state(run.pid) != RUNNING:
                raise Failed(f"state {driver.state(run.pid)} after a dry run")
            if os.listdir(run.images) != ["dump.log"]:
                raise Failed(f"a dry run has left {os.listdir(run.images)}")
        words = run.command("dump", "-t", str(run.pid), "--dry-run", "--json")
        said = json.loads(subprocess.run(words, env={**os.environ, **settings.environment}, stdout=subprocess.PIPE, check=True,
                                         timeout=60).stdout)
        if not said["possible"] or not re.search(rf"devices of process {run.pid} .*cuda", " ".join(said["warnings"])):
            raise Failed(f"report: {said}")
        run.dump()
        run.restore()
        run.end(1)


def executed(settings):
    """Requires a child that has executed another program to be an ordinary process."""
    with started(settings, "16", "exec", "1") as counter_of:
        counter_of.dump()
        counter_of.restore()
        counter_of.end(1)


def counter_with(settings, wanted):
    changed = Settings(settings.criu, settings.counter, settings.images, None,
                       {**settings.environment, "FAKE_CUDA_FAULT": wanted})
    return counter(changed, "16")


def objects(settings):
    """Uses graphs, events, streams with running kernels, and memory that is mapped by hand."""
    with running(settings, [os.path.join(os.path.dirname(settings.counter), "objects")], "READY") as run:
        for _ in range(2):
            time.sleep(0.2)
            run.dump()
            run.restore()
        run.end(1)


CASES = {
    "memory for the driver": made_ready,
    "memory on the node of the process": lambda settings: on_nodes(settings, [], "on node 0"),
    "memory on the nodes that the process wants": lambda settings: on_nodes(
        settings, BOUND, "by the policy 0x2 of its thread"),
    "once": lambda settings: counter(settings, "64"),
    "three times": lambda settings: counter(settings, "16", times=3),
    "threads and pinned host memory": lambda settings: counter(settings, "16", "threads", "4", "pinned"),
    "graphs, events and streams": objects,
    "left running": lambda settings: counter(settings, "16", dump=["--leave-running"], times=3),
    "dry run": dry_run,
    "devices that can't be dumped": unsupported.devices,
    "a device of a process without CUDA": unsupported.in_a_child,
    "a dry run reports all devices": unsupported.all_at_once,
    "a part of a GPU": unsupported.mig,
    "connections to MPS": unsupported.mps,
    "memory of GPUs that processes share": unsupported.shared_memory,
    "a device that a plugin dumps": unsupported.taken_by_plugin,
    "five processes": lambda settings: counter(settings, "16", processes=5, times=2),
    "compressed": lambda settings: counter(settings, "32", dump=["--compress"]),
    "pages of one while the other is copied out": overlap.overlapped,
    "pages of one meanwhile, left running": lambda settings: overlap.overlapped(settings, "--leave-running"),
    "pages of one meanwhile, compressed": overlap.compressed,
    "pages of a plain process meanwhile": overlap.with_plain,
    "pages that may change wait": overlap.unseen,
    "pages of one meanwhile, the other fails": overlap.other_fails,
    "pages of one meanwhile, no room": overlap.no_room,
    "pages of one meanwhile, SIGTERM": overlap.interrupted,
    "pages of one meanwhile, the worker killed": lambda settings: overlap.killed(settings, of_worker=True),
    "pages of one meanwhile, criu killed": lambda settings: overlap.killed(settings, of_worker=False),
    "two processes in the background": lambda settings: counter(
        settings, "64", processes=2, dump=["--leave-running", "--background"]),
    "the lock fails": lambda settings: fault(settings, "lock=999", "lock process"),
    "a client of MPS": lambda settings: fault(settings, "lock=801", r"lock process \d+: CUDA_ERROR_NOT_SUPPORTED.*MPS"),
    "work isn't done in time": lambda settings: fault(settings, "lock=600", "--cuda-timeout", "--cuda-timeout", "1"),
    "work is done the second time": lambda settings: counter_with(settings, "lock=600@1"),
    "the management library never answers": mute,
    "the lock never returns": lambda settings: interrupted(settings, "lock=hang"),
    "the state isn't told": lambda settings: fault(settings, "state=999", "state of process"),
    "the checkpoint isn't supported": lambda settings: fault(settings, "checkpoint=801", "managed memory"),
    "a checkpoint without memory": lambda settings: fault(settings, "checkpoint=2", "enough memory"),
    "a checkpoint that never ends": lambda settings: fault(settings, "checkpoint=hang", "hasn't come to an end",
                                                           "--cuda-timeout", "1"),
    "SIGTERM while contents are copied out": lambda settings: interrupted(settings, "checkpoint=slow"),
    "SIGTERM in a checkpoint that never ends": lambda settings: interrupted(settings, "checkpoint=hang"),
    "the process is lost in its checkpoint": lambda settings: lost(settings, "checkpoint=broken", "304"),
    "the driver's thread ends in a checkpoint": lambda settings: lost(settings, "checkpoint=dies", "ended while",
                                                                     "--cuda-timeout", "5"),
    "the driver's thread is stuck": lambda settings: lost(settings, "checkpoint=stuck", "hasn't come to an end",
                                                       "--cuda-timeout", "1"),
    "a restore without memory": lambda settings: failed_restore(settings, "restore=2", "enough memory"),
    "a process that is lost in its restore": lambda settings: failed_restore(settings, "restore=broken", "304"),
    "the driver's thread ends in a restore": lambda settings: failed_restore(settings, "restore=dies", "ended while"),
    "a restore that can't unlock": lambda settings: failed_restore(settings, "unlock=999", "unlock process"),
    "SIGTERM in a restore that never ends": interrupted_restore,
    "a dump that can't unlock": lambda settings: lost(settings, "unlock=999,checkpoint=801", "unlock process"),
    "a stopped process": stopped,
    "killed in a checkpoint": lambda settings: killed(settings, "checkpoint=hang"),
    "killed while contents are copied out": lambda settings: killed(settings, "checkpoint=slow"),
    "killed before a checkpoint": killed_before_checkpoint,
    "killed at moments of a dump": killed_at_moments,
    "killed at moments of a restore": restores_killed_at_moments,
    "killed when somebody else had locked it": killed_with_others_lock,
    "killed beside one of the same pid": killed_beside_namesake,
    "refused for another reason": refused_by_others,
    "in a pid namespace below that of the tree": nested,
    "a process that is lost already": failed_before,
    "a dump that can't bring it back": not_brought_back,
    "locked by somebody else": lambda settings: of_others(settings, ["Lock"], LOCKED),
    "checkpointed by somebody else": lambda settings: of_others(settings, ["Lock", "Checkpoint"], CHECKPOINTED),
    "left stopped": left_stopped,
    "a driver that is too old": too_old,
    "criu check": checked,
    "crit show": shown,
    "another version of the driver": lambda settings: other_machine(
        settings, "driver 580.159.04, but here it is 590.48.01", (), ("590.48.01",)),
    "another kind of GPU": lambda settings: other_machine(
        settings, "H100 can't be put on a NVIDIA H200", (), ("580.159.04", ("NVIDIA H200",), 1), "--gpu-map", "0=0"),
    "the other GPU": moved,
    "the GPU that is wished": lambda settings: moved(settings, "--gpu-map", "0=1", "--gpu-map", "1=0"),
    "a container with one of two GPUs": in_a_container,
    "a GPU by its name": named_gpu,
    "a GPU by its number": numbered_gpu,
    "GPUs without room": no_room,
    "a smaller GPU": smaller_gpu,
    "another build of a library": other_library,
    "a forked child": forked,
    "a forked child with a device of its own": left_open,
    "a child that executes a program": executed,
    "switched off": switched_off,
    "dumped beforehand": pre_dumped,
    "lazy pages": lambda settings: lazy(settings, "32", "pinned"),
    "a page server": page_server,
    "a stream": streamed,
    "in the background": in_background,
    "images of CRIU 4.2": of_criu_42,
    "requests": requested,
    "with plain processes and a plugin": together,
    "storage: twice": lambda settings: stored(settings, lambda made: counter(made, "80", times=2)),
    "storage: pages of a plain process meanwhile": lambda settings: stored(settings, overlap.with_plain),
    "storage: five processes": lambda settings: stored(settings, lambda made: counter(made, "16", processes=5)),
    "storage: two GPUs": lambda settings: stored(settings, on_two_devices, FAKE_CUDA_DEVICES="2"),
    "storage: graphs, events and streams": lambda settings: stored(settings, objects),
    "storage: left running": lambda settings: stored(
        settings, lambda made: counter(made, "80", dump=["--leave-running"], times=2)),
    "storage: compressed": lambda settings: stored(settings, lambda made: counter(made, "80", dump=["--compress"])),
    "storage: a page server": lambda settings: stored(settings, page_server, straight=False),
    "storage: in the background": lambda settings: stored(
        settings, lambda made: in_background(made, staged=False)),
    "storage: a stream": lambda settings: stored(settings, streamed, straight=False),
    "storage: the other GPU": lambda settings: stored(settings, lambda made: moved(made)),
    "storage: no room for images": lambda settings: stored(settings, no_room_for_images),
    "storage: the operation can't begin": lambda settings: stored(
        settings, lambda made: fault(made, "checkpoint=801", "managed memory")),
    "storage: SIGTERM": lambda settings: stored(settings, lambda made: interrupted(made, "complete=slow")),
    "storage: a restore that can't end": lambda settings: stored(
        settings, lambda made: failed_restore(made, "complete=999", "end the copy")),
    "storage: killed before contents are taken": lambda settings: stored(
        settings, lambda made: killed(made, "complete=hang")),
    "storage: killed when contents are in the images": lambda settings: stored(
        settings, lambda made: killed(made, "state=hang@2")),
}
# cases that need a file in /proc for the GPUs of another machine
OF_MACHINES = ("criu check", "crit show", "another version of the driver", "another kind of GPU", "the other GPU",
               "the GPU that is wished", "a container with one of two GPUs", "a GPU by its name", "a GPU by its number",
               "a smaller GPU", "storage: the other GPU", "a part of a GPU", "memory of GPUs that processes share")
# cases that need a kernel with NUMA nodes
OF_NODES = ("memory on the node of the process", "memory on the nodes that the process wants")
