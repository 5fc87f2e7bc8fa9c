# SPDX-License-Identifier: GPL-2.0-only
"""Restores with lazy pages."""

import contextlib
import os
import re
import resource
import shutil
import signal
import socket
import threading

from harness import processes
from subject import Failed
import killing
import modes


def allow_few_files():
    """Lowers a daemon's descriptor limit below its need for a small tree, so it must raise the limit. Shells set 1024,
    which is too little for a tree of some hundred processes."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (16, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


class Daemon:
    """criu lazy-pages for one restore."""

    def __init__(self, subject, name, options=(), group=None):
        self.subject = subject
        self.images = subject.images(name)
        self.log = os.path.join(self.images, "lazy-pages.log")

        def before_exec():
            allow_few_files()
            if group:
                group.enter()

        self.pid = subject.ours.start("lazy-pages", self.images, "lazy-pages.log", options, before_exec)
        name = os.path.join(self.images, "lazy-pages.socket")
        subject.init.until(lambda: os.path.exists(name) or self.pid in subject.init.ended, processes.PATIENCE,
                           "the socket of lazy-pages")

    def wait(self, code=0):
        """Requires the daemon to end with this exit code."""
        ended = self.subject.init.wait(self.pid, processes.PATIENCE, "the end of criu lazy-pages")
        if ended.code != code:
            raise Failed(f"criu lazy-pages: exit code {ended.code} instead of {code}: see {self.log}")

    def require_alone(self):
        """Requires a second daemon in the same directory to fail, and the first one to continue."""
        second = self.subject.ours.start("lazy-pages", self.images, "second.log")
        ended = self.subject.init.wait(second, processes.PATIENCE, "the end of a second criu lazy-pages")
        if ended.code != 1 or "another daemon listens there" not in text(os.path.join(self.images, "second.log")):
            raise Failed(f"a second criu lazy-pages wasn't refused: exit code {ended.code}, see {self.images}/second.log")

    def workers(self):
        """Waits for the process that supplies pages, and returns it."""
        found = []

        def there():
            found[:] = [child for child in processes.tree(self.pid) if child != self.pid]
            return found

        self.subject.init.until(there, processes.PATIENCE, "the process that supplies pages")
        return found

    def said(self, pattern):
        """Returns true if the log has such a line."""
        with open(self.log, encoding="utf-8") as log:
            return re.search(pattern, log.read())


class NarrowWay:
    """Proxy for a port of this machine that forwards only the first bytes until it is opened. Until then some process
    lacks pages, independent of the machine's speed."""

    def __init__(self, port, most=64 << 10):
        self.port = port
        self.left = most
        self.full = threading.Event()  # set when more bytes would come
        self.opened = threading.Event()
        self.listening = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def options(self):
        """Options that make criu use this proxy."""
        return ["--page-server", "--address", "127.0.0.1", "--port", str(self.listening.getsockname()[1])]

    def _serve(self):
        while True:
            near, _ = self.listening.accept()
            far = socket.create_connection(("127.0.0.1", self.port))
            for way in (self._forth, self._back):
                threading.Thread(target=way, args=(near, far), daemon=True).start()

    @staticmethod
    def _forth(near, far):
        with contextlib.suppress(OSError):
            while data := near.recv(1 << 16):
                far.sendall(data)
        end(far)

    def _back(self, near, far):
        with contextlib.suppress(OSError):
            while data := far.recv(1 << 16):
                if len(data) > self.left and not self.opened.is_set():
                    near.sendall(data[:self.left])
                    data = data[self.left:]
                    self.full.set()
                    self.opened.wait()
                self.left = max(self.left - len(data), 0)
                near.sendall(data)
        end(near)


def end(connection):
    """Tells both ends of a connection that no more bytes come."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def text(path):
    """Returns the content of a log."""
    with open(path, encoding="utf-8") as file:
        return file.read()


def restore(subject, name):
    """Restores with --lazy-pages."""
    subject.restore_options = [*subject.restore_options, "--lazy-pages"]
    subject.require_success(subject.try_restore(subject.ours, subject.images(name)))


def lazy_pages(subject, _task):
    """Requires the program to look unchanged while lazy pages come, and to find all of them."""
    subject.dump(subject.ours, "images")
    daemon = Daemon(subject, "images")
    daemon.require_alone()
    restore(subject, "images")
    daemon.wait()
    subject.require_unchanged("after all pages have come")
    subject.check()


def send(pid, number):
    """Sends a signal to a process that may have ended already."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def lazy_check(subject, _task):
    """Makes the program check its memory while lazy pages come."""
    subject.dump(subject.ours, "images")
    daemon = Daemon(subject, "images")
    restore(subject, "images")
    # Stops the worker, so that pages are missing when the program begins its check.
    worker = [child for child in processes.tree(daemon.pid) if child != daemon.pid]
    for pid in worker:
        send(pid, signal.SIGSTOP)
    threading.Timer(0.1, lambda: [send(pid, signal.SIGCONT) for pid in worker]).start()
    subject.check()
    daemon.wait()


