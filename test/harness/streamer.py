# SPDX-License-Identifier: GPL-2.0-only
"""Replacement for criu-image-streamer at its sockets: receives the images of a dump, and serves them to a restore.

A request is a length and a message of one field, see images/img-streamer.proto. For each file criu passes one end of
a pipe, with one byte without meaning.
"""

import os
import socket
import struct
import threading

CAPTURE = "streamer-capture.sock"
SERVE = "streamer-serve.sock"


class Streamer:
    """Listens in an images directory; stores files by name in `files`.

    dies_after: number of bytes after which it closes everything. deaf_after: number after which it reads no more.
    """

    def __init__(self, folder, name, files=None, dies_after=None, deaf_after=None):
        os.makedirs(folder, exist_ok=True)
        self.path = os.path.join(folder, name)
        self.serves = name == SERVE
        self.files = files if files is not None else {}
        self.asked = []
        self.left = dies_after
        self.deaf = deaf_after
        self.counted = threading.Lock()
        self.ended = threading.Event()
        self.pipes = []
        self.connection = None
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(self.path)
        self.listening.listen(1)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def wait(self):
        """Waits until criu has closed the connection. Returns the files."""
        self.thread.join(60)
        if self.thread.is_alive():
            raise TimeoutError("criu doesn't dismiss the image streamer")
        return self.files

    def close(self):
        """Closes all its descriptors."""
        self.ended.set()
        for end in [self.listening, self.connection]:
            if end:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
                end.close()
        os.path.exists(self.path) and os.unlink(self.path)

    def _run(self):
        try:
            self.connection, _ = self.listening.accept()
            threads = []
            while (name := self._request()) is not None:
                self.asked.append(name)
                if self.serves:
                    found = name in self.files
                    self.connection.sendall(struct.pack("=I", 2) + bytes([8, found]))
                    if not found:
                        continue
                _, (pipe,), _, _ = socket.recv_fds(self.connection, 1, 1)
                work = threading.Thread(target=self._serve if self.serves else self._take, args=(name, pipe), daemon=True)
                work.start()
                threads.append(work)
            for work in threads:
                work.join(60)
        except OSError:
            pass
        finally:
            self.close()

    def _request(self):
        size = self.connection.recv(4, socket.MSG_WAITALL)
        if len(size) < 4:
            return None
        message = self.connection.recv(struct.unpack("=I", size)[0], socket.MSG_WAITALL)
        if message[:1] != b"\n" or message[1] != len(message) - 2:
            raise OSError(f"no request: {message}")
        return message[2:].decode()

    def _take(self, name, pipe):
        content = bytearray()
        while not self._over() and (piece := os.read(pipe, 1 << 16)):
            content += piece
            self._count(len(piece))
        if not self.ended.is_set():
            self.files[name] = bytes(content)
        os.close(pipe)

    def _serve(self, name, pipe):
        content = memoryview(self.files.pop(name))  # each file is served once
        try:
            while content and not self._over():
                content = content[os.write(pipe, content[:1 << 16]):]
                self._count(1 << 16)
        except OSError:
            pass
        os.close(pipe)

    def _count(self, size):
        with self.counted:
            if self.left is not None:
                self.left -= size
            if self.deaf is not None:
                self.deaf -= size

    def _over(self):
        if self.deaf is not None and self.deaf <= 0:
            self.ended.wait()
        if self.left is not None and self.left <= 0:
            self.close()
        return self.ended.is_set()
