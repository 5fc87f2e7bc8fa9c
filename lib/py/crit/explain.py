# SPDX-License-Identifier: GPL-2.0-only
"""crit explain: finds what on this machine prevents a restore, without a restore.

It checks what a restore checks first: complete images, the processor, used pids, files, addresses and devices. It
changes nothing. A restore may fail even if it finds nothing: `criu check` and the restore itself check what only the
kernel knows.
"""

from __future__ import annotations

import dataclasses
import errno
import os
import platform
import socket
import stat
from collections.abc import Iterator

from pycriu import images

from . import checkpoint as c
from .checkpoint import Checkpoint, CheckpointError, Entry
from .compressed import Blocks
from .gpus import gpus_of, storage_of_plugin
from .memory import Stripes
from .words import printable


@dataclasses.dataclass(frozen=True)
class Finding:
    """A problem. With `prevents` a restore can't succeed; otherwise it may, with other options or by chance."""

    prevents: bool
    text: str
    hint: str

    def __str__(self) -> str:
        return f"{'Prevents' if self.prevents else 'May prevent'} a restore: {printable(self.text)}\n    {printable(self.hint)}"


_MACHINES = {"X86_64": ("x86_64", "i686"), "AARCH64": ("aarch64",), "ARM": ("armv7l", "armv6l"), "PPC64": ("ppc64le", "ppc64"),
             "S390": ("s390x",), "MIPS": ("mips64",), "LOONGARCH64": ("loongarch64",), "RISCV64": ("riscv64",)}

# Components of the extended processor state (bits of xstate_bv) that contain data. Values are the flags of
# /proc/cpuinfo of processors that have them.
_COMPONENTS = {2: "avx", 5: "avx512f", 6: "avx512f", 7: "avx512f", 9: "pku", 11: "user_shstk", 17: "amx_tile", 18: "amx_tile"}


def _owns(checkpoint: Checkpoint, kind: str) -> bool:
    """Returns whether the tree had a private namespace of this kind."""
    outside = checkpoint.inventory.get("root_ids", {}).get(f"{kind}_ns_id")
    inside = checkpoint.roots[0].ids.get(f"{kind}_ns_id")
    return inside is not None and outside is not None and inside != outside


def _whole(checkpoint: Checkpoint) -> Iterator[Finding]:
    """Yields images that are missing or too short."""
    if os.path.islink(checkpoint.name("parent")) and not checkpoint.exists("parent"):
        target = os.readlink(checkpoint.name("parent"))
        yield Finding(True, f"this dump is an increment of {target}, which isn't there",
                      "Put that directory back, or make the link \"parent\" lead to where it is now.")
    for file in checkpoint.files_like("pagemap-"):
        with open(checkpoint.name(file), "rb") as stream:
            head = next(images.ImageReader(stream).messages(), None)
        if head is None:
            yield Finding(True, f"{file} is empty", "The directory is incomplete.")
            continue
        stripes, blocks = Stripes(head), Blocks.of(checkpoint, file)
        content = sum(run.pages for run in checkpoint.pages(file) if run.flags & c.PRESENT) * c.PAGE
        for index, number in enumerate(stripes.files):
            pages, needed = f"pages-{number}.img", blocks.size if blocks else stripes.size_of(index, content)
            size = os.path.getsize(checkpoint.name(pages)) if checkpoint.exists(pages) else 0
            if needed > size:
                yield Finding(True, f"{pages} has {size} bytes, but {file} lists {needed} for it",
                              "The directory was copied in part; copy it again, with sparse files as they are.")
    for process in checkpoint.processes:
        for thread in process.threads:
            if not checkpoint.exists(f"core-{thread}.img"):
                yield Finding(True, f"core-{thread}.img of process {process.pid} is missing", "The directory is incomplete.")


