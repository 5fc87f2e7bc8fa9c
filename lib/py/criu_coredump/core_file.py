# SPDX-License-Identifier: GPL-2.0-only
"""A core file in the format of core(5) and <linux/elfcore.h>: an ELF header, a segment of notes, and a segment for each
mapping.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import stat
import struct
from collections.abc import Iterator
from typing import BinaryIO

from crit import checkpoint as c
from crit.checkpoint import Checkpoint, CheckpointError, Entry, Process
from crit.memory import Memory

from .machines import Machine, Note, machine_of

NT_PRSTATUS, NT_PRPSINFO, NT_AUXV, NT_FILE, NT_SIGINFO = 1, 3, 6, 0x46494C45, 0x53494749
PT_LOAD, PT_NOTE = 1, 4
_REGISTERS = {"thread_info", "ti_aarch64", "ti_arm"}  # fields of core_entry
_MOST_SEGMENTS = 0xFFFE  # e_phnum has 16 bits, and 0xFFFF has another meaning
_PIECE = 1 << 20
_STATES = {1: (0, b"R"), 2: (4, b"Z"), 3: (3, b"T")}  # task_state → pr_state, pr_sname


@dataclasses.dataclass
class Segment:
    """A mapping in the file. `size` is the number of its bytes that the file contains."""

    mapping: Entry
    size: int


class CoreFile:
    """Core file of a process. Throws CheckpointError, pycriu's ImageError and OSError."""

    def __init__(self, checkpoint: Checkpoint, process: Process) -> None:
        self._checkpoint = checkpoint
        self._process = process
        self._machine: Machine = machine_of(process.core)
        self._long = "Q" if self._machine.is_64 else "I"
        self._memory = Memory(checkpoint, f"pagemap-{process.pid}.img")
        self._dumped = list(process.pages())

    def write(self, out: BinaryIO) -> None:
        """Writes the core into a seekable file; zeroes become holes."""
        with self._memory:
            segments = self._segments()
            notes = b"".join(map(_note, self._notes()))
            header, entry = (64, 56) if self._machine.is_64 else (52, 32)
            offset = header + entry * (1 + len(segments))
            out.write(self._elf_header(header, entry, 1 + len(segments)))
            out.write(self._program_header(PT_NOTE, offset, 0, len(notes), 0, 0, 4))
            content = _round(offset + len(notes))
            at = content
            for segment in segments:
                mapping = segment.mapping
                out.write(self._program_header(PT_LOAD, at, mapping["start"], segment.size, mapping["end"] - mapping["start"],
                                               _segment_flags(mapping["prot"]), c.PAGE))
                at += _round(segment.size)
            out.write(notes)
            for segment in segments:
                out.seek(content)
                for piece in self._content(segment):
                    if piece.count(0) == len(piece):
                        out.seek(len(piece), os.SEEK_CUR)
                    else:
                        out.write(piece)
                content += _round(segment.size)
            out.truncate(content)

    # ---- ELF

    def _elf_header(self, size: int, entry: int, count: int) -> bytes:
        ident = b"\x7fELF" + bytes([2 if self._machine.is_64 else 1, 1, 1]) + bytes(9)
        return ident + struct.pack(f"<HHI{3 * self._long}IHHHHHH", 4, self._machine.elf, 1, 0, size, 0, 0, size, entry, count,
                                   0, 0, 0)

    def _program_header(self, kind: int, offset: int, address: int, in_file: int, in_memory: int, flags: int,
                        align: int) -> bytes:
        if self._machine.is_64:
            return struct.pack("<IIQQQQQQ", kind, flags, offset, address, 0, in_file, in_memory, align)
        return struct.pack("<IIIIIIII", kind, offset, address, 0, in_file, in_memory, flags, align)

    # ---- notes

    def _notes(self) -> Iterator[Note]:
        process = self._process
        threads = [process.pid, *(thread for thread in process.threads if thread != process.pid)]
        cores = [(thread, process.core if thread == process.pid else self._checkpoint.one(f"core-{thread}.img"))
                 for thread in threads]
        # A main thread that has ended has no registers.
        living = [(thread, core) for thread, core in cores if _REGISTERS & core.keys()]
        for index, (thread, core) in enumerate(living):
            yield "CORE", NT_PRSTATUS, self._status(core, thread)
            if index == 0:
                yield "CORE", NT_PRPSINFO, self._program()
                yield "CORE", NT_SIGINFO, bytes(128)
                yield "CORE", NT_AUXV, self._auxiliary_vector()
                if files := self._mapped_files():
                    yield "CORE", NT_FILE, files
            yield from self._machine.notes(core)

    def _status(self, core: Entry, thread: int) -> bytes:
        process, blocked = self._process, core.get("thread_core", {}).get("blk_sigset", core.get("tc", {}).get("blk_sigset", 0))
        if not self._machine.is_64:
            blocked &= 0xFFFFFFFF
        times = struct.pack(f"<{8 * self._long}", *[0] * 8)
        head = struct.pack(f"<iiih2x{2 * self._long}iiii", 0, 0, 0, 0, 0, blocked, thread, process.ppid, process.pgid, process.sid)
        registers = self._machine.registers(core)
        return head + times + registers + struct.pack("<i4x" if self._machine.is_64 else "<i", 1)

    def _program(self) -> bytes:
        process, creds = self._process, self._process.core.get("thread_core", {}).get("creds", {})
        state, letter = _STATES.get(process.core["tc"]["task_state"], (0, b"R"))
        nice = process.core.get("thread_core", {}).get("sched_nice", 0)
        mm = process.mm
        words = self._memory.read(mm["mm_arg_start"], min(mm["mm_arg_end"] - mm["mm_arg_start"], 79))
        ids = [value & 0xFFFF if self._machine.id_code == "H" else value for value in (creds.get("uid", 0), creds.get("gid", 0))]
        padding = "4x" if self._machine.is_64 else ""
        return struct.pack(f"<BcBb{padding}{self._long}{2 * self._machine.id_code}iiii16s80s", state, letter, letter == b"Z", nice,
                           process.core["tc"]["flags"], *ids, process.pid, process.ppid, process.pgid, process.sid,
                           process.comm.encode("utf-8", "surrogateescape")[:15], words.rstrip(b"\0").replace(b"\0", b" "))

    def _auxiliary_vector(self) -> bytes:
        """Returns pairs of key and value, as the kernel passed them to the program."""
        values = self._process.mm.get("mm_saved_auxv", [])
        if not self._machine.is_64:
            values = [value & 0xFFFFFFFF for value in values]
        return struct.pack(f"<{len(values)}{self._long}", *values)

    def _mapped_files(self) -> bytes:
        """Returns the NT_FILE note: mapped files with their addresses."""
        mapped = [mapping for mapping in self._process.mappings if _is_of_file(mapping)]
        numbers = [len(mapped), c.PAGE]
        names = b""
        for mapping in mapped:
            numbers += [mapping["start"], mapping["end"], mapping["pgoff"] // c.PAGE]
            names += self._checkpoint.path_of(mapping["shmid"]).encode("utf-8", "surrogateescape") + b"\0"
        return struct.pack(f"<{len(numbers)}{self._long}", *numbers) + names if mapped else b""

    # ---- memory

    def _segments(self) -> list[Segment]:
        found = [Segment(mapping, self._size_in_file(mapping)) for mapping in self._process.mappings]
        if len(found) >= _MOST_SEGMENTS:
            raise CheckpointError(f"process {self._process.pid} has {len(found)} mappings, more than a core file can have")
        return found

    def _size_in_file(self, mapping: Entry) -> int:
        """Returns the size of a mapping in the core. A mapping that equals its file has only its first page, by which
        debuggers identify the file.
        """
        size = mapping["end"] - mapping["start"]
        if mapping["status"] & (c.VSYSCALL | c.VVAR | c.PLUGIN | c.GUARD) or not mapping["prot"]:
            return 0
        if _is_of_file(mapping) and not self._has_pages(mapping):
            return min(size, c.PAGE)
        return size

    def _has_pages(self, mapping: Entry) -> bool:
        return any(run.start < mapping["end"] and run.end > mapping["start"] for run in self._dumped)

    def _content(self, segment: Segment) -> Iterator[bytes]:
        mapping = segment.mapping
        if mapping["status"] & (c.ANON_SHARED | c.SYSVIPC) or mapping["status"] & c.MEMFD:
            with Memory(self._checkpoint, f"pagemap-shmem-{self._shared_id(mapping)}.img") as shared:
                yield from self._pieces(shared, mapping, mapping["pgoff"], segment.size)
        else:
            yield from self._pieces(self._memory, mapping, mapping["start"], segment.size)

    def _shared_id(self, mapping: Entry) -> int:
        """Returns the id in the image names of a shared mapping's content."""
        if not mapping["status"] & c.MEMFD:
            return mapping["shmid"]
        file = self._checkpoint.file("MEMFD", mapping["shmid"], "memfd") or {}
        inodes = {entry["inode_id"]: entry["shmid"] for entry in self._checkpoint.entries("memfd.img", missing=True)}
        return inodes.get(file.get("inode_id", 0), 0)

    def _pieces(self, memory: Memory, mapping: Entry, start: int, size: int) -> Iterator[bytes]:
        address = start
        while address < start + size:
            data, end = memory.piece(address, min(start + size, address + _PIECE))
            if data is None:
                data = self._from_file(mapping, address - start, end - address)
            yield data
            address = end

    def _from_file(self, mapping: Entry, offset: int, size: int) -> bytes:
        """Reads content that isn't in the images: from the mapped file, or zeroes without one."""
        data = b""
        if _is_of_file(mapping):
            with contextlib.suppress(OSError):
                data = _read_regular(self._checkpoint.path_of(mapping["shmid"]), mapping["pgoff"] + offset, size)
        return data.ljust(size, b"\0")


def _read_regular(path: str, offset: int, size: int) -> bytes:
    """Reads a regular file; returns nothing for others. An image may name a fifo, whose open would wait, or a device."""
    found = os.open(path, os.O_PATH)
    try:
        if not stat.S_ISREG(os.fstat(found).st_mode):
            return b""
        with open(f"/proc/self/fd/{found}", "rb") as file:
            file.seek(offset)
            return file.read(size)
    finally:
        os.close(found)


def _is_of_file(mapping: Entry) -> bool:
    status = mapping["status"]
    return bool(status & (c.FILE_PRIVATE | c.FILE_SHARED)) and not status & (c.MEMFD | c.ANON_SHARED)


def _segment_flags(protection: int) -> int:
    """Converts PROT_READ, PROT_WRITE and PROT_EXEC to PF_R, PF_W and PF_X, whose bits are in reverse order."""
    return (protection & 1) << 2 | protection & 2 | (protection & 4) >> 2


def _round(size: int) -> int:
    return (size + c.PAGE - 1) // c.PAGE * c.PAGE


def _note(note: Note) -> bytes:
    """Encodes a note. Name and content are padded to multiples of 4 bytes."""
    owner, kind, content = note
    name = owner.encode() + b"\0"
    return (struct.pack("<III", len(name), len(content), kind) + name + bytes(-len(name) % 4) + content +
            bytes(-len(content) % 4))
