#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Exchanges numbered messages with another talker over one TCP connection, in both directions at once.

usage: talker.py FOLDER NAME listen|connect ADDRESS [lock]

Each talker sends as much as the connection takes, and reads less, so that queues on both sides are full. FOLDER/NAME
has the number of received messages. When FOLDER/finish exists, both talkers send their last message and read the rest.
With `lock`, the program holds a file lock, which criu refuses to dump without --file-locks.
"""

import fcntl
import os
import select
import socket
import struct
import sys
import time

PORT = 7000
MESSAGE = struct.Struct("!Q")
PAUSE = 0.02  # seconds


def connection(how, address):
    """Returns the connection."""
    if how == "listen":
        with socket.create_server((address, PORT)) as server:
            return server.accept()[0]
    while True:
        try:
            return socket.create_connection((address, PORT))
        except OSError:
            time.sleep(PAUSE)


class Talker:
    """One end of the connection."""

    def __init__(self, folder, name, link):
        self._finish = os.path.join(folder, "finish")
        self._report = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        self._link = link
        self._sent = self._received = 0
        self._outgoing = self._incoming = b""

    def run(self):
        """Talks until both sides have finished."""
        self._link.setblocking(False)
        finishing = closed = False
        while True:
            finishing = finishing or os.path.exists(self._finish)
            if not finishing or self._outgoing:
                self._send(finishing)
            elif not closed:
                self._link.shutdown(socket.SHUT_WR)
                closed = True
            if not self._receive(1 << 20 if finishing else 1 << 13):
                break
            # Writes always one size, because a restore refuses a file that has grown.
            os.pwrite(self._report, b"%-12d" % self._received, 0)
            time.sleep(PAUSE)
        if self._incoming:
            sys.exit("the last message is incomplete")
        os.pwrite(self._report, b"%-12d end" % self._received, 0)

    def _send(self, finishing):
        """Sends until the connection takes no more."""
        try:
            while self._outgoing or not finishing:
                if not self._outgoing:
                    numbers = range(self._sent, self._sent + 1000)
                    self._outgoing = b"".join(map(MESSAGE.pack, numbers))
                    self._sent += 1000
                self._outgoing = self._outgoing[self._link.send(self._outgoing):]
        except BlockingIOError:
            pass

    def _receive(self, limit):
        """Reads up to `limit` bytes, and checks their numbers. Returns false after the last message."""
        if not select.select([self._link], [], [], 0)[0]:
            return True
        data = self._link.recv(limit)
        if not data:
            return False
        self._incoming += data
        whole = len(self._incoming) - len(self._incoming) % MESSAGE.size
        for (number,) in MESSAGE.iter_unpack(self._incoming[:whole]):
            if number != self._received:
                sys.exit(f"message {number} came in place of {self._received}")
            self._received += 1
        self._incoming = self._incoming[whole:]
        return True


def main():
    """Connects and talks."""
    folder, name, how, address = sys.argv[1:5]
    if sys.argv[5:] == ["lock"]:
        held = open(os.path.join(folder, "lock"), "w", encoding="ascii")
        fcntl.flock(held, fcntl.LOCK_EX)
    Talker(folder, name, connection(how, address)).run()


if __name__ == "__main__":
    main()
