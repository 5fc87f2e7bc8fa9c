# SPDX-License-Identifier: GPL-2.0-only
"""redis-server with clients over TCP and a Unix socket, one of which listens to what the others publish."""

import os
import socket
import sys

import service
from service import require


class Client:
    """Speaks the protocol of redis (RESP2)."""

    def __init__(self, family, address):
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.connect(address)
        self.file = self.socket.makefile("rb")

    def send(self, *words):
        """Sends a command."""
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))

    def receive(self):
        """One reply."""
        line = self.file.readline()
        require(line.endswith(b"\r\n"), f"a reply broke off: {line!r}")
        kind, rest = line[:1], line[1:-2]
        if kind == b"$":
            size = int(rest)
            return None if size < 0 else self.file.read(size + 2)[:-2]
        if kind == b"*":
            return [self.receive() for _ in range(int(rest))]
        require(kind != b"-", f"redis says {rest!r}")
        return int(rest) if kind == b":" else rest

    def call(self, *words):
        """A command and its reply."""
        self.send(*words)
        return self.receive()


def listens(path):
    """Whether a server takes connections there: it binds its socket a moment before it does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        return probe.connect_ex(path) == 0


def main():
    """The tree's root."""
    server = service.start(["redis-server", "--port", "6379", "--bind", "127.0.0.1", "--unixsocket",
                            os.path.abspath("redis.sock"), "--save", "", "--appendonly", "no", "--dir", "."],
                           "redis.log")
    service.until(lambda: listens("redis.sock"), 60, "socket of redis")
    tcp = Client(socket.AF_INET, ("127.0.0.1", 6379))
    unix = Client(socket.AF_UNIX, "redis.sock")
    listener = Client(socket.AF_INET, ("127.0.0.1", 6379))
    listener.call("SUBSCRIBE", "numbers")
    blob = os.urandom(1 << 20)
    require(tcp.call("SET", "blob", blob) == b"OK", "redis did not take the blob")
    count = 0

    def turn():
        nonlocal count
        count += 1
        require((tcp if count % 2 else unix).call("INCR", "count") == count, "redis lost count")
        for i in range(20):
            tcp.send("LPUSH", f"list{i}", count)
        require([tcp.receive() for _ in range(20)] == [count] * 20, "a list lost elements")
        unix.call("PUBLISH", "numbers", count)
        require(listener.receive()[2] == str(count).encode(), "what was published came late, twice or not at all")

    def finish():
        require(unix.call("GET", "blob") == blob, "the blob changed")
        service.stop(server)

    service.work(turn, finish)


sys.exit(main())
