# SPDX-License-Identifier: GPL-2.0-only
"""The fake driver and its machine, for use by cases."""
import contextlib
import ctypes
import os
import select
import signal
import subprocess

from cases import Failed, Run, Settings
from harness import processes

RUNNING, LOCKED, CHECKPOINTED = range(3)


class Machine:
    """Data of the kernel driver and its GPUs, as one criu sees them. GPU i of the list is the fake device first + i.
    `backwards`: the last one has the lowest PCI address."""

    def __init__(self, work, release="580.159.04", gpus=("NVIDIA H100",), first=0, backwards=False):
        self.folder = os.path.join(work, f"machine-{release}-{'-'.join(gpus)}-{first}{backwards}".replace(" ", ""))
        os.makedirs(self.folder, exist_ok=True)
        with open(os.path.join(self.folder, "version"), "w", encoding="utf-8") as file:
            file.write(f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {release}  Fri Nov 20 2026\n")
        for index, model in enumerate(gpus, first):
            place = 2 * first + len(gpus) - 1 - index if backwards else index
            name = os.path.join(self.folder, "gpus", f"0000:{place:02x}:00.0")
            os.makedirs(name, exist_ok=True)
            with open(os.path.join(name, "information"), "w", encoding="utf-8") as file:
                file.write(f"Model: \t\t {model}\nGPU UUID: \t GPU-fafafafa-fafa-fafa-fafa-fafafafafa{index:02x}\n")

    def list_capabilities(self, minors):
        """Writes the driver's list of the capabilities of MIG with their minor numbers."""
        with open(os.path.join(self.folder, "mig-minors"), "w", encoding="utf-8") as file:
            file.writelines(f"{name} {minor}\n" for name, minor in minors.items())

    def seen_by(self, words):
        mount = 'mount -t tmpfs none /proc/driver && mkdir /proc/driver/nvidia /proc/driver/nvidia-caps && ' \
                'mount --bind "$0" /proc/driver/nvidia && mount --bind "$0" /proc/driver/nvidia-caps && exec "$@"'
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", mount, self.folder, *words]

    @staticmethod
    def possible():
        """Returns true if /proc has a directory for it."""
        return os.path.isdir("/proc/driver")


class Nodes:
    """A machine with two NUMA nodes, as one criu sees it."""

    FILE = "/sys/devices/system/node/possible"

    def __init__(self, work):
        self.list = os.path.join(work, "nodes")
        with open(self.list, "w", encoding="utf-8") as file:
            file.write("0-1\n")

    def seen_by(self, words):
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c",
                f'mount --bind "$0" {self.FILE} && exec "$@"', self.list, *words]

    @classmethod
    def possible(cls):
        """Returns true if the kernel has NUMA nodes."""
        return os.path.exists(cls.FILE)


class Driver:
    """Calls of this process to the fake driver: a process beside criu that locks and unlocks."""

    def __init__(self, settings):
        self.library = ctypes.CDLL(os.path.join(settings.environment["LD_LIBRARY_PATH"], "libcuda.so.1"))

    def state(self, pid):
        found = ctypes.c_int(-1)
        self.must(self.library.cuCheckpointProcessGetState(pid, ctypes.byref(found)))
        return found.value

    def call(self, name, pid):
        self.must(getattr(self.library, f"cuCheckpointProcess{name}")(pid, None))

    def devices(self, pid):
        """Returns the devices on which a process has memory, one bit each."""
        return self.library.fakeDevicesOf(pid)

    def busy(self, pid):
        """Returns true if the driver's thread in a process is working."""
        return self.library.fakeIsBusy(pid) == 1

    def ticks(self, pid):
        """Returns the count of the program `counter`."""
        self.library.fakeWordOf.restype = ctypes.c_longlong
        return self.library.fakeWordOf(pid, 1)

    def until(self, run, state, seconds=60):
        """Waits until another process has brought a process into a state."""
        try:
            run.until(lambda: self.state(run.pid) == state, seconds, f"state {state} of the driver")
        except Failed as problem:
            raise Failed(f"{problem}; its state is {self.state(run.pid)}") from problem

    @staticmethod
    def must(result):
        if result != 0:
            raise Failed(f"the fake driver returned {result}")


def children(pid):
    """Returns the pids of the children of a process' first thread; none if the process has ended."""
    return [int(child) for child in (processes.text(f"/proc/{pid}/task/{pid}/children") or "").split()]


def traced(pid):
    """Returns true if criu still traces a thread of the process."""
    return any((processes.status(pid, thread) or {}).get("TracerPid", "0") != "0" for thread in processes.threads(pid))


@contextlib.contextmanager
def running(settings, command, ready="READY", count=1, **options):
    """Runs a program for the time of a case. The case may switch to another process of its session: look_at_child()."""
    run = Run(settings, command, ready, count, **options)
    leader = run.pid
    try:
        yield run
    finally:
        run.pid = leader
        run.clean()


def started(settings, *words, **options):
    """Runs the program `counter`."""
    return running(settings, [settings.counter, *(words or ["16"])], **options)


def look_at_child(run):
    """Switches the case to the only child of its process, for dumps, restores and the end."""
    run.pid, = children(run.pid)


def kill(criu, of_worker):
    """Kills criu, or its working process."""
    for pid in children(criu.pid)[:1] if of_worker else [criu.pid]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # the process has ended


def await_end_of_all(criu):
    """Waits until all processes of a criu with `stdout=subprocess.PIPE` have ended: each has the pipe's write end."""
    ended, _, _ = select.select([criu.stdout], [], [], 60)
    if not ended or criu.stdout.read() != b"":
        raise Failed("a process of criu works on 60 s after the guardian's death, or it has written to stdout")


def require_failure(criu):
    """Requires criu to fail after a signal."""
    if criu.wait(60) == 0:
        raise Failed("it ended well")


def begin(run, verb, wanted, *options, stdout=None):
    """Starts criu, and waits until the fault has happened. The fault happens once, so that a rollback isn't affected.
    """
    os.makedirs(run.images, exist_ok=True)
    come = os.path.join(run.work, "come")
    if os.path.exists(come):
        os.unlink(come)
    process = subprocess.Popen(
        run.command(verb, *options), stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
        stdout=stdout,
        env={**os.environ, **run.settings.environment, "FAKE_CUDA_FAULT": wanted, "FAKE_CUDA_ONCE": come})
    if wanted != "none":
        run.until(lambda: os.path.exists(come) or process.poll() is not None, 60, "the fault")
    return process


def on_machine(settings, machine, **environment):
    seen = Settings(settings.criu, settings.counter, settings.images, None, {**settings.environment, **environment},
                    machine)
    seen.check = settings.check
    seen.crit = settings.crit
    seen.small = settings.small
    return seen
