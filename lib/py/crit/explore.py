# SPDX-License-Identifier: GPL-2.0-only
"""crit x: views of an images directory. Each is a table, or with --json the same data. The names in JSON are those of
go-criu's crit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from . import checkpoint as c
from .checkpoint import Checkpoint, Entry, Process
from .words import printable

_STATES = {1: "Alive", 2: "Zombie", 3: "Stopped"}


def state_of(process: Process) -> str:
    """Returns the state of a process as a word."""
    return _STATES.get(process.core["tc"]["task_state"], "Unknown")


# ---- ps

def _ps_data(checkpoint: Checkpoint) -> Any:
    def node(process: Process) -> Entry:
        shown: Entry = {"pid": process.pid, "pgid": process.pgid, "sid": process.sid, "comm": process.comm,
                        "state": state_of(process), "threads": process.threads}
        if process.children:
            shown["children"] = [node(child) for child in process.children]
        return shown

    trees = [node(process) for process in checkpoint.roots]
    return trees[0] if len(trees) == 1 else trees


def _ps_text(checkpoint: Checkpoint) -> Iterator[str]:
    yield f"{'PID':>7}{'PGID':>7}{'SID':>7}   COMM"
    waiting = [(process, 0) for process in reversed(checkpoint.roots)]
    while waiting:
        process, depth = waiting.pop()
        yield f"{process.pid:7}{process.pgid:7}{process.sid:7}   {'    ' * depth}{printable(process.comm)}"
        waiting += [(child, depth + 1) for child in reversed(process.children)]


# ---- fds

def _files_of(checkpoint: Checkpoint, process: Process, describe: Callable[[str, int], str]) -> Iterator[tuple[str, str, str]]:
    """Yields (descriptor, type, description) of all files of a process."""
    for descriptor in process.descriptors:
        yield str(descriptor["fd"]), descriptor["type"], describe(descriptor["type"], descriptor["id"])
    for name, field in (("cwd", "cwd_id"), ("root", "root_id")):
        if field in process.fs:
            yield name, "REG", checkpoint.path_of(process.fs[field])
        for tid, own in process.thread_fs.items():
            yield f"{tid}/{name}", "REG", checkpoint.path_of(own[field])


def _fds_data(checkpoint: Checkpoint) -> Any:
    return [{"pId": process.pid, "files": [{"fd": name, "type": kind, "path": text}
                                           for name, kind, text in _files_of(checkpoint, process, checkpoint.describe)]}
            for process in checkpoint.processes]


def _fds_text(checkpoint: Checkpoint) -> Iterator[str]:
    for process in checkpoint.processes:
        yield f"{process.pid}"
        for name, _, text in _files_of(checkpoint, process, checkpoint.inherit_name):
            yield f"\t{name:>7}: {printable(text)}"


# ---- mems

class _Numbers:
    """Replaces large numbers by small ones, in the order of their first use."""

    def __init__(self) -> None:
        self._given: dict[int, int] = {}

    def of(self, number: int) -> int:
        """Returns the small number for a large one."""
        return self._given.setdefault(number, len(self._given) + 1)


def _resource(checkpoint: Checkpoint, mapping: Entry, numbers: _Numbers) -> str:
    """Returns the name of the mapped object."""
    status = mapping["status"]
    for bit, name in ((c.SYSVIPC, "ips"), (c.ANON_SHARED, "shmem"), (c.SOCKET, "packet")):
        if status & bit:
            return f"{name}[{numbers.of(mapping['shmid']):x}]"
    if status & (c.FILE_PRIVATE | c.FILE_SHARED):
        text = checkpoint.path_of(mapping["shmid"]) if not status & c.MEMFD else f"MEMFD.{mapping['shmid']}"
        if mapping["pgoff"]:
            text += f" + {mapping['pgoff']:#x}"
        return text + (" (s)" if status & c.FILE_SHARED else "")
    for bit, name in ((c.STACK, "stack"), (c.VSYSCALL, "vsyscall"), (c.VDSO, "vdso")):
        if status & bit:
            return f"[{name}]"
    return "[stack?]" if mapping["flags"] & c.GROWS_DOWN else ""


def _protection(mapping: Entry) -> str:
    return "".join(letter if mapping["prot"] & bit else "-" for letter, bit in (("r", 1), ("w", 2), ("x", 4)))


def _mems_data(checkpoint: Checkpoint) -> Any:
    numbers = _Numbers()
    return [{"pId": process.pid, "exe": checkpoint.path_of(process.mm["exe_file_id"]), "mems": [
        {"start": f"{mapping['start']:x}", "end": f"{mapping['end']:x}", "protection": _protection(mapping),
         "resource": _resource(checkpoint, mapping, numbers)} for mapping in process.mappings]}
        for process in checkpoint.processes if not process.is_zombie]


def _mems_text(checkpoint: Checkpoint) -> Iterator[str]:
    numbers = _Numbers()
    for process in checkpoint.processes:
        yield f"{process.pid}"
        if process.is_zombie:
            continue
        yield f"\t{'exe':<36}    {printable(checkpoint.path_of(process.mm['exe_file_id']))}"
        for mapping in process.mappings:
            resource = printable(_resource(checkpoint, mapping, numbers))
            addresses = f"{mapping['start']:08x}-{mapping['end']:08x}"
            yield (f"\t{addresses:<36}{_protection(mapping)}{' ' if resource else ''}{resource}"
                   f"{'' if mapping['status'] & c.REGULAR else ' *'}")


# ---- rss

def pages_and_mappings(process: Process) -> Iterator[tuple[c.PageRun, list[Entry]]]:
    """Yields each run of dumped pages with its mappings."""
    mappings = process.mappings
    first = 0
    for run in process.pages():
        while first < len(mappings) and mappings[first]["end"] <= run.start:
            first += 1
        last = first
        while last < len(mappings) and mappings[last]["start"] < run.end:
            last += 1
        yield run, mappings[first:last]


def _file_behind(checkpoint: Checkpoint, mapping: Entry) -> str:
    return checkpoint.path_of(mapping["shmid"]) if mapping["status"] & (c.FILE_PRIVATE | c.FILE_SHARED) else ""


def _rss_data(checkpoint: Checkpoint) -> Any:
    return [{"pId": process.pid, "rss": [
        {"phyAddr": f"{run.start:x}", "phyPages": run.pages, "vmas": [
            {"addr": f"{mapping['start']:x}", "pages": (mapping["end"] - mapping["start"]) // c.PAGE,
             "resource": _file_behind(checkpoint, mapping)} for mapping in mappings]}
        for run, mappings in pages_and_mappings(process)]} for process in checkpoint.processes]


def _rss_text(checkpoint: Checkpoint) -> Iterator[str]:
    for process in checkpoint.processes:
        yield f"{process.pid}"
        shown = None  # last mapping of the previous line
        for run, mappings in pages_and_mappings(process):
            line = f"\t{run.start:x} / {run.pages:<8}"
            for mapping in mappings:
                if mapping is shown:
                    yield f"{line:<24} ~"
                else:
                    count = (mapping["end"] - mapping["start"]) // c.PAGE
                    yield f"{line:<24} {mapping['start']:08x} / {count:<8} {printable(_file_behind(checkpoint, mapping))}".rstrip()
                shown, line = mapping, "\t"
            if not mappings:
                yield line.rstrip()


# ---- sk

_SOCKETS = {"INETSK": "isk", "UNIXSK": "usk", "PACKETSK": "psk", "NETLINKSK": "nlsk", "VSOCKSK": "vsk"}


def sockets_of(checkpoint: Checkpoint, process: Process) -> Iterator[Entry]:
    """Yields the open sockets of a process, each with a few fields."""
    for descriptor in process.descriptors:
        field = _SOCKETS.get(descriptor["type"])
        entry = checkpoint.pretty_files.get(descriptor["id"], {}) if field else {}
        if not field or field not in entry:
            continue
        socket = entry[field]
        shown: Entry = {"fd": descriptor["fd"], "fdType": descriptor["type"]}
        shown.update({name: socket[name] for name in ("family", "type", "proto", "state") if name in socket})
        if field == "isk":
            shown.update(srcAddr=(socket.get("src_addr") or ["*"])[0], srcPort=socket["src_port"],
                         dstAddr=(socket.get("dst_addr") or ["*"])[0], dstPort=socket["dst_port"])
        elif field == "usk":
            shown.update(family="UNIX", srcAddr=socket["name"], ino=socket["ino"], peer=socket["peer"])
        yield shown


def socket_words(socket: Entry) -> str:
    """Describes a socket in one line."""
    words = [str(socket[name]) for name in ("proto", "type") if name in socket][:1] or [socket["fdType"]]
    if "srcPort" in socket:
        words.append(f"{socket['srcAddr']}:{socket['srcPort']}")
        if socket["dstPort"]:
            words += ["→", f"{socket['dstAddr']}:{socket['dstPort']}"]
    elif socket.get("family") == "UNIX":
        words.insert(0, "UNIX")
        words.append(socket["srcAddr"] or f"[{socket['ino']}]")
        if socket["peer"]:
            words += ["↔", f"[{socket['peer']}]"]
    if "state" in socket:
        words.append(str(socket["state"]))
    return printable(" ".join(map(str, words)))


def _sk_data(checkpoint: Checkpoint) -> Any:
    return [{"pId": process.pid, "sockets": list(sockets_of(checkpoint, process))} for process in checkpoint.processes]


def _sk_text(checkpoint: Checkpoint) -> Iterator[str]:
    for process in checkpoint.processes:
        yield f"{process.pid}"
        for socket in sockets_of(checkpoint, process):
            yield f"\t{socket['fd']:7}: {socket_words(socket)}"


# View → functions for its lines and its data. Second names are those of go-criu's crit.
VIEWS: dict[str, tuple[Callable[[Checkpoint], Iterator[str]], Callable[[Checkpoint], Any]]] = {
    "ps": (_ps_text, _ps_data),
    "fds": (_fds_text, _fds_data),
    "fd": (_fds_text, _fds_data),
    "mems": (_mems_text, _mems_data),
    "mem": (_mems_text, _mems_data),
    "rss": (_rss_text, _rss_data),
    "sk": (_sk_text, _sk_data),
}
