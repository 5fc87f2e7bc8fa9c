# SPDX-License-Identifier: GPL-2.0-only
"""Scenarios of dumps over the network whose other side stops responding."""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

from harness import processes
import modes
from subject import Failed, Skipped


class DeafServer:
    """A page server that answers "no" to every question and receives `taken` bytes. Then it stops reading and leaves
    the connection open."""

    def __init__(self, taken):
        self.taken = taken
        self.left = taken  # left of the present connection
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.connections = []
        threading.Thread(target=self.serve, daemon=True).start()

    @property
    def options(self):
        """Options that make criu send its pages here."""
        return ["--page-server", "--address", "127.0.0.1", "--port", str(self.listening.getsockname()[1])]

    def serve(self):
        """Serves one connection after the other until the socket is closed."""
        while True:
            try:
                connection, _ = self.listening.accept()
            except OSError:
                return
            self.connections.append(connection)
            self.left = self.taken
            while self.left > 0:
                received = connection.recv(min(self.left, 32))
                if not received:
                    break
                self.left -= len(received)
                if received[:2] == b"\x04\x00":  # question: does the parent have this object?
                    connection.send(b"\x00")

    def close(self):
        """Closes the listening socket and ends the connections."""
        self.listening.shutdown(socket.SHUT_RDWR)
        for end in (self.listening, *self.connections):
            end.close()


def deaf_page_server(subject, _task):
    """A page server stops answering or reading. The dump must end by itself after --timeout, and at once on SIGTERM.
    The tree continues."""
    for when, taken in (("from the beginning", 0), ("within pages", 100_000)):
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
        subject.init.wait(pid, processes.PATIENCE, f"criu dump after SIGTERM, with a page server deaf {when}")
        subject.require_running(f"a page server deaf {when}")
        subject.require_unchanged(f"a page server deaf {when}")
        server.close()
    subject.check()


class Certificates:
    """An authority and certificates: `good` for 127.0.0.1, `other` for another address, `serves` and `asks` for 127.0.0.1
    but for servers or clients only."""

    KINDS = {"good": "subjectAltName=IP:127.0.0.1", "other": "subjectAltName=IP:10.1.2.3",
             "serves": "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth",
             "asks": "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=clientAuth"}

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder)
        self._openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "30",
                      "-subj", "/CN=authority")
        for name, extensions in self.KINDS.items():
            self._openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj",
                          f"/CN={name}")
            with open(self.path("names"), "w", encoding="ascii") as file:
                file.write(extensions + "\n")
            self._openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out",
                          f"{name}.pem", "-days", "30", "-extfile", "names")

    def _openssl(self, *words):
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def path(self, name):
        """Returns the path of a file in the folder."""
        return os.path.join(self.folder, name)

    def options(self, name, *more):
        """Options that make criu use this certificate and trust the authority."""
        return ["--tls", "--tls-cacert", self.path("ca.pem"), "--tls-cert", self.path(name + ".pem"), "--tls-key",
                self.path(name + ".key"), *more]


def require_old_tls_refused(server, made):
    """Connects with TLS 1.1 and a good certificate. The server must refuse it for its version."""
    command = ["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", "-tls1_1", "-cipher", "ALL:@SECLEVEL=0",
               "-cert", made.path("good.pem"), "-key", made.path("good.key")]
    subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    with open(server.log, encoding="utf-8") as log:
        if not re.search("Refused a connection: .*version", log.read()):
            raise Failed(f"a page server should refuse TLS 1.1: {server.log}")


