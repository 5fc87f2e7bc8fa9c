# SPDX-License-Identifier: GPL-2.0-only
"""A directory of images as what it describes: processes, with their memory and open files."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Iterator
from typing import Any

from pycriu import images

Entry = dict[str, Any]

PAGE = 4096  # bytes that images count memory in

# Bits of vma_entry.status and flags.
REGULAR, STACK, VSYSCALL, VDSO, HEAP = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 5
FILE_PRIVATE, FILE_SHARED, ANON_SHARED, ANON_PRIVATE = 1 << 6, 1 << 7, 1 << 8, 1 << 9
SYSVIPC, SOCKET, VVAR, AIORING, MEMFD, GUARD, PLUGIN = 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 16, 1 << 27
GROWS_DOWN = 0x100

IN_PARENT, LAZY, PRESENT = 1, 2, 4  # bits of pagemap_entry.flags


class CheckpointError(Exception):
    """A directory that holds no images, or lacks some."""


@dataclasses.dataclass(frozen=True)
class PageRun:
    """Consecutive pages: where they belong, and where their content is (`flags`)."""

    start: int
    pages: int
    flags: int

    @property
    def end(self) -> int:
        """The address behind them."""
        return self.start + self.pages * PAGE


class Process:
    """A process of the tree, with what belongs to it alone."""

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
        """State of the main thread and of the process."""
        return self._checkpoint.one(f"core-{self.pid}.img")

    @property
    def comm(self) -> str:
        """Its name."""
        return self.core["tc"]["comm"]

    @property
    def is_zombie(self) -> bool:
        """Whether it had ended, and only its exit status was there."""
        return not self._checkpoint.exists(f"mm-{self.pid}.img")

    @functools.cached_property
    def ids(self) -> Entry:
        """Which objects of the kernel it uses. Older images have them in the core."""
        found = self._checkpoint.entries(f"ids-{self.pid}.img", missing=True)
        return found[0] if found else self.core.get("ids", {})

    @functools.cached_property
    def mm(self) -> Entry:
        """Its address space; empty if it is a zombie. Older images have mappings in a file of their own."""
        if self.is_zombie:
            return {}
        found = self._checkpoint.one(f"mm-{self.pid}.img")
        if "vmas" not in found:
            found["vmas"] = self._checkpoint.entries(f"vmas-{self.pid}.img", missing=True)
        return found

    @property
    def mappings(self) -> list[Entry]:
        """Its mappings, by address."""
        return self.mm.get("vmas", [])

    @functools.cached_property
    def fs(self) -> Entry:
        """Its working directory, root and umask; empty if it is a zombie."""
        found = self._checkpoint.entries(f"fs-{self.pid}.img", missing=True)
        return found[0] if found else {}

    @functools.cached_property
    def thread_fs(self) -> dict[int, Entry]:
        """The same of those threads that have their own, by thread."""
        if self.is_zombie:
            return {}
        cores = {tid: self._checkpoint.one(f"core-{tid}.img")["thread_core"] for tid in self.threads}
        return {tid: core["fs"] for tid, core in cores.items() if "fs" in core}

    @functools.cached_property
    def descriptors(self) -> list[Entry]:
        """Its open descriptors."""
        if "files_id" not in self.ids:
            return []
        return self._checkpoint.entries(f"fdinfo-{self.ids['files_id']}.img", missing=True)

    def pages(self) -> Iterator[PageRun]:
        """Runs of pages that were dumped, by address."""
        return self._checkpoint.pages(f"pagemap-{self.pid}.img")


class Checkpoint:
    """What is in a directory. Reads images when they are asked for; throws CheckpointError, pycriu's ImageError."""

    def __init__(self, path: str) -> None:
        self.path = path
        if not os.path.isdir(path):
            raise CheckpointError(f"{path} is no directory")

    def name(self, file: str) -> str:
        """The path of a file in it."""
        return os.path.join(self.path, file)

    def exists(self, file: str) -> bool:
        """Whether there is a file of this name."""
        return os.path.exists(self.name(file))

    def files_like(self, *beginnings: str) -> list[str]:
        """Names of files that begin so, sorted."""
        return sorted(file for file in os.listdir(self.path) if file.startswith(beginnings))

    def entries(self, file: str, *, missing: bool = False, pretty: bool = False) -> list[Entry]:
        """All entries of an image; none if it is missing and may be."""
        try:
            with open(self.name(file), "rb") as stream:
                return images.load(stream, pretty, no_payload=True)["entries"]
        except FileNotFoundError:
            if missing:
                return []
            if self.exists("encryption.img"):
                raise CheckpointError(f"the images in {self.path} are encrypted, which crit doesn't undo") from None
            raise CheckpointError(f"{self.path} has no {file}, so it holds no complete checkpoint") from None
        except images.ImageError as error:
            raise CheckpointError(f"{self.name(file)}: {error}") from error

    def one(self, file: str) -> Entry:
        """The only entry of an image."""
        found = self.entries(file)
        if len(found) != 1:
            raise CheckpointError(f"{self.name(file)} has {len(found)} entries in place of one")
        return found[0]

    def pages(self, file: str) -> Iterator[PageRun]:
        """The runs of pages that a pagemap lists; none if there is no such file."""
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
        """What is true of the whole dump."""
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
        """The processes without a parent: one, if the images are whole."""
        return [process for process in self.processes if process.ppid == 0]

    @functools.cached_property
    def files(self) -> dict[int, Entry]:
        """Open files by number, as entries of files.img."""
        return {entry["id"]: entry for entry in self.entries("files.img", missing=True)}

    @functools.cached_property
    def pretty_files(self) -> dict[int, Entry]:
        """The same with addresses, types and states as people read them."""
        return {entry["id"]: entry for entry in self.entries("files.img", missing=True, pretty=True)}

    @functools.cached_property
    def _older_files(self) -> dict[tuple[str, int], Entry]:
        """Open files from before files.img, by type and number."""
        kept = {"REG": "reg-files.img", "PIPE": "pipes.img", "UNIXSK": "unixsk.img"}
        return {(kind, entry["id"]): entry for kind, image in kept.items() for entry in self.entries(image, missing=True)}

    def file(self, kind: str, number: int, field: str) -> Entry | None:
        """What is known of a file of a type, e.g. ("REG", 7, "reg"); None if there is no such file."""
        entry = self.files.get(number)
        return entry.get(field) if entry else self._older_files.get((kind, number))

    def path_of(self, number: int) -> str:
        """The path of a regular file or directory."""
        found = self.file("REG", number, "reg")
        return found["name"] if found else "unknown path"

    def describe(self, kind: str, number: int) -> str:
        """A file in a word or two."""
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
