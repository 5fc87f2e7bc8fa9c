# SPDX-License-Identifier: GPL-2.0-only
"""crit show DIRECTORY: summary of a dump on one page."""

from __future__ import annotations

import collections
import os
import time
from collections.abc import Iterator

from . import checkpoint as c
from .checkpoint import Checkpoint, Process
from .explore import pages_and_mappings, socket_words, sockets_of, state_of
from .gpus import gpus_of
from .memory import Memory
from .words import counted, duration, printable, size

_MOST_LINES = 40  # limit for lists of files and sockets
_LOCKS = {0: "iptables", 1: "nftables", 2: "none"}
_NAMESPACES = ("pid", "net", "ipc", "uts", "mnt", "user", "cgroup", "time")


def _command_line(checkpoint: Checkpoint, process: Process) -> str:
    """Returns the arguments of a process, or its name if they aren't in the images."""
    mm = process.mm
    length = min(mm["mm_arg_end"] - mm["mm_arg_start"], 4096) if mm else 0
    if length <= 0:
        return f"[{process.comm}]"
    with Memory(checkpoint, f"pagemap-{process.pid}.img") as memory:
        words = memory.read(mm["mm_arg_start"], length).rstrip(b"\0")
    return words.replace(b"\0", b" ").decode(errors="surrogateescape") or f"[{process.comm}]"


def _kind_of(mapping: c.Entry) -> str:
    status = mapping["status"]
    for bits, name in ((c.VDSO | c.VVAR | c.VSYSCALL, "of the kernel (vDSO)"), (c.HEAP, "heap"), (c.PLUGIN, "of devices"),
                       (c.FILE_PRIVATE, "private, of files"), (c.AIORING, "AIO rings"), (c.SOCKET, "of sockets"),
                       (c.SYSVIPC | c.ANON_SHARED | c.FILE_SHARED, "shared")):
        if status & bits:
            return name
    return "stacks" if status & c.STACK or mapping["flags"] & c.GROWS_DOWN else "private, anonymous"