def _processor(checkpoint: Checkpoint) -> Iterator[Finding]:
    """Reports another processor, or one that lacks register state of dumped threads."""
    kind = checkpoint.roots[0].core["mtype"]
    if platform.machine() not in _MACHINES.get(kind, ()):
        yield Finding(True, f"it was dumped on {kind}, and this is {platform.machine()}",
                      "Restore it on a machine with a processor of that kind.")
        return
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as text:
            flags = next((line.split() for line in text if line.startswith("flags")), None)
    except OSError:
        return
    if flags is None:
        return
    missing = set()
    for process in checkpoint.processes:
        for thread in process.threads:
            for core in checkpoint.entries(f"core-{thread}.img", missing=True):
                bits = core.get("thread_info", {}).get("fpregs", {}).get("xsave", {}).get("xstate_bv", 0)
                missing |= {name for bit, name in _COMPONENTS.items() if bits >> bit & 1 and name not in flags}
    for name in sorted(missing):
        yield Finding(True, f"threads have state of {name} in registers, which this processor lacks",
                      "Restore it on a processor that has it.")


def _numbers(checkpoint: Checkpoint) -> Iterator[Finding]:
    """Yields pids and tids that are used."""
    if _owns(checkpoint, "pid"):
        return
    for process in checkpoint.processes:
        for number in {process.pid, *process.threads}:
            if os.path.exists(f"/proc/{number}"):
                yield _holder(number)


def _holder(number: int) -> Finding:
    """Describes the process or thread that has a number here."""
    try:
        with open(f"/proc/{number}/stat", encoding="utf-8", errors="replace") as text:
            name, fields = text.read().split("(", 1)[1].rsplit(")", 1)
    except (OSError, IndexError):
        name, fields = "?", " ? ?"
    state, parent = fields.split()[:2]
    elsewhere = "restore in a pid namespace of its own (criu restore --new-pidns)"
    if number == 1:
        return Finding(True, f"number 1 is that of {name}, the init here", f"{elsewhere[0].upper()}{elsewhere[1:]}.")
    if state in "ZX" and parent == "1":
        return Finding(True, f"number {number} is that of {name}, which has ended, but process 1 hasn't waited for it",
                       f"Have process 1 wait for its children, or {elsewhere}.")
    if state in "ZX":
        return Finding(True, f"number {number} is that of {name}, which has ended, but process {parent} hasn't waited for it",
                       f"Make process {parent} wait for it, or end process {parent}, or {elsewhere}.")
    return Finding(True, f"number {number} is that of another process or thread here, {name}", f"End it, or {elsewhere}.")


def _wanted_files(checkpoint: Checkpoint) -> Iterator[tuple[str, Entry]]:
    """Yields each regular file or directory once, with its purpose."""
    carried = {entry["orig_id"] for entry in checkpoint.entries("remap-fpath.img", missing=True)}
    uses: dict[int, str] = {}
    for process in checkpoint.processes:
        if process.mm:
            uses.setdefault(process.mm["exe_file_id"], f"the program of process {process.pid}")
        for field, what in (("cwd_id", "the working directory"), ("root_id", "the root directory")):
            if field in process.fs:
                uses.setdefault(process.fs[field], f"{what} of process {process.pid}")
            for tid, own in process.thread_fs.items():
                uses.setdefault(own[field], f"{what} of thread {tid}")
        for mapping in process.mappings:
            if mapping["status"] & (c.FILE_PRIVATE | c.FILE_SHARED) and not mapping["status"] & c.MEMFD:
                uses.setdefault(mapping["shmid"], f"a file that process {process.pid} has mapped")
        for descriptor in process.descriptors:
            if descriptor["type"] == "REG":
                uses.setdefault(descriptor["id"], f"descriptor {descriptor['fd']} of process {process.pid}")
    for number, use in uses.items():
        file = checkpoint.file("REG", number, "reg")
        if file and number not in carried and not file.get("ext"):
            yield use, file


def _files(checkpoint: Checkpoint, root: str) -> Iterator[Finding]:
    """Yields files that are missing or differ from the dumped ones."""
    if _owns(checkpoint, "mnt") and root == "/":
        yield Finding(False, "the tree had mounts of its own, so where its files are isn't known",
                      "Say it with --root, the same as for criu restore.")
        return
    for use, file in _wanted_files(checkpoint):
        name = file["name"]
        path = os.path.join(root, name.lstrip("/"))
        try:
            found = os.stat(path)
        except OSError as error:
            yield Finding(True, f"{name}, {use}, can't be found: {error.strerror}", "Images don't hold it; put it back.")
            continue
        if "mode" in file and stat.S_IFMT(found.st_mode) != stat.S_IFMT(file["mode"]):
            yield Finding(True, f"{name}, {use}, has another file type than at the dump", "Restore the dumped file.")
        elif "size" in file and stat.S_ISREG(found.st_mode) and found.st_size != file["size"]:
            yield Finding(True, f"{name}, {use}, has {found.st_size} bytes, and had {file['size']}",
                          "Restore the file of the time of the dump.")
        elif "mode" in file and found.st_mode != file["mode"]:
            yield Finding(True, f"{name}, {use}, has mode {stat.S_IMODE(found.st_mode):o}, and had "
                          f"{stat.S_IMODE(file['mode']):o}", "Change it back, or restore with --skip-file-rwx-check.")


