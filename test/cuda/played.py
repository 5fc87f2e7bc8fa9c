# SPDX-License-Identifier: GPL-2.0-only
"""The played driver and the machine that it is in, as cases use them."""
import contextlib
import ctypes
import os
import signal
import subprocess

from cases import Failed, Run, Settings
from harness import processes

RUNNING, LOCKED, CHECKPOINTED = range(3)


class Machine:
    """What the kernel's driver says of itself and of its GPUs, for one criu. GPU i of the list is the played device
    first + i; `backwards`: the last one has the lowest PCI address."""

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

    def seen_by(self, words):
        mount = 'mount -t tmpfs none /proc/driver && mkdir /proc/driver/nvidia && ' \
                'mount --bind "$0" /proc/driver/nvidia && exec "$@"'
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", mount, self.folder, *words]

    @staticmethod
    def possible():
        """Whether there is a place in /proc for it."""
        return os.path.isdir("/proc/driver")


class Nodes:
    """A machine that may have two nodes with memory (NUMA), as one criu sees it."""

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
        """Whether the kernel knows of nodes at all."""
        return os.path.exists(cls.FILE)


class Driver:
    """The played driver, called by this process as somebody else who locks and unlocks."""

    def __init__(self, settings):
        self.library = ctypes.CDLL(os.path.join(settings.environment["LD_LIBRARY_PATH"], "libcuda.so.1"))

    def state(self, pid):
        found = ctypes.c_int(-1)
        self.must(self.library.cuCheckpointProcessGetState(pid, ctypes.byref(found)))
        return found.value

    def call(self, name, pid):
        self.must(getattr(self.library, f"cuCheckpointProcess{name}")(pid, None))

    def devices(self, pid):
        """The devices that a process has memory on, a bit each."""
        return self.library.fakeDevicesOf(pid)

    def busy(self, pid):
        """Whether its thread in a process is at work."""
        return self.library.fakeIsBusy(pid) == 1

    def ticks(self, pid):
        """How often the kernel of the program `counter` has counted."""
        self.library.fakeWordOf.restype = ctypes.c_longlong
        return self.library.fakeWordOf(pid, 1)

    def until(self, run, state, seconds=60):
        """Waits until a process is in a state that somebody else brings it to."""
        run.until(lambda: self.state(run.pid) == state, seconds, f"state {state} of the driver")

    @staticmethod
    def must(result):
        if result != 0:
            raise Failed(f"the played driver answered {result}")


def children(pid):
    """The pids of its first thread's children; none when it is gone."""
    return [int(child) for child in (processes.text(f"/proc/{pid}/task/{pid}/children") or "").split()]


def traced(pid):
    """Whether criu still holds any thread of a process."""
    return any((processes.status(pid, thread) or {}).get("TracerPid", "0") != "0" for thread in processes.threads(pid))


@contextlib.contextmanager
def running(settings, command, ready="READY", count=1, **options):
    """A program while a case is about it. The case may look at another process of its session: see look_at_child()."""
    run = Run(settings, command, ready, count, **options)
    leader = run.pid
    try:
        yield run
    finally:
        run.pid = leader
        run.clean()


def started(settings, *words, **options):
    """The program `counter`."""
    return running(settings, [settings.counter, *(words or ["16"])], **options)


def look_at_child(run):
    """What is dumped, restored and ended from here on is the only child of what the case was about."""
    run.pid, = children(run.pid)


def kill(criu, of_worker):
    """Kills criu, or the process that does its work while it watches."""
    for pid in children(criu.pid)[:1] if of_worker else [criu.pid]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it is done


def require_failure(criu):
    """The end of one that was interrupted or killed."""
    if criu.wait(60) == 0:
        raise Failed("it ended well")


def begin(run, verb, wanted, *options):
    """Starts criu without waiting for it to end, but until the fault has come; once, so that what undoes its work is
    spared."""
    os.makedirs(run.images, exist_ok=True)
    come = os.path.join(run.work, "come")
    if os.path.exists(come):
        os.unlink(come)
    process = subprocess.Popen(
        run.command(verb, *options), stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
        env={**os.environ, **run.settings.environment, "FAKE_CUDA_FAULT": wanted, "FAKE_CUDA_ONCE": come})
    if wanted != "none":
        run.until(lambda: os.path.exists(come) or process.poll() is not None, 60, "the fault")
    return process


def on_machine(settings, machine, **environment):
    seen = Settings(settings.criu, settings.counter, settings.images, None, {**settings.environment, **environment},
                    machine)
    seen.check = settings.check
    seen.crit = settings.crit
    return seen