def refused_clients(subject, made, refused):
    """One server refuses all bad clients, and then serves a good one."""
    strangers = Certificates(subject.images("strangers"))
    server = Server(subject, "stored-after", made.options("good"))
    subject.servers.add(server.pid)
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.send(b"GET / HTTP/1.0\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            connection.recv(1000)
    require_old_tls_refused(server, made)
    for name, client_options in (("plain", []), ("stranger", strangers.options("good")), ("name", made.options("other")),
                                 ("purpose", made.options("serves"))):
        run = subject.ours.dump(subject.root, subject.images(f"images-{name}"),
                                [*subject.dump_options, *server.options, *client_options])
        modes.require_refusal(subject, run, refused)
    subject.dump(subject.ours, "images-after", [*server.options, *made.options("asks")])
    server.wait()
    subject.restore(subject.ours, together(subject, "images-after", "stored-after"))


def refused_servers(subject, made, refused):
    """A client refuses servers that show a bad certificate. A server refuses keys and authorities at its start."""
    for name, wanted in (("other", []), ("asks", []), ("good", ["--tls-peer", "10.1.2.3"])):
        server = Server(subject, f"stored-{name}", made.options(name, "--tls-no-cn-verify"))
        run = subject.ours.dump(subject.root, subject.images(f"images-{name}"),
                                [*subject.dump_options, *server.options, *made.options("good", *wanted)])
        modes.require_refusal(subject, run, refused)
        # The server has accepted the client's certificate before the client refuses the server.
        server.require_end(refused)
    os.chmod(made.path("asks.key"), 0o644)
    for options, text in ((made.options("asks"), "others may use the key"), (["--tls"], "--tls-cacert")):
        run = subject.ours.run("page-server", subject.images("stored-never"), "server.log",
                               ["--address", "127.0.0.1", *options])
        if run.code != 1 or not any(text in line for line in modes.criu_runs.error_lines(run.log)):
            raise Failed(f"a page server should fail with '{text}': {run.describe()}")


def tls_page_server(subject, _task):
    """Sends pages by TLS. If a side has no good certificate, no page must be sent, and the tree continues."""
    if not shutil.which("openssl"):
        raise Skipped("openssl isn't installed")
    made = Certificates(subject.images("certificates"))
    refused = r"TLS|sender has gone|closed the connection|Connection reset|Broken pipe"
    refused_clients(subject, made, refused)
    refused_servers(subject, made, refused)
    for number in ("1", "3"):
        server = Server(subject, f"stored-{number}", made.options("other", "--tls-no-cn-verify"))
        subject.dump(subject.ours, f"images-{number}",
                     [*server.options, "--connections", number, *made.options("good", "--tls-no-cn-verify")])
        server.wait()
        subject.restore(subject.ours, together(subject, f"images-{number}", f"stored-{number}"))
    subject.check()


def together(subject, name, stored):
    """Moves the images of a dump to the pages that the server has stored. Returns the dump's name."""
    for file in os.listdir(subject.images(name)):
        if file.endswith(".img"):
            if file.startswith("pages"):
                raise Failed(f"the sender has {file} itself")
            os.rename(os.path.join(subject.images(name), file), os.path.join(subject.images(stored), file))
    return stored


def connections(subject, _task):
    """Does a pre-dump, an incremental dump, and a dump with several pages files, each over several connections."""
    first = Server(subject, "stored-0")
    subject.require_success(subject.ours.run("pre-dump", subject.images("images-0"), "pre-dump.log",
                                             ["-t", str(subject.root), *first.options, "--connections", "3"]))
    first.wait()
    second = Server(subject, "stored-1", ["--prev-images-dir", "../stored-0"])
    subject.dump(subject.ours, "images-1",
                 ["--track-mem", "--prev-images-dir", "../images-0", *second.options, "--connections", "2"])
    second.wait()
    subject.restore(subject.ours, together(subject, "images-1", "stored-1"))
    third = Server(subject, "stored-2")
    subject.dump(subject.ours, "images-2", [*third.options, "--connections", "4", "--pages-files", "3"])
    third.wait()
    subject.restore(subject.ours, together(subject, "images-2", "stored-2"))
    subject.check()


class Streams:
    """A sender of this test, with two connections for content."""

    def __init__(self, subject, name, options=()):
        self.server = Server(subject, name, options)
        self.control = self.server.connect()
        self.control.send(message(4201, pages=2))
        answer = self.control.recv(32, socket.MSG_WAITALL)
        if answer[:2] != (4201).to_bytes(2, "little") or answer[8] != 2:
            raise Failed(f"the page server doesn't agree to two connections: {answer}")
        self.ticket = answer[24:]
        self.contents = []

    def meet_strangers(self):
        """Makes two unauthenticated connections: one is closed at once, one stays silent."""
        with self.server.connect() as leaving:
            leaving.send(b"GET")
        self.contents.append(self.server.connect())

    def join(self):
        """Makes a connection with a wrong ticket, and then both connections for content."""
        for ticket in (bytes(8), self.ticket, self.ticket):
            self.contents.append(self.server.connect())
            self.contents[-1].send(message(4202)[:24] + ticket)

    def close(self):
        """Closes all connections."""
        for connection in (self.control, *self.contents):
            connection.close()


def strange_content(subject, _task):
    """Connections for content that are missing, or that bring something else, must end the page server."""
    silent = Streams(subject, "silent", ["--timeout", "1"])
    silent.server.require_end("no client connects for 1 s")
    silent.close()
    add = message(4203, flags=4, pages=2)
    content = message(4204, pages=1, address=4096) + bytes(4096)
    for name, control, sent, refusal in (
            ("twice", add, content + content, "a second time"),
            ("much", add, message(4204, pages=257), "257 pages at once"),
            ("none", add, message(4204, pages=0), "0 pages at once"),
            ("around", add, message(4204, pages=1, address=(1 << 64) - 4096) + bytes(4096), "ends nowhere"),
            ("odd", add, message(4204, pages=1, address=1) + bytes(4096), "no page begins there"),
            ("other", add, message(6, flags=4, pages=1) + bytes(4096), "a message of another kind"),
            ("again", message(4201, pages=2), b"", "too late"),
            ("kind", message(4204, pages=1), b"", "unknown kind")):
        streams = Streams(subject, name)
        streams.join()
        streams.control.send(control)
        streams.contents[-1].send(sent)
        streams.server.require_end(refusal)
        streams.close()
    for name, leaves, refusal in (("control", "control", "the sender has gone before it had sent all pages"),
                                  ("content", "contents", "the sender has gone|closed the connection within a message")):
        streams = Streams(subject, f"{name}-leaves")
        if leaves == "contents":
            streams.meet_strangers()
        streams.join()
        streams.control.send(add + message(0x1023))
        streams.contents[-2].send(content[:100])
        leaving = streams.control if leaves == "control" else streams.contents[-2]
        leaving.close()
        if leaves == "control":
            streams.server.stop()  # The server waits for the promised content.
        else:
            streams.server.require_end(refusal)
        streams.close()
    # Content for an object that no message has begun must not block the end of another object or of the server.
    early = message(4204, pages=1, address=0, kind=2) + bytes(4096)
    for name, control, sent in (("both-early", add + message(0x1023), (early, early)),
                                ("one-early", message(0x1023), (early, message(0x1023)))):
        streams = Streams(subject, name)
        streams.join()
        for connection, bytes_sent in zip(streams.contents[1:], sent):
            connection.send(bytes_sent)
        streams.control.send(control)
        streams.server.require_end("can't come any more|never begins")
        streams.close()
    alone = Server(subject, "alone")
    with alone.connect() as sender:
        sender.send(add)
        alone.require_end("no connections for content")
    subject.check()


def silent_sender(subject, _task):
    """A page server must end when its sender vanishes within a message. It must also end on SIGTERM, without a
    connection or with a silent sender. It must refuse bytes that are no message."""
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
            ("many", message(6, flags=4, pages=1 << 52), "out of range"),
            ("far", message(6, flags=4, pages=2, address=(1 << 63) - 4096), "out of range"),
            ("object", message(6, flags=4, pages=1, kind=3), "unknown kind")):
        server = Server(subject, name)
        with server.connect() as sender:
            sender.send(sent)
            server.require_end(refusal)
    subject.check()