def _addresses(checkpoint: Checkpoint) -> Iterator[Finding]:
    """Yields socket addresses that this machine doesn't have, or that are in use."""
    if _owns(checkpoint, "net"):
        return
    tried = set()
    for entry in checkpoint.pretty_files.values():
        inet = entry.get("isk")
        if not inet or not inet.get("src_addr") or not inet["src_port"]:
            continue
        address, port = str(inet["src_addr"][0]), inet["src_port"]
        listens = inet["proto"] == "TCP" and inet["state"] == "LISTEN"
        if (address, port, listens) in tried:
            continue
        tried.add((address, port, listens))
        family = socket.AF_INET6 if inet["family"] == "INET6" else socket.AF_INET
        try:
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                probe.bind((address, port if listens else 0))
                if listens:
                    probe.listen()
        except OSError as error:
            # criu restores sockets without a connection also where their address is missing, and warns.
            warns = error.errno == errno.EADDRNOTAVAIL and not inet["dst_port"]
            yield Finding(not address.startswith("fe80") and not warns, f"a {inet['proto']} socket was bound to {address} port {port}: "
                          f"{error.strerror}", "Give this machine the address, and end the process that has the port.")


def _devices(checkpoint: Checkpoint) -> Iterator[Finding]:
    """Yields GPUs whose driver is missing here, or whose content is missing in the images or can't be read."""
    for file in storage_of_plugin(checkpoint):
        yield Finding(True, f"{file} has contents of GPUs in the form of CRIU 4.3's cuda_plugin, which criu can't read",
                      "Restore it with CRIU 4.3, or dump the program with this criu.")
    for gpu in gpus_of(checkpoint):
        for file in gpu.contents:
            if not checkpoint.exists(file):
                yield Finding(True, f"{file}, with what process {gpu.pid} had on {gpu.name}, is missing",
                              "The directory is incomplete.")
        device = "/dev/kfd" if gpu.name.startswith("AMD") else "/dev/nvidiactl"
        if not os.path.exists(device):
            yield Finding(True, f"process {gpu.pid} used {gpu.name}, and there is no {device}",
                          "Restore it on a machine with such a GPU and its driver.")


def _rights(checkpoint: Checkpoint) -> Iterator[Finding]:
    """Checks user, namespaces and security labels."""
    if os.geteuid() != 0:
        yield Finding(False, "this is not root", "Restore it as root.")
    for kind in ("pid", "net", "ipc", "uts", "mnt", "user", "cgroup", "time"):
        if _owns(checkpoint, kind) and not os.path.exists(f"/proc/self/ns/{kind}"):
            yield Finding(True, f"the tree had a {kind} namespace of its own, and this kernel has none",
                          "Restore it with a kernel that has them.")
    label = checkpoint.inventory.get("lsmtype", "NO_LSM")
    directory = {"SELINUX": "/sys/fs/selinux", "APPARMOR": "/sys/kernel/security/apparmor"}.get(label)
    if directory and not os.path.isdir(directory):
        yield Finding(True, f"processes have labels of {label}, which this kernel doesn't run",
                      "Boot with it, or restore with --lsm-profile none: (with the colon).")


def explain(checkpoint: Checkpoint, root: str) -> Iterator[Finding]:
    """Yields all problems. Throws CheckpointError if the directory has no complete checkpoint."""
    if "pre_dump_mode" in checkpoint.inventory:
        yield Finding(True, "this is a pre-dump: memory only", "Restore the dump that was made after it.")
        return
    if not checkpoint.roots:
        raise CheckpointError(f"{checkpoint.path} has no processes")
    for found in (_whole(checkpoint), _processor(checkpoint), _numbers(checkpoint), _files(checkpoint, root),
                  _addresses(checkpoint), _devices(checkpoint), _rights(checkpoint)):
        yield from found
