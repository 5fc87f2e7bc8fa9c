# SPDX-License-Identifier: GPL-2.0-only
"""Cases of objects that the driver can't checkpoint. criu refuses them before it locks a process."""
import contextlib
import json
import os
import subprocess
import sys

from cases import Failed
from played import RUNNING, Driver, Machine, children, on_machine, running, started

# Environment in which a driver call for a lock fails with a text of its own.
NO_LOCK = {"FAKE_CUDA_FAULT": "lock=999"}
DEVICES = {
    "/dev/infiniband/uverbs0": "RDMA device.*NCCL_IB_DISABLE=1",
    "/dev/infiniband/rdma_cm": "RDMA device.*NCCL_IB_DISABLE=1",
    "/dev/gdrdrv": "GDRCopy.*NCCL_GDRCOPY_ENABLE=0",
    "/dev/nvidia-caps-imex-channels/channel0": "IMEX channel.*NCCL_MNNVL_ENABLE=0 NCCL_CUMEM_ENABLE=0",
    "/dev/nvidia-nvswitchctl": "NVSwitch.*close it",
}


def refused(run, pattern, *options):
    """Requires a dump to refuse the program without a driver call that locks it."""
    run.refused("dump", pattern, *options, environment=NO_LOCK)
    if "locking process" in run.log("dump") or Driver(run.settings).state(run.pid) != RUNNING:
        raise Failed("the process was locked before the refusal")


def devices(settings):
    """Requires a dump to name descriptor, device and remedy."""
    for path, pattern in DEVICES.items():
        with started(settings, "16", "open", path) as run:
            refused(run, rf"process {run.pid} has {path} open \(descriptor 3\): .*{pattern}")
            run.end(1)


def in_a_child(settings):
    """Requires a dump to examine processes without CUDA, too, if another process of the tree uses CUDA."""
    script = f"(exec sleep 1000 9<>/dev/infiniband/uverbs0) & exec {settings.counter} 16"
    with running(settings, ["sh", "-c", script]) as run:
        child, = children(run.pid)
        refused(run, rf"process {child} has /dev/infiniband/uverbs0 open \(descriptor 9\)")
        run.end(1)


def all_at_once(settings):
    """Requires a dry run to report all such objects, and to lock nothing."""
    with started(settings, "16", "open", "/dev/infiniband/uverbs0", "open", "/dev/gdrdrv") as run:
        os.makedirs(run.images, exist_ok=True)
        words = run.command("dump", "-t", str(run.pid), "--dry-run", "--json")
        done = subprocess.run(words, env={**os.environ, **settings.environment, **NO_LOCK}, stdout=subprocess.PIPE, check=False,
                              timeout=60)
        said = json.loads(done.stdout)
        for path in ("/dev/infiniband/uverbs0", "/dev/gdrdrv"):
            if not any(path in each["reason"] and each["remedy"] for each in said["refusals"]):
                raise Failed(f"a dry run doesn't report {path}: {said}")
        if said["possible"] or "locking process" in run.log("dump"):
            raise Failed(f"report: {said}")
        run.end(1)


def mig(settings):
    """Requires a dump to refuse a part of a GPU (MIG), which the driver's list of capabilities tells."""
    machine = Machine(settings.images)
    machine.list_capabilities({"config": 1, "monitor": 2, "gpu0/gi1/access": 12, "gpu0/gi1/ci0/access": 13})
    with started(on_machine(settings, machine), "16", "open", "/dev/nvidia-caps/nvidia-cap12") as run:
        refused(run, rf"process {run.pid} uses gpu0/gi1, a part of a GPU \(MIG\).*whole GPU")
        run.end(1)


@contextlib.contextmanager
def server(path, name=None):
    """Runs a process that accepts connections at a Unix socket, under a name."""
    script = """import socket, sys
path, name = sys.argv[1:]
if name:
    with open("/proc/self/comm", "w") as file:
        file.write(name)
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind("\\0" + path[1:] if path[0] == "@" else path)
listener.listen()
print(flush=True)
held = []
while True:
    held.append(listener.accept())"""
    with subprocess.Popen([sys.executable, "-c", script, path, name or ""], stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()
            yield process.pid
        finally:
            process.kill()


def mps(settings):
    """Requires a dump to refuse a client of MPS, which it knows by the server's name or by the directory of MPS."""
    remedy = "echo quit | nvidia-cuda-mps-control"
    by_name = os.path.join(settings.images, "socket")
    with server(by_name, "nvidia-cuda-mps-server") as pid, started(settings, "16", "connect", by_name) as run:
        refused(run, rf"process {run.pid} is a client of MPS \(descriptor 3 is connected to process {pid}\).*{remedy}")
        run.end(1)
    folder = os.path.join(settings.images, "pipes")
    os.mkdir(folder)
    control = os.path.join(folder, "control")
    with server(control), started(settings, "16", "connect", control,
                                  environment={"CUDA_MPS_PIPE_DIRECTORY": folder}) as run:
        refused(run, rf"process {run.pid} is a client of MPS \(descriptor 3 is connected to {control}\).*{remedy}")
        run.end(1)


def shared_memory(settings):
    """Requires a dump to refuse processes that share memory of a GPU (CUDA IPC), unless the driver saves such memory."""
    pattern = "share memory of GPUs.*NCCL_P2P_DISABLE=1 NCCL_CUMEM_ENABLE=0"
    with started(settings, "16", "processes", "2", "open", "/dev/nvidia-uvm", count=2) as run:
        refused(run, rf"processes \d+ and \d+ {pattern}")
        run.end(2)
    with server("@cuda-uvmfd-4026531836-1"), started(settings, "16", "connect", "@cuda-uvmfd-4026531836-1") as run:
        refused(run, rf"process {run.pid} {pattern}".replace("share ", "shares "))
        run.end(1)
    newer = on_machine(settings, Machine(settings.images, release="610.43.02"))
    with started(newer, "16", "processes", "2", "open", "/dev/nvidia-uvm", count=2) as run:
        run.refused("dump", "lock process", environment=NO_LOCK)
        run.end(2)


def taken_by_plugin(settings):
    """Requires criu to leave RDMA devices to a plugin that dumps foreign files, and to go on to the lock."""
    with started(settings, "16", "open", "/dev/infiniband/uverbs0") as run:
        run.refused("dump", "lock process", "--libdir", settings.plugins, environment=NO_LOCK)
        run.end(1)
