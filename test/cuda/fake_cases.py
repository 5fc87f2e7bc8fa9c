# SPDX-License-Identifier: GPL-2.0-only
"""What is tried with the played driver: every failure that it knows, and what goes together with GPUs."""
import ctypes
import os
import re
import shutil
import signal
import subprocess
import time

from cases import Failed, Run, Settings, counter

RUNNING, LOCKED, CHECKPOINTED = range(3)


class Machine:
    """What the kernel's driver says of itself and of its GPUs, for one criu."""

    def __init__(self, work, release="580.159.04", gpus=("NVIDIA H100",), first=0):
        self.folder = os.path.join(work, f"machine-{release}-{'-'.join(gpus)}-{first}".replace(" ", ""))
        os.makedirs(self.folder, exist_ok=True)
        with open(os.path.join(self.folder, "version"), "w", encoding="utf-8") as file:
            file.write(f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {release}  Fri Nov 20 2026\n")
        for index, model in enumerate(gpus, first):
            name = os.path.join(self.folder, "gpus", f"0000:{index:02x}:00.0")
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
        return self.library.fakeDevicesOf(pid)

    @staticmethod
    def must(result):
        if result != 0:
            raise Failed(f"the played driver answered {result}")


def started(settings, *words, **options):
    return Run(settings, [settings.counter, *(words or ["16"])], "READY", **options)


def traced(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return "\nTracerPid:\t0\n" not in status.read()


def fault(settings, wanted, pattern, *options, verb="dump"):
    """A dump that fails because the driver does leaves the program running and unlocked."""
    run = started(settings)
    try:
        run.refused(verb, pattern, *options, environment={"FAKE_CUDA_FAULT": wanted})
        time.sleep(0.1)
        run.end(1)
    finally:
        run.clean()


def lost(settings, wanted, pattern, *options):
    """Where the driver itself has lost a process, the dump fails and says so, and lets go of it."""
    run = started(settings)
    try:
        run.refused("dump", pattern, *options, environment={"FAKE_CUDA_FAULT": wanted})
        if not run.alive() or traced(run.pid):
            raise Failed("the process was ended, or is held")
        with open(f"/proc/{run.pid}/stat", encoding="utf-8") as file:
            if file.read().rsplit(")", 1)[1].split()[0] not in "SR":
                raise Failed("the process doesn't run")
    finally:
        run.clean()


def failed_restore(settings, wanted, pattern):
    """A restore that fails leaves nothing, and can be tried again."""
    run = started(settings)
    try:
        run.dump()
        run.refused("restore", pattern, "-d", environment={"FAKE_CUDA_FAULT": wanted})
        if run.alive():
            raise Failed("a failed restore has left a process")
        run.restore()
        run.end(1)
    finally:
        run.clean()


def stopped(settings):
    """The driver can do nothing for a process that is stopped: refused, and it stays stopped."""
    run = started(settings)
    try:
        os.kill(run.pid, signal.SIGSTOP)
        run.refused("dump", "stopped by a signal.*SIGCONT")
        os.kill(run.pid, signal.SIGCONT)
        run.end(1)
    finally:
        run.clean()


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


def interrupted(settings, wanted, limit):
    """SIGTERM while the driver is at work ends the dump in time, and the program goes on."""
    run = started(settings)
    try:
        with begin(run, "dump", wanted, "-t", str(run.pid)) as dump:
            asked = time.monotonic()
            dump.terminate()
            if dump.wait(60) == 0:
                raise Failed("the dump ended well")
            if time.monotonic() - asked > limit:
                raise Failed(f"the dump took {time.monotonic() - asked:.1f} s to end")
        run.end(1)
    finally:
        run.clean()


def interrupted_restore(settings):
    """SIGTERM while the driver doesn't answer ends a restore, which leaves nothing."""
    run = started(settings)
    try:
        run.dump()
        with begin(run, "restore", "restore=hang", "-d") as restore:
            restore.terminate()
            if restore.wait(60) == 0:
                raise Failed("the restore ended well")
        if run.alive():
            raise Failed("an interrupted restore has left a process")
        run.restore()
        run.end(1)
    finally:
        run.clean()


def killed(settings, wanted):
    """Even a dump that is killed with the driver's work half done leaves the program running and unlocked."""
    run = started(settings)
    try:
        with begin(run, "dump", wanted, "-t", str(run.pid)) as dump:
            with open(f"/proc/{dump.pid}/task/{dump.pid}/children", encoding="utf-8") as file:
                os.kill(int(file.read().split()[0]), signal.SIGKILL)
            if dump.wait(20) == 0:
                raise Failed("the dump ended well")
        run.end(1)
    finally:
        run.clean()


def killed_at_moments(settings):
    """criu itself is killed: the process that does its work undoes everything."""
    run = started(settings)
    try:
        for moment in range(1, 7):
            with begin(run, "dump", "none", "-t", str(run.pid), "--leave-running") as dump:
                time.sleep(moment / 20)
                dump.kill()
            run.until(lambda: not traced(run.pid), 20, "the end of what a killed dump was at")
        run.end(1)
    finally:
        run.clean()


def made_ready(settings):
    """The memory that the driver copies into was made by criu, with the flags that the driver wanted taken off."""
    run = started(settings, "64")
    try:
        run.dump()
        if not re.search(r"64 MiB of process \d+ were made ready", run.log("dump")):
            raise Failed("the driver's mapping wasn't seen")
        run.restore()
        run.end(1)
    finally:
        run.clean()


def of_others(settings, calls, state):
    """What somebody else has locked or checkpointed before the dump stays so, however the dump ends."""
    run = started(settings)
    driver = Driver(settings)
    try:
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
    finally:
        run.clean()


def left_stopped(settings):
    """A tree that stays stopped after its restore stays locked: nobody can submit work then."""
    run = started(settings)
    driver = Driver(settings)
    try:
        run.dump()
        run.restore("--leave-stopped")
        os.kill(run.pid, signal.SIGCONT)
        time.sleep(0.2)
        if driver.state(run.pid) != LOCKED:
            raise Failed(f"state {driver.state(run.pid)} after a restore that leaves it stopped")
        driver.call("Unlock", run.pid)
        run.end(1)
    finally:
        run.clean()


def too_old(settings):
    """A driver from before the calls: refused by name, and the program goes on."""
    old = os.path.join(os.path.dirname(settings.environment["LD_LIBRARY_PATH"]), "fake-old")
    run = started(settings)
    try:
        run.refused("dump", "the CUDA driver is too old.*570", environment={"LD_LIBRARY_PATH": old})
        code, said = check(settings, {"LD_LIBRARY_PATH": old})
        if code == 0 or "570" not in said:
            raise Failed(f"criu check --feature cuda: {code}: {said}")
        run.end(1)
    finally:
        run.clean()


def check(settings, environment=None):
    result = subprocess.run([settings.criu, "check", "--feature", "cuda", "-v4"], capture_output=True, text=True,
                            env={**os.environ, **settings.environment, **(environment or {})}, check=False)
    return result.returncode, result.stdout + result.stderr


def checked(settings):
    """criu check says which driver there is, what it can, and its GPUs."""
    machine = Machine(settings.images, gpus=("NVIDIA H100", "NVIDIA H200"))
    words = machine.seen_by([settings.criu, "check", "--feature", "cuda", "-v4"])
    result = subprocess.run(words, capture_output=True, text=True, check=False,
                            env={**os.environ, **settings.environment})
    said = result.stdout + result.stderr
    if result.returncode != 0 or not re.search("cuda_gpu_map is supported.*driver 580.159.04, CUDA 13.0.*NVIDIA H100.*NVIDIA H200", said, re.DOTALL):
        raise Failed(f"criu check --feature cuda: {result.returncode}: {said}")


def shown(settings):
    """crit show says driver, GPUs and the contents of each process."""
    seen = on_machine(settings, Machine(settings.images))
    run = started(seen)
    try:
        run.dump()
        result = subprocess.run([settings.crit, "show", run.images], capture_output=True, text=True, check=False)
        if result.returncode != 0 or not re.search("NVIDIA H100, driver 580.159.04", result.stdout):
            raise Failed(f"crit show: {result.returncode}: {result.stdout} {result.stderr}")
    finally:
        run.clean()


def on_machine(settings, machine, **environment):
    seen = Settings(settings.criu, settings.counter, settings.images, None, {**settings.environment, **environment},
                    machine)
    seen.check = settings.check
    seen.crit = settings.crit
    return seen


def other_machine(settings, pattern, then, now, *options):
    """Images of one machine are refused on another before anything is made."""
    run = started(on_machine(settings, Machine(settings.images, *then)))
    try:
        run.dump()
        run.settings = on_machine(settings, Machine(settings.images, *now))
        run.refused("restore", pattern, "-d", *options)
        if "cuda" not in run.log("restore") or run.alive():
            raise Failed("the restore had begun")
        run.settings = on_machine(settings, Machine(settings.images, *then))
        run.restore()
        run.end(1)
    finally:
        run.clean()


def moved(settings, *options):
    """What was on one GPU goes to another one, chosen by the user or because the first isn't there."""
    both = {"FAKE_CUDA_DEVICES": "2"}
    gpus = ("NVIDIA H100", "NVIDIA H100")
    first = Machine(settings.images, gpus=gpus[:1] if not options else gpus)
    second = Machine(settings.images, gpus=gpus[:1], first=1) if not options else first
    run = started(on_machine(settings, first, **both))
    driver = Driver(settings)
    try:
        if driver.devices(run.pid) != 1:
            raise Failed("the program isn't on the first GPU")
        run.dump()
        run.settings = on_machine(settings, second, **both)
        run.restore(*options)
        if driver.devices(run.pid) != 2:
            raise Failed(f"memory is on GPUs {driver.devices(run.pid):#b}")
        run.end(1)
    finally:
        run.clean()


def no_room(settings):
    """Free memory of GPUs is looked at before anything is made: a restore that runs out of it can't be undone."""
    run = started(settings, "64")
    try:
        run.dump()
        run.refused("restore", "64 MiB are to be put on GPUs, which have only 8 MiB", "-d",
                    environment={"FAKE_CUDA_FREE": "8"})
        run.restore()
        run.end(1)
    finally:
        run.clean()


def other_library(settings):
    """A library of the driver that was rebuilt since is refused with both ids, before anything is made."""
    own = os.path.join(settings.images, "libraries")
    shutil.copytree(settings.environment["LD_LIBRARY_PATH"], own)
    library = os.path.join(own, "libcuda.so.1")
    run = started(settings, environment={"LD_LIBRARY_PATH": own})
    try:
        run.dump()
        with open(library, "rb") as file:
            content = file.read()
        note = b"\x14\0\0\0\x03\0\0\0GNU\0"
        at = content.index(note) + len(note)
        new = bytes(byte ^ 0xff for byte in content[at:at + 20])
        with open(library, "wb") as file:
            file.write(content[:at] + new + content[at + 20:])
        run.refused("restore", f"libcuda.so.1 in memory with build id {content[at:at + 20].hex()}, but here it has "
                    f"{new.hex()}", "-d")
        os.rename(library, f"{library}.other")
        run.refused("restore", "libcuda.so.1 in memory .*which isn't here", "-d")
        with open(library, "wb") as file:
            file.write(content)
        os.chmod(library, 0o755)
        run.restore()
        run.end(1)
    finally:
        run.clean()


def left_open(settings):
    """A child that was forked from a process with CUDA state has devices open that nobody can close: refused."""
    run = started(settings, "16", "fork", "1")
    try:
        run.refused("dump", r"descriptor \d+ of process \d+ is /dev/nvidia.*forked")
        run.end(1)
    finally:
        run.clean()


def executed(settings):
    """A child that has executed another program is an ordinary process."""
    counter_of = started(settings, "16", "exec", "1")
    try:
        counter_of.dump()
        counter_of.restore()
        counter_of.end(1)
    finally:
        counter_of.clean()


def switched_off(settings):
    """Without the subsystem nothing is asked of the driver, and nothing of it is in the images."""
    run = started(settings)
    try:
        run.dump("--no-device", "cuda", "--leave-running")
        if os.path.exists(os.path.join(run.images, "cuda.img")):
            raise Failed("there is a cuda.img")
        run.end(1)
    finally:
        run.clean()


def pre_dumped(settings, *options):
    """Host memory is dumped beforehand, which the log says; what GPUs hold comes with the dump. Twice, as a chain."""
    run = started(settings, "32", "pinned")
    try:
        whole = run.images
        for number in range(2):
            run.images = f"{whole}{number}"
            parent = ["--prev-images-dir", f"../{os.path.basename(whole)}{number - 1}"] if number else []
            run.must("pre-dump", "-t", str(run.pid), "--track-mem", *parent)
            if not re.search(r"of process \d+ only what is in host memory is pre-dumped", run.log("pre-dump")):
                raise Failed("the log doesn't say what a pre-dump leaves out")
        run.images = whole
        run.dump("--track-mem", "--prev-images-dir", f"../{os.path.basename(whole)}1", *options)
        run.restore()
        run.end(1)
    finally:
        run.clean()


def page_server(settings):
    """Contents of GPUs go to a page server like other memory."""
    run = started(settings, "32")
    try:
        os.makedirs(run.images)
        pid_file = os.path.join(run.images, "server.pid")
        subprocess.run([settings.criu, "page-server", "-D", run.images, "-o", "page-server.log", "-v4", "--address",
                        "127.0.0.1", "--daemon", "--pidfile", pid_file], check=True)
        port = re.search(r"listens at port (\d+)", run.log("page-server")).group(1)
        run.dump("--page-server", "--address", "127.0.0.1", "--port", port)
        run.restore()
        run.end(1)
    finally:
        run.clean()


def together(settings):
    """A tree with a CUDA process, plain ones and one that an external plugin serves."""
    server = os.path.join(settings.images, "server")
    with subprocess.Popen([settings.socket_user, "serve", server], stdout=subprocess.DEVNULL) as serving:
        try:
            while not os.path.exists(server):
                time.sleep(0.01)
            script = f"{settings.socket_user} use {server} & sleep 1000 & exec {settings.counter} 16"
            run = Run(settings, ["sh", "-c", script], "READY", 2,
                      environment={"EXAMPLE_SERVER": server})
            plugins = ["--libdir", settings.plugins]
            settings.environment["EXAMPLE_SERVER"] = server
            settings.environment["EXAMPLE_LOG"] = os.path.join(run.work, "calls")
            try:
                for _ in range(2):
                    run.dump(*plugins)
                    run.restore(*plugins)
                with open(settings.environment["EXAMPLE_LOG"], encoding="utf-8") as calls:
                    if "UNIX_SK" not in calls.read():
                        raise Failed("the plugin wasn't asked")
                with open(f"/proc/{run.pid}/task/{run.pid}/children", encoding="utf-8") as file:
                    children = [int(pid) for pid in file.read().split()]
                if len(children) != 2:
                    raise Failed(f"the children are {children}")
                for child in children:
                    os.kill(child, signal.SIGTERM)
                run.until(lambda: run.lines("PASS"), 20, "the check of the plugin's socket")
                run.end(2)
            finally:
                run.clean()
        finally:
            serving.kill()


def counter_with(settings, wanted):
    changed = Settings(settings.criu, settings.counter, settings.images, None,
                       {**settings.environment, "FAKE_CUDA_FAULT": wanted})
    return counter(changed, "16")


def objects(settings):
    """Graphs, events, streams with kernels under way, and memory that was mapped by hand."""
    run = Run(settings, [os.path.join(os.path.dirname(settings.counter), "objects")], "READY")
    try:
        for _ in range(2):
            time.sleep(0.2)
            run.dump()
            run.restore()
        run.end(1)
    finally:
        run.clean()


def stored(settings, case, *, straight=True, **options):
    """A case with a driver that has storage mode. Its dump says whether contents went straight into the images."""
    def check(run, verb):
        if verb != "dump" or "-t" not in run.last:
            return
        if ("contents go straight from GPUs" in run.log("dump")) != straight:
            raise Failed(f"contents {'did not go' if straight else 'went'} straight into the images")
    changed = Settings(settings.criu, settings.counter, settings.images, None,
                       {**settings.environment, "FAKE_CUDA_DRIVER": "615", **options}, settings.machine)
    changed.crit = settings.crit
    changed.check = check
    return case(changed)


def no_room_for_images(settings):
    """Where images can't take contents, these are held until the driver takes them back: the program goes on."""
    run = started(settings, "64")
    try:
        small = os.path.join(run.work, "small")
        os.mkdir(small)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "none", small], check=True)
        try:
            run.images = small
            run.refused("dump", "No space left")
            if "straight" not in run.log("dump"):
                raise Failed("contents didn't go straight into the images")
        finally:
            subprocess.run(["umount", small], check=True)
        run.images = f"{small}-other"
        run.dump()
        run.restore()
        run.end(1)
    finally:
        run.clean()