def content_cut(subject, _task):
    """Truncates a pages file of the dump or of its parent. The restore must fail with the file's name, with lazy pages
    or without, and leave nothing. With the whole file it must succeed."""
    subject.require_success(subject.ours.run("pre-dump", subject.images("parent"), "pre-dump.log",
                                             ["-t", str(subject.root)]))
    subject.dump(subject.ours, "images", ["--track-mem", "--prev-images-dir", "../parent"])
    for name in ("parent", "images"):
        path = os.path.join(subject.images(name), "pages-1.img")
        size = os.path.getsize(path)
        with open(path, "rb") as file:
            file.seek(size - 4096)
            lost = file.read()
        os.truncate(path, size - 4096)
        for lazily in (False, True):
            daemon = Daemon(subject, "images") if lazily else None
            options = [*subject.restore_options, *(["--lazy-pages"] if lazily else [])]
            run = subject.ours.restore(subject.images("images"), options)
            if daemon:  # no process connects to this daemon
                send(daemon.pid, signal.SIGTERM)
                daemon.wait(1)
            if run.code == 0 or f"pages-1.img: has {size - 4096} bytes" not in text(run.log):
                raise Failed(f"a restore without the end of {path}: exit code {run.code}, log {run.log}")
            subject.require_nothing_left("after the failed restore")
        with open(path, "ab") as file:
            file.write(lost)
    subject.restore(subject.ours, "images")
    subject.check()


class PostCopy:
    """A dump that keeps lazy pages in the tree and serves them. `options` are further options of the dump."""

    def __init__(self, subject, name="", options=()):
        self.subject = subject
        self.original = subject.root
        self.images = subject.images(f"source{name}")
        self.pid = subject.ours.start("dump", self.images, "dump.log",
                                      ["-t", str(subject.root), *subject.dump_options, "--lazy-pages", "--address",
                                       "127.0.0.1", *options])
        subject.init.until(lambda: self.said("Waiting for requests") or self.pid in subject.init.ended, processes.PATIENCE,
                           "the dump to serve pages")
        if self.pid in subject.init.ended:
            raise Failed(f"the dump ended before its pages were taken: {self.images}/dump.log")
        self.port = int(self.said(r"asked for at port (\d+)").group(1))
        self.remote = ["--page-server", "--address", "127.0.0.1", "--port", str(self.port)]
        shutil.copytree(self.images, subject.images(f"target{name}"))
        if sum(os.path.getsize(os.path.join(self.images, file)) for file in os.listdir(self.images)) > 4 << 20:
            raise Failed("the dump has copied what it should have left")

    def said(self, pattern):
        """Returns true if the log has such a line."""
        try:
            with open(os.path.join(self.images, "dump.log"), encoding="utf-8") as log:
                return re.search(pattern, log.read())
        except FileNotFoundError:
            return None


def remote_lazy_pages(subject, _task):
    """Post-copy: restores the tree elsewhere, which gets its memory from the dumped tree."""
    source = PostCopy(subject)
    daemon = Daemon(subject, "target", source.remote)
    restore(subject, "target")
    daemon.wait()
    if subject.init.wait(source.pid, processes.PATIENCE, "the end of the dump").code != 0:
        raise Failed(f"the dump failed: {source.images}/dump.log")
    subject.init.wait(source.original, processes.PATIENCE, "the end of the original")
    subject.check()


def start_page_server(subject, images, options=()):
    """Starts criu to serve the pages of stored images. Returns its pid and port."""
    log = os.path.join(images, "page-server.log")
    if os.path.exists(log):
        os.unlink(log)
    pid = subject.ours.start("page-server", images, "page-server.log", ["--lazy-pages", "--address", "127.0.0.1", *options])
    subject.init.until(lambda: os.path.exists(log) and "listens at port" in text(log), processes.PATIENCE,
                       "the page server")
    return pid, int(re.search(r"listens at port (\d+)", text(log)).group(1))


def stored_lazy_pages(subject, _task):
    """Serves lazy pages of stored images by a page server. All three processes must succeed, also without any lazy
    page. The server can't know that there is none, so it waits for a message."""
    subject.dump(subject.ours, "images")
    images = subject.images("images")
    server, port = start_page_server(subject, images)
    daemon = Daemon(subject, "images", ["--page-server", "--address", "127.0.0.1", "--port", str(port)])
    restore(subject, "images")
    daemon.wait()
    if subject.init.wait(server, processes.PATIENCE, "the end of the page server").code != 0:
        raise Failed(f"the page server failed: {images}/page-server.log")
    if "doesn't learn" in text(os.path.join(images, "restore.log")):
        raise Failed("the daemon has gone before the restore was done")
    subject.check()


