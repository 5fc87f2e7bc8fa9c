# SPDX-License-Identifier: GPL-2.0-only
"""Scenarios of dumps over the network whose other side stops to take part."""

import os
import re
import signal
import socket
import threading
import time

import modes
from subject import Failed


class DeafServer:
    """A page server that answers every question, with "no", and takes `taken` bytes in all; then it does nothing more,
    but leaves the connection open."""

    def __init__(self, taken):
        self.taken = taken
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.connections = []
        threading.Thread(target=self.serve, daemon=True).start()

    @property
    def options(self):
        """What has criu send its pages here."""
        return ["--page-server", "--address", "127.0.0.1", "--port", str(self.listening.getsockname()[1])]

    def serve(self):
        """Connections, one after the other, until the socket is closed."""
        while True:
            try:
                connection, _ = self.listening.accept()
            except OSError:
                return
            self.connections.append(connection)
            left = self.taken
            while left > 0:
                received = connection.recv(min(left, 32))
                if not received:
                    break
                left -= len(received)
                if received[:2] == b"\x04\x00":  # whether the parent has an object
                    connection.send(b"\x00")

    def close(self):
        """No more connections; those there are end."""
        self.listening.shutdown(socket.SHUT_RDWR)
        for end in (self.listening, *self.connections):
            end.close()


def deaf_page_server(subject, _task):
    """A dump whose page server stops to answer, or to read, ends by itself after --timeout, and at once when it is asked to;
    the tree goes on."""
    for when, taken in (("from the beginning", 0), ("in the midst of pages", 100_000)):
        server = DeafServer(taken)
        run = subject.ours.dump(subject.root, subject.images(f"images-{taken}"),
                                [*subject.dump_options, *server.options, "--timeout", "2"])
        modes.require_refusal(subject, run, r"the other side (sends|takes) nothing for 2 s")
        images = subject.images(f"stopped-{taken}")
        pid = subject.ours.start("dump", images, "dump.log",
                                 ["-t", str(subject.root), *subject.dump_options, *server.options, "--timeout", "0"])
        subject.init.pause(1.5)
        if pid in subject.init.ended:
            raise Failed(f"a page server deaf {when}: the dump ended by itself")
        os.kill(pid, signal.SIGTERM)
        subject.init.wait(pid, 10, f"criu dump after SIGTERM, with a page server deaf {when}")
        subject.require_running(f"a page server deaf {when}")
        subject.require_unchanged(f"a page server deaf {when}")
        server.close()
    subject.check()


def silent_sender(subject, _task):
    """A page server ends when its sender vanishes in the midst of a message, and when it is asked to, whether nobody has
    connected or a sender is silent. What isn't a message of a sender is refused."""
    nobody = Server(subject, "nobody")
    nobody.stop()
    idle = Server(subject, "idle")
    with idle.connect():
        idle.stop()
    within = Server(subject, "within")
    with within.connect() as sender:
        sender.send(message(6, flags=4, pages=16) + b"x" * 100)
        within.stop()
    vanished = Server(subject, "vanished")
    with vanished.connect() as sender:
        sender.send(message(6, flags=4, pages=16) + b"x" * 100)
    vanished.require_end("closed the connection within a message")
    for name, sent, refusal in (
            ("command", message(99), "unknown kind"),
            ("flags", message(6, flags=8, pages=1), "unknown flags of pages: 0x8"),
            ("no-flags", message(6, pages=1), "unknown flags of pages: 0x0"),
            ("both-flags", message(6, flags=5, pages=1), "earlier images"),
            ("empty", message(6, flags=4), "0 pages"),
            ("odd", message(6, flags=4, pages=1, address=0x1001), "no page begins there"),
            ("many", message(6, flags=4, pages=1 << 52), "aren't there"),
            ("far", message(6, flags=4, pages=2, address=(1 << 63) - 4096), "aren't there"),
            ("object", message(6, flags=4, pages=1, kind=3), "unknown kind")):
        server = Server(subject, name)
        with server.connect() as sender:
            sender.send(sent)
            server.require_end(refusal)
    subject.check()


def message(command, flags=0, pages=0, address=0x10000, kind=1):
    """The header of a message about process 7."""
    return b"".join(number.to_bytes(size, "little") for number, size in
                    ((command | flags << 16, 4), (0, 4), (pages, 8), (address, 8), (7 << 8 | kind, 8)))


class Server:
    """A page server of criu, at a port of its choice."""

    def __init__(self, subject, name):
        self.subject = subject
        self.name = name
        images = subject.images(name)
        self.log = os.path.join(images, "server.log")
        self.pid = subject.ours.start("page-server", images, "server.log", ["--address", "127.0.0.1"])
        self.port = subject.init.until(self.find_port, 10, "page server")

    def find_port(self):
        """The port that the log tells."""
        try:
            with open(self.log, encoding="utf-8") as log:
                found = re.search(r"listens at port (\d+)", log.read())
        except FileNotFoundError:
            return None
        return int(found.group(1)) if found else None

    def connect(self):
        """A connection that the server has taken."""
        connection = socket.create_connection(("127.0.0.1", self.port))
        time.sleep(0.1)
        return connection

    def stop(self):
        """Asks it to end."""
        os.kill(self.pid, signal.SIGTERM)
        self.require_end("stopped by SIGTERM")

    def require_end(self, text):
        """It ends soon, and says why."""
        code = self.subject.init.wait(self.pid, 10, f"page server '{self.name}'").code
        with open(self.log, encoding="utf-8") as log:
            said = log.read()
        if code != 1 or text not in said:
            raise Failed(f"page server '{self.name}': exit code {code}, no '{text}' in {self.log}")


SCENARIOS = [
    modes.Mode("deaf-page-server", deaf_page_server, scenario=True, beyond_42=True),
    modes.Mode("silent-sender", silent_sender, scenario=True, beyond_42=True),
]