def message(command, flags=0, pages=0, address=0x10000, kind=1):
    """Returns the header of a message about process 7."""
    return b"".join(number.to_bytes(size, "little") for number, size in
                    ((command | flags << 16, 4), (0, 4), (pages, 8), (address, 8), (7 << 8 | kind, 8)))


class Server:
    """A page server of criu, on a port of its choice."""

    def __init__(self, subject, name, options=()):
        self.subject = subject
        self.name = name
        images = subject.images(name)
        self.log = os.path.join(images, "server.log")
        self.pid = subject.ours.start("page-server", images, "server.log", ["--address", "127.0.0.1", *options])
        self.port = subject.init.until(self.find_port, processes.PATIENCE, "page server")

    @property
    def options(self):
        """Options that make criu send its pages to the server."""
        return ["--page-server", "--address", "127.0.0.1", "--port", str(self.port)]

    def find_port(self):
        """Returns the port from the log."""
        try:
            with open(self.log, encoding="utf-8") as log:
                found = re.search(r"listens at port (\d+)", log.read())
        except FileNotFoundError:
            return None
        return int(found.group(1)) if found else None

    def connect(self):
        """Returns a connection that the server has accepted."""
        connection = socket.create_connection(("127.0.0.1", self.port))
        time.sleep(0.1)
        return connection

    def stop(self):
        """Sends the server SIGTERM."""
        os.kill(self.pid, signal.SIGTERM)
        self.require_end("stopped by SIGTERM")

    def wait(self):
        """Requires the server to end with success."""
        if self.subject.init.wait(self.pid, processes.PATIENCE, f"page server '{self.name}'").code != 0:
            raise Failed(f"page server '{self.name}' failed: {self.log}")

    def require_end(self, text):
        """Requires the server to fail with this text in its log."""
        code = self.subject.init.wait(self.pid, processes.PATIENCE, f"page server '{self.name}'").code
        with open(self.log, encoding="utf-8") as log:
            said = log.read()
        if code != 1 or not re.search(text, said):
            raise Failed(f"page server '{self.name}': exit code {code}, no '{text}' in {self.log}")


SCENARIOS = [
    modes.Mode("deaf-page-server", deaf_page_server, scenario=True, beyond_42=True),
    modes.Mode("tls-page-server", tls_page_server, scenario=True, beyond_42=True),
    modes.Mode("silent-sender", silent_sender, scenario=True, beyond_42=True),
    modes.Mode("connections", connections, beyond_42=True, of_memory=True),
    modes.Mode("strange-content", strange_content, scenario=True, beyond_42=True),
]