class HalfCopy:
    """A post-copy that stops after some of the pages. `early`: the constructor returns when the target has connected.
    `group`: the KilledGroup of the daemon."""

    def __init__(self, subject, name, early=False, group=None):
        self.subject = subject
        self.source = PostCopy(subject, name)
        self.way = NarrowWay(self.source.port)
        self.daemon = Daemon(subject, f"target{name}", self.way.options, group)
        self.pid_file = os.path.join(self.daemon.images, "root.pid")
        self.restore = subject.ours.start("restore", self.daemon.images, "restore.log",
                                          ["-d", *subject.restore_options, "--lazy-pages", "--pidfile", self.pid_file])
        self.worker = self.daemon.workers()[0]
        what = (lambda: self.source.said("Pages are being taken")) if early else self.way.full.is_set
        subject.init.until(what, processes.PATIENCE, "the connection to the dump" if early else "pages of the dump")

    def require_taken_back(self, who):
        """Requires the copy to end and the original tree to continue unchanged."""
        self.subject.init.wait(self.restore, processes.PATIENCE, f"criu restore ({who})")
        self.daemon.wait(1)
        if self.subject.init.wait(self.source.pid, processes.PATIENCE, f"the end of the dump ({who})").code == 0:
            raise Failed("the dump succeeded though not all of its pages were taken")
        self.subject.require_running(f"after the target has gone ({who})")
        self.subject.require_unchanged(f"after the target has gone ({who})")
        if not self.daemon.said("are killed, with all their descendants"):
            raise Failed(f"the daemon doesn't say what it has done: {self.daemon.log}")

    def require_done(self):
        """Opens the proxy, so the copy completes and is the tree from then on."""
        self.way.opened.set()
        if self.subject.init.wait(self.restore, processes.PATIENCE, "criu restore").code != 0:
            raise Failed("the restore failed though pages are still supplied")
        if self.subject.init.wait(self.source.pid, processes.PATIENCE, "the end of the dump").code != 0:
            raise Failed(f"the dump failed: {self.source.images}/dump.log")
        self.subject.init.wait(self.source.original, processes.PATIENCE, "the end of the original")
        with open(self.pid_file, encoding="ascii") as file:
            self.subject.root = int(file.read())
        self.subject.init.ended.pop(self.subject.root, None)


def supply_cut(subject, _task):
    """Post-copy whose target vanishes, before its processes run or after some pages. All processes of the copy must
    end, and the original must continue unchanged."""
    for when in ("early", "late"):
        copy = HalfCopy(subject, f"-{when}", early=when == "early")
        os.kill(copy.worker, signal.SIGKILL)
        copy.require_taken_back(when)
    subject.check()


def supplier_killed(subject, _task):
    """Kills a process of the daemon, or its whole cgroup. Without a supplier, processes that lack pages must end with a
    log line, and must never run with zeroes. Without the daemon's first process the copy must complete."""
    for who, number in (("supplier", signal.SIGKILL), ("asked", signal.SIGTERM)):
        copy = HalfCopy(subject, f"-{who}")
        if os.getpgid(copy.worker) == os.getpgid(copy.daemon.pid):
            raise Failed("who kills the daemon by its process group kills all that know of missing pages")
        os.kill(copy.worker if who == "supplier" else copy.daemon.pid, number)
        copy.require_taken_back(who)
    with killing.KilledGroup(subject) as group:
        if group.path:
            copy = HalfCopy(subject, "-group", group=group)
            group.kill()
            copy.require_taken_back("group")
    copy = HalfCopy(subject, "-watcher")
    os.kill(copy.daemon.pid, signal.SIGKILL)
    copy.require_done()
    subject.check()


MODES = [
    modes.Mode("lazy-pages", lazy_pages, beyond_42=True),
    modes.Mode("lazy-check", lazy_check, beyond_42=True, of_memory=True),
    modes.Mode("remote-lazy-pages", remote_lazy_pages, scenario=True, beyond_42=True),
    modes.Mode("stored-lazy-pages", stored_lazy_pages, scenario=True, beyond_42=True),
    modes.Mode("supply-cut", supply_cut, scenario=True, beyond_42=True),
    modes.Mode("content-cut", content_cut, scenario=True, beyond_42=True),
    modes.Mode("supplier-killed", supplier_killed, scenario=True, beyond_42=True),
]