class _Memory:
    """Sizes of memory by kind and by location of the content."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.by_kind: collections.Counter[str] = collections.Counter()
        self.by_place: collections.Counter[str] = collections.Counter()
        self.by_pid: collections.Counter[int] = collections.Counter()
        for process in checkpoint.processes:
            for run, mappings in pages_and_mappings(process):
                self.by_pid[process.pid] += run.pages * c.PAGE
                self._place(run)
                for mapping in mappings:
                    inside = min(run.end, mapping["end"]) - max(run.start, mapping["start"])
                    self.by_kind[_kind_of(mapping)] += inside
        for file in checkpoint.files_like("pagemap-shmem-"):
            for run in checkpoint.pages(file):
                self.by_kind["shared"] += run.pages * c.PAGE
                self._place(run)

    def _place(self, run: c.PageRun) -> None:
        place = "present" if run.flags & c.PRESENT else "parent" if run.flags & c.IN_PARENT else "late"
        self.by_place[place] += run.pages * c.PAGE


def _directory(checkpoint: Checkpoint) -> Iterator[str]:
    """Yields lines about the whole dump."""
    inventory = checkpoint.inventory
    stat = os.stat(checkpoint.name("inventory.img"))
    yield f"Checkpoint in {printable(checkpoint.path)}, of {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(stat.st_mtime))}"
    yield f"  images: {size(_used(checkpoint))} on disk, {counted(len(os.listdir(checkpoint.path)), 'file')}"
    if checkpoint.exists("parent"):
        yield f"  increment of: {printable(os.readlink(checkpoint.name('parent')))}"
    processor = checkpoint.roots[0].core["mtype"] if checkpoint.roots else "?"
    yield f"  processor: {processor}"
    if "dump_criu_run_id" in inventory:
        yield f"  run: {printable(inventory['dump_criu_run_id'])}"
    if extensions := inventory.get("extensions"):
        yield f"  not for CRIU 4.2, because of: {printable(', '.join(extensions))}"
    if plugins := inventory.get("plugins_entry", {}).get("plugins"):
        yield f"  plugins: {printable(', '.join(plugins))}"
    if inventory.get("lsmtype", "NO_LSM") != "NO_LSM":
        yield f"  labels of: {inventory['lsmtype']}"
    if any(name.startswith("tcp-stream-") for name in os.listdir(checkpoint.path)):
        yield f"  connections were locked by: {_LOCKS.get(inventory.get('network_lock_method', 0), 'something unknown')}"
    for entry in checkpoint.entries("stats-dump", missing=True):
        if "dump" in entry:
            yield f"  stood still for: {duration(entry['dump']['frozen_time'])}"


def _tree(checkpoint: Checkpoint, memory: _Memory) -> Iterator[str]:
    threads = sum(max(len(process.threads), 1) for process in checkpoint.processes)
    yield f"Tree: {counted(len(checkpoint.processes), 'process', 'processes')}, {counted(threads, 'thread')}"
    yield f"  {'PID':>7} {'STATE':8} {'UID':>6} {'THREADS':>7} {'MEMORY':>9}  COMMAND"
    waiting = [(process, 0) for process in reversed(checkpoint.roots)]
    while waiting:
        process, depth = waiting.pop()
        uid = process.core.get("thread_core", {}).get("creds", {}).get("uid", "")
        yield (f"  {process.pid:7} {state_of(process):8} {uid:>6} {len(process.threads):7} {size(memory.by_pid[process.pid]):>9}"
               f"  {'  ' * depth}{printable(_command_line(checkpoint, process))[:200]}")
        waiting += [(child, depth + 1) for child in reversed(process.children)]


def _memory(memory: _Memory) -> Iterator[str]:
    yield f"Memory: {size(sum(memory.by_place.values()))} dumped"
    for kind, count in memory.by_kind.most_common():
        yield f"  {kind + ':':24} {size(count):>9}"
    for place, words in (("parent", "in the parent of this dump"), ("late", "not in images, to come over the network")):
        if memory.by_place[place]:
            yield f"  {words}: {size(memory.by_place[place])}"


def _files(checkpoint: Checkpoint) -> Iterator[str]:
    used = [(descriptor["type"], descriptor["id"]) for process in checkpoint.processes for descriptor in process.descriptors]
    counts = collections.Counter(kind for kind, _ in set(used))
    yield f"Open files: {len(set(used))}, by {counted(len(used), 'descriptor')}"
    if counts:
        yield "  " + ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
    paths = sorted({checkpoint.path_of(number) for kind, number in used if kind == "REG"})
    yield from _at_most([f"  {printable(path)}" for path in paths])
    deleted = checkpoint.entries("remap-fpath.img", missing=True)
    kept = [checkpoint.path_of(entry["orig_id"]) for entry in deleted if "orig_id" in entry]
    if kept:
        yield f"Deleted files: {len(kept)}"
        yield from _at_most([f"  {printable(path)}" for path in sorted(kept)])


def _at_most(lines: list[str]) -> Iterator[str]:
    yield from lines[:_MOST_LINES]
    if len(lines) > _MOST_LINES:
        yield f"  … and {len(lines) - _MOST_LINES} more"


def _sockets(checkpoint: Checkpoint) -> Iterator[str]:
    lines = [f"  {process.pid}: fd {socket['fd']}: {socket_words(socket)}"
             for process in checkpoint.processes for socket in sockets_of(checkpoint, process)]
    if lines:
        yield f"Sockets: {counted(len(lines), 'descriptor')}"
        yield from _at_most(lines)


def _namespace_counts(checkpoint: Checkpoint) -> Iterator[tuple[str, int]]:
    """Yields kinds of private namespaces, and their numbers."""
    outside = checkpoint.inventory.get("root_ids", {})
    for kind in _NAMESPACES:
        numbers = {process.ids[f"{kind}_ns_id"] for process in checkpoint.processes if f"{kind}_ns_id" in process.ids}
        numbers.discard(outside.get(f"{kind}_ns_id"))
        if numbers:
            yield kind, len(numbers)


def _namespaces(checkpoint: Checkpoint) -> Iterator[str]:
    """Yields a line with private namespaces of the tree, in which criu wasn't."""
    found = [f"{kind}{f' ({count})' if count > 1 else ''}" for kind, count in _namespace_counts(checkpoint)]
    if found:
        yield f"Namespaces of its own: {', '.join(found)}"


def _stored(checkpoint: Checkpoint, file: str) -> str:
    """Returns how much of a device's content isn't zero, if it is stored as pages."""
    if not file.startswith("pagemap-") or not checkpoint.exists(file):
        return "" if checkpoint.exists(file) else ", which is missing"
    return f", {size(sum(run.pages for run in checkpoint.pages(file) if run.flags & c.PRESENT) * c.PAGE)} in pages"


def _gpus(checkpoint: Checkpoint) -> Iterator[str]:
    found = gpus_of(checkpoint)
    if found:
        yield f"GPUs: used by {counted(len({gpu.pid for gpu in found}), 'process', 'processes')}"
    for gpu in found:
        buffers = f" in {counted(gpu.buffers, 'buffer')}" if gpu.buffers else ""
        yield f"  {gpu.pid}: {printable(gpu.name)}: {size(gpu.size)}{buffers}"
        for file in gpu.contents:
            yield f"    contents: {file}{_stored(checkpoint, file)}"


def summary(checkpoint: Checkpoint) -> Iterator[str]:
    """Yields the lines of the page. Throws CheckpointError if the directory has no complete checkpoint."""
    if not checkpoint.exists("pstree.img"):
        yield from _encrypted(checkpoint) if checkpoint.exists("encryption.img") else _pre_dump(checkpoint)
        return
    memory = _Memory(checkpoint)
    for section in (_directory(checkpoint), _tree(checkpoint, memory), _memory(memory), _files(checkpoint),
                    _sockets(checkpoint), _namespaces(checkpoint), _gpus(checkpoint)):
        yield from section