def on_two_devices(settings):
    """Each GPU's contents go by themselves, and back to where they were."""
    counter(settings, "24", "spread", processes=2, times=2)


CASES = {
    "memory for the driver": made_ready,
    "once": lambda settings: counter(settings, "64"),
    "three times": lambda settings: counter(settings, "16", times=3),
    "threads and pinned host memory": lambda settings: counter(settings, "16", "threads", "4", "pinned"),
    "graphs, events and streams": objects,
    "left running": lambda settings: counter(settings, "16", dump=["--leave-running"], times=3),
    "five processes": lambda settings: counter(settings, "16", processes=5, times=2),
    "compressed": lambda settings: counter(settings, "32", dump=["--compress"]),
    "the lock fails": lambda settings: fault(settings, "lock=999", "lock process"),
    "work isn't done in time": lambda settings: fault(settings, "lock=600", "--cuda-timeout", "--cuda-timeout", "1"),
    "work is done the second time": lambda settings: counter_with(settings, "lock=600@1"),
    "the lock never returns": lambda settings: interrupted(settings, "lock=hang", 3),
    "the state isn't told": lambda settings: fault(settings, "state=999", "state of process"),
    "the checkpoint isn't supported": lambda settings: fault(settings, "checkpoint=801", "managed memory"),
    "a checkpoint without memory": lambda settings: fault(settings, "checkpoint=2", "enough memory"),
    "a checkpoint that never ends": lambda settings: fault(settings, "checkpoint=hang", "hasn't come to an end",
                                                           "--cuda-timeout", "1"),
    "SIGTERM while contents are copied out": lambda settings: interrupted(settings, "checkpoint=slow", 6),
    "SIGTERM in a checkpoint that never ends": lambda settings: interrupted(settings, "checkpoint=hang", 12),
    "the process is lost in its checkpoint": lambda settings: lost(settings, "checkpoint=broken", "304"),
    "the driver's thread ends in a checkpoint": lambda settings: lost(settings, "checkpoint=dies", "ended while"),
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
    "killed at six moments": killed_at_moments,
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
    "GPUs without room": no_room,
    "another build of a library": other_library,
    "a forked child": left_open,
    "a child that executes a program": executed,
    "switched off": switched_off,
    "dumped beforehand": pre_dumped,
    "a page server": page_server,
    "with plain processes and a plugin": together,
    "storage: twice": lambda settings: stored(settings, lambda made: counter(made, "80", times=2)),
    "storage: five processes": lambda settings: stored(settings, lambda made: counter(made, "16", processes=5)),
    "storage: two GPUs": lambda settings: stored(settings, on_two_devices, FAKE_CUDA_DEVICES="2"),
    "storage: graphs, events and streams": lambda settings: stored(settings, objects),
    "storage: left running": lambda settings: stored(
        settings, lambda made: counter(made, "80", dump=["--leave-running"], times=2)),
    "storage: compressed": lambda settings: stored(settings, lambda made: counter(made, "80", dump=["--compress"])),
    "storage: a page server": lambda settings: stored(settings, page_server, straight=False),
    "storage: the other GPU": lambda settings: stored(settings, lambda made: moved(made)),
    "storage: no room for images": lambda settings: stored(settings, no_room_for_images),
    "storage: the operation can't begin": lambda settings: stored(
        settings, lambda made: fault(made, "checkpoint=801", "managed memory")),
    "storage: SIGTERM": lambda settings: stored(settings, lambda made: interrupted(made, "complete=slow", 6)),
    "storage: a restore that can't end": lambda settings: stored(
        settings, lambda made: failed_restore(made, "complete=999", "end the copy")),
    "storage: killed before contents are taken": lambda settings: stored(
        settings, lambda made: killed(made, "complete=hang")),
    "storage: killed when contents are in the images": lambda settings: stored(
        settings, lambda made: killed(made, "state=hang@2")),
}
# What needs a place in /proc for the GPUs of another machine.
OF_MACHINES = ("criu check", "crit show", "another version of the driver", "another kind of GPU", "the other GPU",
               "the GPU that is wished", "storage: the other GPU")
