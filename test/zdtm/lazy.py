# SPDX-License-Identifier: GPL-2.0-only
"""Restores whose pages come later."""

import contextlib
import os
import re
import shutil
import signal
import threading

from harness import processes
from subject import Failed
import modes


class Daemon:
    """criu lazy-pages for one restore."""

    def __init__(self, subject, name, options=()):
        self.subject = subject
        self.images = subject.images(name)
        self.log = os.path.join(self.images, "lazy-pages.log")
        self.pid = subject.ours.start("lazy-pages", self.images, "lazy-pages.log", options)
        socket = os.path.join(self.images, "lazy-pages.socket")
        subject.init.until(lambda: os.path.exists(socket) or self.pid in subject.init.ended, 10,
                           "the socket of lazy-pages")

    def wait(self, code=0):
        """Requires its end with this exit code."""
        ended = self.subject.init.wait(self.pid, 30, "the end of criu lazy-pages")
        if ended.code != code:
            raise Failed(f"criu lazy-pages: exit code {ended.code} instead of {code}: see {self.log}")

    def require_alone(self):
        """A second daemon in the same directory is refused, and the first doesn't notice."""
        second = self.subject.ours.start("lazy-pages", self.images, "second.log")
        ended = self.subject.init.wait(second, 30, "the end of a second criu lazy-pages")
        if ended.code != 1 or "another daemon listens there" not in text(os.path.join(self.images, "second.log")):
            raise Failed(f"a second criu lazy-pages wasn't refused: exit code {ended.code}, see {self.images}/second.log")

    def workers(self):
        """The process that supplies pages; waits for it."""
        found = []

        def there():
            found[:] = [child for child in processes.tree(self.pid) if child != self.pid]
            return found

        self.subject.init.until(there, 10, "the process that supplies pages")
        return found

    def said(self, pattern):
        """Is there such a line in its log?"""
        with open(self.log, encoding="utf-8") as log:
            return re.search(pattern, log.read())


def text(path):
    """The content of a log."""
    with open(path, encoding="utf-8") as file:
        return file.read()


def restore(subject, name):
    """A restore with --lazy-pages."""
    subject.restore_options = [*subject.restore_options, "--lazy-pages"]
    subject.require_success(subject.try_restore(subject.ours, subject.images(name)))


def lazy_pages(subject, _task):
    """Pages come while the program runs; it looks the same, and finds all of them."""
    subject.dump(subject.ours, "images")
    daemon = Daemon(subject, "images")
    daemon.require_alone()
    restore(subject, "images")
    daemon.wait()
    subject.require_unchanged("after all pages have come")
    subject.check()


