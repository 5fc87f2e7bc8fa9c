# SPDX-License-Identifier: GPL-2.0-only
"""File system with failures on demand: one flat directory in memory, served by a thread through /dev/fuse."""

import ctypes
import errno
import os
import stat
import struct
import threading

# <linux/fuse.h>
LOOKUP, FORGET, GETATTR, SETATTR, READLINK, SYMLINK, UNLINK = 1, 2, 3, 4, 5, 6, 10
OPEN, READ, WRITE, STATFS = 14, 15, 16, 17
RELEASE, FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, CREATE, INTERRUPT, BATCH_FORGET = 18, 25, 26, 27, 28, 29, 35, 36, 42
ROOT = 1
SET_MODE, SET_SIZE = 1, 8
BIG_WRITES = 1 << 5
LONGEST_WRITE = 128 << 10
MNT_DETACH = 2

_HEADER = struct.Struct("<IIQQIIII")


class Unmountable(Exception):
    """Error for a machine that can't mount FUSE."""


class Node:
    """File or symbolic link."""

    def __init__(self, mode, content=b""):
        self.mode = mode
        self.content = bytearray(content)


class FailingFiles:
    """File system, mounted on an existing directory until close()."""

    def __init__(self, path):
        self.path = path
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._names = {}  # name → node number
        self._nodes = {ROOT: Node(stat.S_IFDIR | 0o700)}
        self._fault = None
        self._struck = False
        try:
            self._device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        except OSError as reason:
            raise Unmountable(f"/dev/fuse can't be opened: {reason}") from None
        options = f"fd={self._device},rootmode=40000,user_id=0,group_id=0"
        if self._libc.mount(b"test", path.encode(), b"fuse", 0, options.encode()) != 0:
            reason = os.strerror(ctypes.get_errno())
            os.close(self._device)
            raise Unmountable(f"no FUSE file system can be mounted: {reason}")
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def fail(self, request, name, code, beyond=0):
        """Makes requests of a kind for files of this name fail with an error number. Requests that read, write or
        resize a file fail only beyond an offset. If `code` is a function, it is called once, and the request
        succeeds.
        """
        self._struck = False
        self._fault = (request, name, code, beyond)

    def heal(self):
        """Ends all failures. Returns whether a request has failed since fail()."""
        self._fault = None
        return self._struck

    def detach(self):
        """Detaches the mount. Processes that have it open can continue to use it."""
        if self._libc.umount2(self.path.encode(), MNT_DETACH) != 0:
            raise OSError(ctypes.get_errno(), f"detach {self.path}")

    def close(self):
        """Aborts the file system for all processes."""
        self._libc.umount2(self.path.encode(), MNT_DETACH)
        self._thread.join(10)

    def _serve(self):
        while True:
            try:
                data = os.read(self._device, LONGEST_WRITE + 8192)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.ENOENT, errno.EAGAIN):
                    continue
                break  # unmounted, and no process has it open
            request = _HEADER.unpack_from(data)
            _, kind, unique, node = request[:4]
            body = data[_HEADER.size:]
            if kind in (FORGET, BATCH_FORGET, INTERRUPT):
                continue
            code, answer = self._failure(kind, node, body), b""
            if code == 0:
                code, answer = self._answer(kind, node, body)
            try:
                os.write(self._device, struct.pack("<IiQ", 16 + len(answer), -code, unique) + answer)
            except OSError as error:
                if error.errno != errno.ENOENT:  # the process has abandoned an interrupted request
                    break
        os.close(self._device)

    def _failure(self, kind, node, body):
        """Returns the error number for a request; 0 if it succeeds."""
        request, name, code, beyond = self._fault or (None, None, 0, 0)
        if kind != request:
            return 0
        if kind == CREATE:
            about = _text(body[16:])
        else:
            about = next((key for key, number in self._names.items() if number == node), "")
        end = beyond + 1
        if kind in (READ, WRITE):
            offset, size = struct.unpack_from("<QI", body, 8)
            end = offset + size
        elif kind == SETATTR:
            valid, _, _, size = struct.unpack_from("<IIQQ", body)
            end = size if valid & SET_SIZE else 0
        if about != name or end <= beyond:
            return 0
        self._struck = True
        if not callable(code):
            return code
        self._fault = None
        code()
        return 0

    def _attributes(self, number):
        node = self._nodes[number]
        return struct.pack("<6Q10I", number, len(node.content), (len(node.content) + 511) // 512, 0, 0, 0, 0, 0, 0,
                           node.mode, int(number == ROOT or number in self._names.values()), 0, 0, 0, 4096, 0)

    def _entry(self, number):
        return struct.pack("<4Q2I", number, 0, 0, 0, 0, 0) + self._attributes(number)

    def _make(self, name, node):
        number = max(self._nodes) + 1
        self._nodes[number] = node
        self._names[name] = number
        return self._entry(number)

    def _answer(self, kind, number, body):
        """Returns an error number, or 0 and the reply."""
        node = self._nodes[number] if number in self._nodes else None
        opened = struct.pack("<QII", 0, 0, 0)
        if kind == INIT:
            return 0, struct.pack("<4I2H2I2H8I", 7, 31, 0, BIG_WRITES, 0, 0, LONGEST_WRITE, 0, 0, 0, *[0] * 8)
        if kind == LOOKUP:
            found = self._names.get(_text(body))
            return (0, self._entry(found)) if found else (errno.ENOENT, b"")
        if kind == GETATTR:
            return 0, struct.pack("<QII", 0, 0, 0) + self._attributes(number)
        if kind == SETATTR:
            valid, _, _, size = struct.unpack_from("<IIQQ", body)
            if valid & SET_MODE:
                node.mode = struct.unpack_from("<I", body, 68)[0]
            if valid & SET_SIZE:
                del node.content[size:]
                node.content += bytes(size - len(node.content))
            return 0, struct.pack("<QII", 0, 0, 0) + self._attributes(number)
        if kind == CREATE:
            return 0, self._make(_text(body[16:]), Node(struct.unpack_from("<I", body, 4)[0])) + opened
        if kind == SYMLINK:
            name, target = body.split(b"\0")[:2]
            return 0, self._make(name.decode(), Node(stat.S_IFLNK | 0o777, target))
        if kind == READLINK:
            return 0, bytes(node.content)
        if kind == UNLINK:
            return (0 if self._names.pop(_text(body), None) else errno.ENOENT), b""
        if kind in (OPEN, OPENDIR):
            return 0, opened
        if kind == READ:
            offset, size = struct.unpack_from("<QI", body, 8)
            return 0, bytes(node.content[offset:offset + size])
        if kind == WRITE:
            offset, size = struct.unpack_from("<QI", body, 8)
            node.content += bytes(max(0, offset - len(node.content)))
            node.content[offset:offset + size] = body[40:40 + size]
            return 0, struct.pack("<II", size, 0)
        if kind == READDIR:
            offset, size = struct.unpack_from("<QI", body, 8)
            return 0, self._listing(offset, size)
        if kind == STATFS:
            return 0, struct.pack("<5Q10I", 1 << 30, 1 << 30, 1 << 30, 0, 0, 4096, 255, 4096, 0, *[0] * 6)
        return (0 if kind in (FLUSH, RELEASE, RELEASEDIR) else errno.ENOSYS), b""

    def _listing(self, offset, size):
        out = b""
        for at, (name, number) in list(enumerate(self._names.items(), 1))[offset:]:
            entry = struct.pack("<QQII", number, at, len(name), self._nodes[number].mode >> 12) + name.encode()
            entry += bytes(-len(entry) % 8)
            if len(out) + len(entry) > size:
                break
            out += entry
        return out


def _text(body):
    """Returns the name at the beginning of some bytes."""
    return body.split(b"\0", 1)[0].decode()