def _pre_dump(checkpoint: Checkpoint) -> Iterator[str]:
    """Yields lines about a pre-dump, which has memory only and can't be restored."""
    if "pre_dump_mode" not in checkpoint.inventory:
        raise c.CheckpointError(f"{checkpoint.path} has no pstree.img, so it holds no complete checkpoint")
    yield f"Pre-dump in {printable(checkpoint.path)}: memory only, for a dump that names it with --prev-images-dir"
    for file in checkpoint.files_like("pagemap-"):
        yield f"  {file}: {size(sum(run.pages for run in checkpoint.pages(file)) * c.PAGE)}"


def _encrypted(checkpoint: Checkpoint) -> Iterator[str]:
    """Yields lines about encrypted images, of which only the number of recipients and sizes can be read."""
    head = checkpoint.one("encryption.img")
    yield f"Encrypted checkpoint in {printable(checkpoint.path)}, for {counted(len(head['recipients']), 'recipient')}"
    yield f"  images: {size(_used(checkpoint))} on disk, {counted(len(os.listdir(checkpoint.path)), 'file')}"
    yield "  crit can't decrypt them; criu verify, explain and restore can, with --decrypt"


def _used(checkpoint: Checkpoint) -> int:
    """Returns how many bytes of storage the directory uses."""
    return sum(os.lstat(checkpoint.name(file)).st_blocks * 512 for file in os.listdir(checkpoint.path))


def _process_data(checkpoint: Checkpoint, process: Process, memory: _Memory) -> c.Entry:
    return {"pid": process.pid, "ppid": process.ppid, "pgid": process.pgid, "sid": process.sid,
            "state": state_of(process), "uid": process.core.get("thread_core", {}).get("creds", {}).get("uid"),
            "threads": list(process.threads), "command": _command_line(checkpoint, process),
            "memory": memory.by_pid[process.pid]}


def _files_data(checkpoint: Checkpoint) -> c.Entry:
    used = [(descriptor["type"], descriptor["id"]) for process in checkpoint.processes for descriptor in process.descriptors]
    deleted = [checkpoint.path_of(entry["orig_id"]) for entry in checkpoint.entries("remap-fpath.img", missing=True)
               if "orig_id" in entry]
    return {"open": len(set(used)), "descriptors": len(used), "types": dict(collections.Counter(kind for kind, _ in set(used))),
            "paths": sorted({checkpoint.path_of(number) for kind, number in used if kind == "REG"}), "deleted": sorted(deleted)}


def summary_data(checkpoint: Checkpoint) -> c.Entry:
    """Returns the content of the page as data. Sizes are bytes, and times microseconds."""
    shown: c.Entry = {"path": checkpoint.path, "kind": "dump", "bytes": _used(checkpoint),
                      "files_on_disk": len(os.listdir(checkpoint.path))}
    if not checkpoint.exists("pstree.img"):
        if checkpoint.exists("encryption.img"):
            return {**shown, "kind": "encrypted", "recipients": len(checkpoint.one("encryption.img")["recipients"])}
        list(_pre_dump(checkpoint))  # throws CheckpointError for a directory without images
        return {**shown, "kind": "pre-dump", "memory": {
            file: sum(run.pages for run in checkpoint.pages(file)) * c.PAGE for file in checkpoint.files_like("pagemap-")}}
    memory, inventory = _Memory(checkpoint), checkpoint.inventory
    statistics = [entry["dump"] for entry in checkpoint.entries("stats-dump", missing=True) if "dump" in entry]
    return {
        **shown, "time": int(os.stat(checkpoint.name("inventory.img")).st_mtime),
        "parent": os.readlink(checkpoint.name("parent")) if checkpoint.exists("parent") else None,
        "processor": checkpoint.roots[0].core["mtype"] if checkpoint.roots else None,
        "run": inventory.get("dump_criu_run_id"), "extensions": inventory.get("extensions", []),
        "plugins": inventory.get("plugins_entry", {}).get("plugins", []),
        "statistics": statistics[0] if statistics else None,
        "processes": [_process_data(checkpoint, process, memory) for process in checkpoint.processes],
        "memory": {"kinds": dict(memory.by_kind), "places": dict(memory.by_place)},
        "files": _files_data(checkpoint),
        "sockets": [{"pid": process.pid, **socket} for process in checkpoint.processes
                    for socket in sockets_of(checkpoint, process)],
        "namespaces": dict(_namespace_counts(checkpoint)),
        "gpus": [{"pid": gpu.pid, "name": gpu.name, "bytes": gpu.size, "buffers": gpu.buffers, "contents": list(gpu.contents)}
                 for gpu in gpus_of(checkpoint)]}