def send(pid, number):
    """A signal to one that may have ended: what little there is may have come already."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def lazy_check(subject, _task):
    """The program checks everything while pages come."""
    subject.dump(subject.ours, "images")
    daemon = Daemon(subject, "images")
    restore(subject, "images")
    # The worker pauses, so that not all is there before the program looks.
    worker = [child for child in processes.tree(daemon.pid) if child != daemon.pid]
    for pid in worker:
        send(pid, signal.SIGSTOP)
    threading.Timer(0.1, lambda: [send(pid, signal.SIGCONT) for pid in worker]).start()
    subject.check()
    daemon.wait()


def content_cut(subject, _task):
    """A pages file, of the dump or of its parent, that has lost its end: the restore fails, whether pages come at once or
    later, and names the file; nothing is left. With all of the file it succeeds."""
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
            if daemon:  # nobody has asked it for anything
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
    """A dump that leaves pages where they are, and serves them."""

    def __init__(self, subject):
        self.subject = subject
        self.original = subject.root
        self.images = subject.images("source")
        self.pid = subject.ours.start("dump", self.images, "dump.log",
                                      ["-t", str(subject.root), *subject.dump_options, "--lazy-pages", "--address",
                                       "127.0.0.1"])
        subject.init.until(lambda: self.said("Waiting for requests") or self.pid in subject.init.ended, 20,
                           "the dump to serve pages")
        if self.pid in subject.init.ended:
            raise Failed(f"the dump ended before its pages were taken: {self.images}/dump.log")
        port = self.said(r"asked for at port (\d+)")
        self.remote = ["--page-server", "--address", "127.0.0.1", "--port", port.group(1)]
        shutil.copytree(self.images, subject.images("target"))
        if sum(os.path.getsize(os.path.join(self.images, file)) for file in os.listdir(self.images)) > 4 << 20:
            raise Failed("the dump has copied what it should have left")

    def said(self, pattern):
        """Is there such a line in its log?"""
        try:
            with open(os.path.join(self.images, "dump.log"), encoding="utf-8") as log:
                return re.search(pattern, log.read())
        except FileNotFoundError:
            return None


def remote_lazy_pages(subject, _task):
    """Post-copy: the tree is restored elsewhere, and takes its memory from where it was dumped."""
    source = PostCopy(subject)
    daemon = Daemon(subject, "target", source.remote)
    restore(subject, "target")
    daemon.wait()
    if subject.init.wait(source.pid, 20, "the end of the dump").code != 0:
        raise Failed(f"the dump failed: {source.images}/dump.log")
    subject.init.wait(source.original, 5, "the end of the original")
    subject.check()


def stored_lazy_pages(subject, _task):
    """Pages of stored images come from a page server. All three end well, also if no page needs to come: the server can't
    know that, and waits until it is told."""
    subject.dump(subject.ours, "images")
    images = subject.images("images")
    log = os.path.join(images, "page-server.log")
    server = subject.ours.start("page-server", images, "page-server.log", ["--lazy-pages", "--address", "127.0.0.1"])
    subject.init.until(lambda: os.path.exists(log) and "listens at port" in text(log), 10, "the page server")
    port = re.search(r"listens at port (\d+)", text(log)).group(1)
    daemon = Daemon(subject, "images", ["--page-server", "--address", "127.0.0.1", "--port", port])
    restore(subject, "images")
    daemon.wait()
    if subject.init.wait(server, 20, "the end of the page server").code != 0:
        raise Failed(f"the page server failed: {log}")
    if "doesn't learn" in text(os.path.join(images, "restore.log")):
        raise Failed("the daemon has gone before the restore was done")
    subject.check()


def supply_cut(subject, _task):
    """Post-copy whose target vanishes: the copy ends, and the original goes on as if nothing had happened."""
    source = PostCopy(subject)
    daemon = Daemon(subject, "target", source.remote)
    pid = subject.ours.start("restore", subject.images("target"), "restore.log",
                             ["-d", *subject.restore_options, "--lazy-pages"])
    worker = daemon.workers()[0]
    subject.init.until(lambda: source.said("Pages are being taken"), 10, "the connection to the dump")
    os.kill(worker, signal.SIGKILL)
    subject.init.wait(pid, 20, "criu restore")
    daemon.wait(1)
    if subject.init.wait(source.pid, 20, "the end of the dump").code == 0:
        raise Failed("the dump succeeded though its pages were never taken")
    subject.require_running("after the target has gone")
    subject.require_unchanged("after the target has gone")
    subject.check()


def supplier_killed(subject, _task):
    """A process whose pages can't come any more ends, and the log says so: whichever process of the daemon is killed, it
    never runs on with zeroes."""
    subject.dump(subject.ours, "images")
    for who in ("supplier", "asked", "watcher"):
        daemon = Daemon(subject, "images")
        pid_file = os.path.join(daemon.images, "root.pid")
        if os.path.exists(pid_file):
            os.unlink(pid_file)
        restore_pid = subject.ours.start("restore", daemon.images, "restore.log",
                                         ["-d", *subject.restore_options, "--lazy-pages", "--pidfile", pid_file])
        worker = daemon.workers()
        os.kill(worker[0], signal.SIGSTOP)
        if who == "supplier":
            os.kill(worker[0], signal.SIGKILL)
        elif who == "asked":
            os.kill(daemon.pid, signal.SIGTERM)
            os.kill(worker[0], signal.SIGCONT)
        else:
            os.kill(daemon.pid, signal.SIGKILL)
            os.kill(worker[0], signal.SIGCONT)
        code = subject.init.wait(restore_pid, 20, "criu restore").code
        if who == "watcher":
            if code != 0:
                raise Failed("the restore failed though pages are still supplied")
            with open(pid_file, encoding="ascii") as file:
                subject.root = int(file.read())
            subject.init.ended.pop(subject.root, None)
            subject.check()
            return
        daemon.wait(1)
        subject.require_nothing_left(f"after the end of the daemon ({who})")
        if not daemon.said("are ended, with those they have created"):
            raise Failed(f"the daemon doesn't say what it has done: {daemon.log}")


MODES = [
    modes.Mode("lazy-pages", lazy_pages, beyond_42=True),
    modes.Mode("lazy-check", lazy_check, beyond_42=True, of_memory=True),
    modes.Mode("remote-lazy-pages", remote_lazy_pages, scenario=True, beyond_42=True),
    modes.Mode("stored-lazy-pages", stored_lazy_pages, scenario=True, beyond_42=True),
    modes.Mode("supply-cut", supply_cut, scenario=True, beyond_42=True),
    modes.Mode("content-cut", content_cut, scenario=True, beyond_42=True),
    modes.Mode("supplier-killed", supplier_killed, scenario=True, beyond_42=True),
]
