# SPDX-License-Identifier: GPL-2.0-only
"""Cases in which driver, GPUs or libraries differ between dump and restore."""
import os
import re
import shutil
import subprocess

from cases import Failed
from played import Driver, Machine, on_machine, started


def too_old(settings):
    """Requires a dump to refuse a driver without checkpoint calls, and the program to continue."""
    old = os.path.join(os.path.dirname(settings.environment["LD_LIBRARY_PATH"]), "fake-old")
    with started(settings) as run:
        run.refused("dump", "the CUDA driver is too old.*570", environment={"LD_LIBRARY_PATH": old})
        code, said = check(settings, {"LD_LIBRARY_PATH": old})
        if code == 0 or "570" not in said:
            raise Failed(f"criu check --feature cuda: {code}: {said}")
        run.end(1)


def check(settings, environment=None):
    result = subprocess.run([settings.criu, "check", "--feature", "cuda", "-v4"], capture_output=True, text=True,
                            env={**os.environ, **settings.environment, **(environment or {})}, check=False)
    return result.returncode, result.stdout + result.stderr


def checked(settings):
    """Requires criu check to report the driver, its features and its GPUs."""
    machine = Machine(settings.images, gpus=("NVIDIA H100", "NVIDIA H200"))
    words = machine.seen_by([settings.criu, "check", "--feature", "cuda", "-v4"])
    result = subprocess.run(words, capture_output=True, text=True, check=False,
                            env={**os.environ, **settings.environment})
    said = result.stdout + result.stderr
    if result.returncode != 0 or not re.search("cuda_gpu_map is supported.*driver 580.159.04, CUDA 13.0.*NVIDIA H100.*NVIDIA H200", said, re.DOTALL):
        raise Failed(f"criu check --feature cuda: {result.returncode}: {said}")


def shown(settings):
    """Requires crit show to print driver, GPUs and the contents of each process."""
    seen = on_machine(settings, Machine(settings.images))
    with started(seen) as run:
        run.dump()
        result = subprocess.run([settings.crit, "show", run.images], capture_output=True, text=True, check=False)
        if result.returncode != 0 or not re.search("NVIDIA H100, 1024 GiB, driver 580.159.04", result.stdout):
            raise Failed(f"crit show: {result.returncode}: {result.stdout} {result.stderr}")


def other_machine(settings, pattern, then, now, *options):
    """Requires a restore to refuse images of another machine before it creates anything."""
    with started(on_machine(settings, Machine(settings.images, *then))) as run:
        run.dump()
        run.settings = on_machine(settings, Machine(settings.images, *now))
        run.refused("restore", pattern, "-d", *options)
        if "cuda" not in run.log("restore") or run.alive():
            raise Failed("the restore had begun")
        run.settings = on_machine(settings, Machine(settings.images, *then))
        run.restore()
        run.end(1)


def moved(settings, *options):
    """Restores on another GPU, by --gpu-map or because the first one is missing."""
    both = {"FAKE_CUDA_DEVICES": "2"}
    gpus = ("NVIDIA H100", "NVIDIA H100")
    first = Machine(settings.images, gpus=gpus[:1] if not options else gpus)
    second = Machine(settings.images, gpus=gpus[:1], first=1) if not options else first
    driver = Driver(settings)
    with started(on_machine(settings, first, **both)) as run:
        if driver.devices(run.pid) != 1:
            raise Failed("the program isn't on the first GPU")
        run.dump()
        run.settings = on_machine(settings, second, **both)
        run.restore(*options)
        if driver.devices(run.pid) != 2:
            raise Failed(f"memory is on GPUs {driver.devices(run.pid):#b}")
        run.end(1)


def no_room(settings):
    """Requires a restore to check free GPU memory before it creates anything: a restore without room can't be rolled
    back."""
    with started(settings, "64") as run:
        run.dump()
        run.refused("restore", "64 MiB are to be put on GPUs, which have only 8 MiB", "-d",
                    environment={"FAKE_CUDA_FREE": "8"})
        run.restore()
        run.end(1)


