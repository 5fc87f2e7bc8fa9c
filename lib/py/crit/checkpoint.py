# SPDX-License-Identifier: GPL-2.0-only
"""Processes of an images directory, with their memory and open files."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Iterator
from typing import Any

from pycriu import images

Entry = dict[str, Any]

PAGE = 4096  # bytes; unit of memory sizes in images

# Bits of vma_entry.status and vma_entry.flags.
REGULAR, STACK, VSYSCALL, VDSO, HEAP = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 5
FILE_PRIVATE, FILE_SHARED, ANON_SHARED, ANON_PRIVATE = 1 << 6, 1 << 7, 1 << 8, 1 << 9
SYSVIPC, SOCKET, VVAR, AIORING, MEMFD, GUARD, PLUGIN = 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 16, 1 << 27
GROWS_DOWN = 0x100

IN_PARENT, LAZY, PRESENT = 1, 2, 4  # bits of pagemap_entry.flags


class CheckpointError(Exception):
    """Error for a directory without images or with missing ones."""


class Record(Entry):
    """Message of an image. A field that crit needs and that the message lacks throws CheckpointError."""

    def __init__(self, fields: Entry, image: str) -> None:
        super().__init__({name: _recorded(value, image) for name, value in fields.items()})
        self._image = image

    def __missing__(self, name: str) -> Any:
        raise CheckpointError(f"{self._image} lacks the field {name}, so it is damaged, or no image of this kind")


def _recorded(value: Any, image: str) -> Any:
    """Makes Records of a message, or of the messages of a list."""
    if isinstance(value, dict):
        return Record(value, image)
    if isinstance(value, list):
        return [_recorded(item, image) for item in value]
    return value


@dataclasses.dataclass(frozen=True)
class PageRun:
    """Consecutive pages with their address. `flags` tells where their content is."""

    start: int
    pages: int
    flags: int

    @property
    def end(self) -> int:
        """End address, exclusive."""
        return self.start + self.pages * PAGE


class Process:
    """A process of the tree, with the images that belong to it alone."""

    def __init__(self, checkpoint: Checkpoint, entry: Entry) -> None:
        self._checkpoint = checkpoint
        self.pid: int = entry["pid"]
        self.ppid: int = entry["ppid"]
        self.pgid: int = entry["pgid"]
        self.sid: int = entry["sid"]
        self.threads: list[int] = entry.get("threads", [])
        self.children: list[Process] = []

    @functools.cached_property
    def core(self) -> Entry:
        """core_entry of the main thread, which also has the state of the process."""
        return self._checkpoint.one(f"core-{self.pid}.img")

    @property
    def comm(self) -> str:
        """Name of the main thread."""
        return self.core["tc"]["comm"]

    @property
    def is_zombie(self) -> bool:
        """True if the process had ended and only its exit status was left."""
        return not self._checkpoint.exists(f"mm-{self.pid}.img")

    @functools.cached_property
    def ids(self) -> Entry:
        """Ids of the kernel objects that the process uses. Older images have them in the core."""
        found = self._checkpoint.entries(f"ids-{self.pid}.img", missing=True)
        return found[0] if found else self.core.get("ids", {})

    @functools.cached_property
    def mm(self) -> Entry:
        """Address space; empty for a zombie. Older images have mappings in a separate file."""
        if self.is_zombie:
            return {}
        found = self._checkpoint.one(f"mm-{self.pid}.img")
        if "vmas" not in found:
            found["vmas"] = self._checkpoint.entries(f"vmas-{self.pid}.img", missing=True)
        return found

    @property
    def mappings(self) -> list[Entry]:
        """Mappings, by address."""
        return self.mm.get("vmas", [])

    @functools.cached_property
    def fs(self) -> Entry:
        """Working directory, root and umask; empty for a zombie."""
        found = self._checkpoint.entries(f"fs-{self.pid}.img", missing=True)
        return found[0] if found else {}

    @functools.cached_property
    def thread_fs(self) -> dict[int, Entry]:
        """fs_entry of each thread that has its own, by thread id."""
        if self.is_zombie:
            return {}
        cores = {tid: self._checkpoint.one(f"core-{tid}.img")["thread_core"] for tid in self.threads}
        return {tid: core["fs"] for tid, core in cores.items() if "fs" in core}

    @functools.cached_property
    def descriptors(self) -> list[Entry]:
        """Open descriptors."""
        if "files_id" not in self.ids:
            return []
        return self._checkpoint.entries(f"fdinfo-{self.ids['files_id']}.img", missing=True)

    def pages(self) -> Iterator[PageRun]:
        """Yields runs of dumped pages, by address."""
        return self._checkpoint.pages(f"pagemap-{self.pid}.img")


def _stream_hint(path: str) -> str:
    """Returns how a stream of images becomes a directory; empty if the file is no stream."""
    try:
        with open(path, "rb") as file:
            is_stream = file.read(8) == b"CRIUSTR\n"
    except OSError:
        return ""
    return f", but a stream: criu stream unpack -D DIR --stream-from {path} makes a directory of it" if is_stream else ""


class Checkpoint:
    """Content of an images directory. It reads images on demand. Throws CheckpointError and pycriu's ImageError."""

    def __init__(self, path: str) -> None:
        self.path = path
        if not os.path.isdir(path):
            raise CheckpointError(f"{path} is no directory{_stream_hint(path)}")

    def name(self, file: str) -> str:
        """Returns the path of a file in the directory."""
        return os.path.join(self.path, file)

    def exists(self, file: str) -> bool:
        """Returns whether a file with this name exists."""
        return os.path.exists(self.name(file))

    def files_like(self, *beginnings: str) -> list[str]:
        """Returns sorted names of files that begin with one of the texts."""
        return sorted(file for file in os.listdir(self.path) if file.startswith(beginnings))

    def entries(self, file: str, *, missing: bool = False, pretty: bool = False) -> list[Entry]:
        """Returns all entries of an image; an empty list if it is missing and `missing` is set."""
        try:
            with open(self.name(file), "rb") as stream:
                return [Record(entry, self.name(file)) for entry in images.load(stream, pretty, no_payload=True)["entries"]]
        except FileNotFoundError:
            if missing:
                return []
            if self.exists("encryption.img"):
                raise CheckpointError(f"the images in {self.path} are encrypted, which crit doesn't undo") from None
            raise CheckpointError(f"{self.path} has no {file}, so it holds no complete checkpoint") from None
        except images.ImageError as error:
            raise CheckpointError(f"{self.name(file)}: {error}") from error

    def one(self, file: str) -> Entry:
        """Returns the only entry of an image."""
        found = self.entries(file)
        if len(found) != 1:
            raise CheckpointError(f"{self.name(file)} has {len(found)} entries in place of one")
        return found[0]

    def pages(self, file: str) -> Iterator[PageRun]:
        """Yields the runs of pages of a pagemap; none if the file doesn't exist."""
        try:
            with open(self.name(file), "rb") as stream:
                entries = images.ImageReader(stream).messages()
                next(entries, None)
                for entry in entries:
                    pages = entry.nr_pages if entry.HasField("nr_pages") else entry.compat_nr_pages
                    flags = entry.flags if entry.HasField("flags") else IN_PARENT if entry.in_parent else PRESENT
                    yield PageRun(entry.vaddr, pages, flags)
        except FileNotFoundError:
            return
        except images.ImageError as error:
            raise CheckpointError(f"{self.name(file)}: {error}") from error

    @functools.cached_property
    def inventory(self) -> Entry:
        """Entry of inventory.img, which describes the whole dump."""
        return self.one("inventory.img")

    @functools.cached_property
    def processes(self) -> list[Process]:
        """All processes, parents before their children."""
        found = [Process(self, entry) for entry in self.entries("pstree.img")]
        by_pid = {process.pid: process for process in found}
        for process in found:
            if process.ppid:
                if process.ppid not in by_pid:
                    raise CheckpointError(f"{self.path}: process {process.pid} has a parent, {process.ppid}, that isn't there")
                by_pid[process.ppid].children.append(process)
        return found

    @functools.cached_property
    def roots(self) -> list[Process]:
        """Processes without a parent; one if the images are complete."""
        return [process for process in self.processes if process.ppid == 0]

    @functools.cached_property
    def files(self) -> dict[int, Entry]:
        """Entries of files.img by file id."""
        return {entry["id"]: entry for entry in self.entries("files.img", missing=True)}

    @functools.cached_property
    def pretty_files(self) -> dict[int, Entry]:
        """Entries of files.img by file id, with addresses, types and states in readable form."""
        return {entry["id"]: entry for entry in self.entries("files.img", missing=True, pretty=True)}

    @functools.cached_property
    def _older_files(self) -> dict[tuple[str, int], Entry]:
        """Open files of images without files.img, by type and id."""
        kept = {"REG": "reg-files.img", "PIPE": "pipes.img", "UNIXSK": "unixsk.img"}
        return {(kind, entry["id"]): entry for kind, image in kept.items() for entry in self.entries(image, missing=True)}

    def file(self, kind: str, number: int, field: str) -> Entry | None:
        """Returns the entry of a file by type, id and field, e.g. ("REG", 7, "reg"). None if there is no such file."""
        entry = self.files.get(number)
        return entry.get(field) if entry else self._older_files.get((kind, number))

    def path_of(self, number: int) -> str:
        """Returns the path of a regular file or directory."""
        found = self.file("REG", number, "reg")
        return found["name"] if found else "unknown path"

    def inherit_name(self, kind: str, number: int) -> str:
        """Describes a file, beginning with the name that criu restore --inherit-fd takes."""
        if kind == "PIPE" and (found := self.file(kind, number, "pipe")):
            return f"pipe:[{found['pipe_id']}]"
        if kind == "INETSK" and (found := self.file(kind, number, "isk")):
            return f"socket:[{found['ino']}]"
        if kind == "UNIXSK" and (found := self.file(kind, number, "usk")):
            peer = f" to socket:[{found['peer']}]" if found["peer"] else ""
            return f"socket:[{found['ino']}]{peer}{' ' if found['name'] else ''}{found['name']}"
        return self.describe(kind, number)

    def describe(self, kind: str, number: int) -> str:
        """Describes a file in a word or two."""
        if kind == "REG":
            return self.path_of(number)
        if kind == "PIPE":
            found = self.file(kind, number, "pipe")
            return f"pipe[{found['pipe_id'] if found else '?'}]"
        if kind == "UNIXSK":
            found = self.file(kind, number, "usk")
            if not found:
                return "unix[?]"
            return f"unix[{found['ino']} ({found['peer']}){' ' if found['name'] else ''}{found['name']}]"
        return f"{kind}.{number}"
