# SPDX-License-Identifier: GPL-2.0-only
"""The guest's only file system: an uncompressed cpio archive ("newc"), which the kernel unpacks faster than a packed one."""

import os
import re
import stat
import subprocess


class Initramfs:
    """Files by their absolute path in the guest."""

    def __init__(self):
        self.entries = {}  # path in the guest -> (mode, content or source path or (major, minor))

    def folder(self, path, mode=0o755):
        """A folder and those above it."""
        parent = os.path.dirname(path)
        if parent != path and parent not in self.entries and parent != "/":
            self.folder(parent)
        if path != "/":
            self.entries[path] = (stat.S_IFDIR | mode, b"")

    def text(self, path, content, mode=0o644):
        """A file made here."""
        self.folder(os.path.dirname(path))
        self.entries[path] = (stat.S_IFREG | mode, content.encode())

    def file(self, source, path=None, mode=None):
        """A copy of a file of this machine; links are followed."""
        path = path or source
        self.folder(os.path.dirname(path))
        self.entries[path] = (stat.S_IFREG | (mode or stat.S_IMODE(os.stat(source).st_mode)), source)

    def link(self, path, target):
        """A symbolic link."""
        self.folder(os.path.dirname(path))
        self.entries[path] = (stat.S_IFLNK | 0o777, target.encode())

    def character_device(self, path, major, minor, mode=0o600):
        """A device node, for what has to be there before devtmpfs is."""
        self.folder(os.path.dirname(path))
        self.entries[path] = (stat.S_IFCHR | mode, (major, minor))

    def program(self, source, path=None):
        """An executable with all shared libraries it is linked with."""
        self.file(source, path, 0o755)
        for library in libraries(source):
            if library not in self.entries:
                self.file(library, mode=0o755)

    def write(self, path):
        """The archive, folders before what is in them."""
        with open(path, "wb") as output:
            for number, name in enumerate(sorted(self.entries), 1):
                mode, content = self.entries[name]
                device = (0, 0)
                if isinstance(content, tuple):
                    device, content = content, b""
                elif isinstance(content, str):
                    with open(content, "rb") as file:
                        content = file.read()
                _record(output, number, name.lstrip("/"), mode, content, device)
            _record(output, 0, "TRAILER!!!", 0, b"", (0, 0))


def _record(output, number, name, mode, content, device):
    """Fields of cpio(5): inode, mode, uid, gid, links, mtime, size, device, device node, name's size, checksum."""
    raw = name.encode() + b"\0"
    fields = [number, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(raw), 0]
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + raw
    output.write(head + b"\0" * (-len(head) % 4) + content + b"\0" * (-len(content) % 4))


def libraries(program):
    """The paths of the loader and of the libraries that it would take; none for a static program."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        return []
    if missing := re.findall(r"^\s*(\S+) => not found", listed.stdout, re.MULTILINE):
        raise FileNotFoundError(f"{program} needs {', '.join(missing)}, which this machine doesn't have")
    return re.findall(r"(?:=> |^\s*)(/\S+)", listed.stdout, re.MULTILINE)