def other_library(settings):
    """Requires a restore to refuse a rebuilt library of the driver with both build ids, before it creates anything."""
    own = os.path.join(settings.images, "libraries")
    shutil.copytree(settings.environment["LD_LIBRARY_PATH"], own)
    library = os.path.join(own, "libcuda.so.1")
    with started(settings, environment={"LD_LIBRARY_PATH": own}) as run:
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


def in_a_container(settings):
    """Restores in a container that has one of the machine's two GPUs. Contents of the other one go there by --gpu-map
    with its UUID."""
    both = {"FAKE_CUDA_DEVICES": "2"}
    gpus = ("NVIDIA H100", "NVIDIA H100")
    driver = Driver(settings)
    with started(on_machine(settings, Machine(settings.images, gpus=gpus), **both), "16", "device", "1") as run:
        run.dump()
        run.settings = on_machine(settings, Machine(settings.images, gpus=gpus[:1]), **both)
        run.refused("restore", "--gpu-map: there is no GPU 1 here", "-d", "--gpu-map", "1=1")
        run.refused("restore", "the images have no GPU '2', or several", "-d", "--gpu-map", "2=0")
        run.restore("--gpu-map", f"{uuid(1)}={uuid(0)}")
        if driver.devices(run.pid) != 1:
            raise Failed(f"memory is on GPUs {driver.devices(run.pid):#b}")
        run.end(1)


def uuid(device):
    """Returns the UUID of a fake device."""
    return f"GPU-fafafafa-fafa-fafa-fafa-fafafafafa{device:02x}"


def chosen(settings, then, now, devices, *options):
    """Restores a program of the first fake device on another machine. Compares its devices, one bit each."""
    three = {"FAKE_CUDA_DEVICES": "3"}
    driver = Driver(settings)
    with started(on_machine(settings, then, **three)) as run:
        run.dump()
        run.settings = on_machine(settings, now, **three)
        run.restore(*options)
        if driver.devices(run.pid) != devices:
            raise Failed(f"memory is on GPUs {driver.devices(run.pid):#b}")
        run.end(1)


def named_gpu(settings):
    """Names GPUs by their models, where each model exists once."""
    chosen(settings, Machine(settings.images), Machine(settings.images, gpus=("NVIDIA H200", "NVIDIA H100"), first=1), 4,
           "--gpu-map", "NVIDIA H100=NVIDIA H100")


def numbered_gpu(settings):
    """Names GPUs by numbers, which follow the PCI addresses as in nvidia-smi, whatever the UUIDs are."""
    machine = Machine(settings.images, gpus=("NVIDIA H100",) * 3, backwards=True)
    chosen(settings, machine, machine, 2, "--gpu-map", "2=1")


def smaller_gpu(settings):
    """Requires another GPU to have as much memory as the dumped one and room for the contents, whatever other GPUs
    have."""
    both = {"FAKE_CUDA_DEVICES": "2"}
    gpu = Machine(settings.images)
    with started(on_machine(settings, gpu, **both, FAKE_CUDA_MEMORY="81559"), "64") as run:
        run.dump()
        other = Machine(settings.images, first=1)
        run.settings = on_machine(settings, other, FAKE_CUDA_MEMORY="40960", **both)
        run.refused("restore", "a GPU of 81559 MiB can't be put on one of 40960 MiB", "-d", "--gpu-map", "0=0")
        run.settings = on_machine(settings, other, FAKE_CUDA_MEMORY="81559", FAKE_CUDA_FREE="1000,8", **both)
        run.refused("restore", "64 MiB are to be put on GPUs, which have only 8 MiB", "-d")
        run.settings = on_machine(settings, other, FAKE_CUDA_MEMORY="81559", FAKE_CUDA_FREE="8,1000", **both)
        run.restore()
        run.end(1)
