# SPDX-License-Identifier: GPL-2.0-only
"""Restores whose memory comes from criu memory-provider."""

import array
import os
import re
import shutil
import signal
import socket
import threading

from harness import criu as criu_runs
from harness import processes
from subject import Failed
import clones
import modes
import providers


def text(path):
    """Returns the content of a log; nothing if there is none yet."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


class Server:
    """A memory provider of the images "images", and an empty directory for restores."""

    def __init__(self, subject, options=()):
        self.subject = subject
        images = subject.images("images")
        self.socket = os.path.join(images, "provider.socket")
        self.log = os.path.join(images, "provider.log")
        if os.path.exists(self.log):
            os.unlink(self.log)  # an earlier provider wrote it
        self.pid = subject.ours.start("memory-provider", images, "provider.log",
                                      ["--provider-socket", "provider.socket", *options])
        subject.servers.add(self.pid)
        subject.init.until(lambda: "provider is ready" in text(self.log), processes.PATIENCE, "the memory provider")
        self.empty = subject.images("empty")
        os.makedirs(self.empty, exist_ok=True)

    def restore(self, *options):
        """Restores from the empty directory. Returns the run."""
        before = self.subject.restore_options
        self.subject.restore_options = [*before, *options]
        run = self.subject.try_restore(self.subject.ours, self.empty)
        self.subject.restore_options = before
        return run

    def await_log(self, words, times):
        """Waits until the provider's log has the words several times."""
        self.subject.init.until(lambda: text(self.log).count(words) == times, processes.PATIENCE,
                                f"{times} times '{words}' in {self.log}")

    def end(self):
        """Stops the provider, which must succeed and remove its socket."""
        os.kill(self.pid, signal.SIGTERM)
        if self.subject.init.wait(self.pid, processes.PATIENCE, "the end of the provider").code != 0:
            raise Failed(f"the provider failed: {self.log}")
        self.subject.servers.discard(self.pid)
        if os.path.exists(self.socket):
            raise Failed("the provider left its socket")
        if "Error" in text(self.log):
            raise Failed(f"the provider had an error: {self.log}")

    def kill(self):
        """Kills the provider. Any thread may call it; reap() must follow."""
        os.kill(self.pid, signal.SIGKILL)

    def reap(self):
        """Waits for the end of a killed provider."""
        self.subject.init.wait(self.pid, processes.PATIENCE, "the end of the provider")
        self.subject.servers.discard(self.pid)


class Relay(threading.Thread):
    """Connects a restore with the provider, and calls `at` before it passes on the first request of the kind `op`."""

    def __init__(self, server, op=None, at=None):
        super().__init__(daemon=True)
        self.client, self.here = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.there = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.there.connect(server.socket)
        self.op = op
        self.at = at
        self.got = []
        self.memory = []  # requests for private memory that got a file
        self.start()

    def run(self):
        try:
            while packet := self.here.recv(8192):
                request = providers.PROTO.decode("extmem_req", packet)
                op = request["op"].removeprefix("EXTMEM_")
                if op == self.op:
                    self.at()
                    self.op = None
                self.there.send(packet)
                reply, rights, _, _ = self.there.recvmsg(8192, socket.CMSG_SPACE(4))
                if not reply:
                    break
                files = [file for _, _, data in rights for file in array.array("i", data)]
                self.got.append((op, os.readlink(f"/proc/self/fd/{files[0]}") if files else None))
                if op == "GET_VMA" and files:
                    self.memory.append(request["get_vma"])
                self.here.sendmsg([reply], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))] if files else [])
                for file in files:
                    os.close(file)
        except OSError:
            pass  # the restore or the provider has gone
        self.here.close()
        self.there.close()

    def restore(self, server, *options):
        """Restores through the relay. Returns the run."""
        server.subject.ours.passed = {providers.NUMBER: self.client.fileno()}
        run = server.restore("--inherit-fd", f"fd[{providers.NUMBER}]:{providers.NAME}", *options)
        server.subject.ours.passed = None
        self.client.close()
        self.join(processes.PATIENCE)
        return run


def reap_tree(subject):
    """Kills the restored tree, so that it can be restored again."""
    tree = processes.tree(subject.root)
    for pid in tree:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # the init of its pid namespace has ended, and so has this process
    subject.init.until(lambda: not set(tree) & set(processes.pids()), processes.PATIENCE, "the end of the tree")
    subject.await_free_ids()


def served(subject, _task):
    """Restores from an empty directory: all images and all memory come from the provider. The provider serves the same
    memory again when the images' memory is destroyed, because it has read it. Requires the program to find it."""
    subject.dump(subject.ours, "images")
    server = Server(subject)
    relay = Relay(server)
    subject.require_success(relay.restore(server))
    kinds = {op for op, _ in relay.got}
    if not {"INIT", "OPEN_IMAGE", "GET_VMA", "WAIT_READY", "COMMIT"} <= kinds:
        raise Failed(f"the restore asked for {kinds}")
    if not relay.memory or not any(op == "GET_VMA" and name and "criu-provided" in name for op, name in relay.got):
        raise Failed(f"the provider gave no private memory: {relay.got}")
    server.await_log("A restore has succeeded", 1)
    providers.await_tree(subject)
    reap_tree(subject)
    for wanted in relay.memory:
        memory = providers.Memory(subject.images("images"), f"pagemap-{wanted['pid']}.img")
        memory.destroy(wanted["vaddr"], wanted["length"])
    subject.require_success(server.restore("--provider-socket", server.socket))
    server.await_log("A restore has succeeded", 2)
    providers.await_tree(subject)
    server.end()
    subject.check()


def served_mapped(subject, _task):
    """Restores clones with --map-pages from an empty directory. Requires the clones to share their memory and to find
    all of it after the end of the provider."""
    subject.dump(subject.ours, "images")
    server = Server(subject)
    subject.require_success(server.restore("--provider-socket", server.socket, "--map-pages"))
    if not clones.keepers():
        raise Failed("no shared-pages daemon runs")
    providers.await_tree(subject)
    server.await_log("A restore has succeeded", 1)
    server.await_log("A restore has closed its connection", 1)
    server.end()
    shutil.rmtree(server.empty)
    subject.check()


def server_fails(subject, _task):
    """Kills the provider before each kind of request. Requires a failed restore that names the provider and leaves
    nothing. Then requires a restore from a new provider at the same socket."""
    subject.dump(subject.ours, "images")
    for op in ("INIT", "OPEN_IMAGE", "GET_VMA", "WAIT_READY"):
        server = Server(subject)
        run = Relay(server, op, server.kill).restore(server)
        server.reap()
        said = " ".join(criu_runs.error_lines(run.log))
        if run.code in (0, None) or f"external memory provider, {op}: the provider has closed its socket" not in said:
            raise Failed(f"{op}: {run.describe()}")
        subject.await_free_ids()
    run = server.restore("--provider-socket", server.socket)
    if run.code in (0, None) or "connect: Connection refused" not in " ".join(criu_runs.error_lines(run.log)):
        raise Failed(run.describe())
    subject.await_free_ids()
    server = Server(subject)
    require_careful(server)
    # The tree runs already when the provider learns of it.
    relay = Relay(server, "COMMIT", server.kill)
    subject.require_success(relay.restore(server))
    server.reap()
    providers.await_tree(subject)
    subject.check()


def ask(link, request):
    """Sends a request. Returns the status, and the number of descriptors."""
    link.send(request if isinstance(request, bytes) else providers.PROTO.encode("extmem_req", request))
    reply, rights, _, _ = link.recvmsg(8192, socket.CMSG_SPACE(4))
    files = [file for _, _, data in rights for file in array.array("i", data)]
    for file in files:
        os.close(file)
    return (providers.PROTO.decode("extmem_resp", reply)["status"] if reply else None), len(files)


def require_careful(server):
    """Requires the provider to refuse wrong requests, and to serve others afterwards."""
    images = server.subject.images("images")
    os.mkfifo(os.path.join(images, "fifo"))
    os.symlink("/etc/passwd", os.path.join(images, "link"))
    pid = min(int(name[8:-4]) for name in os.listdir(images) if re.fullmatch(r"pagemap-\d+\.img", name))
    wrong = [
        ({"op": "EXTMEM_OPEN_IMAGE"}, -22),
        ({"op": "EXTMEM_OPEN_IMAGE", "open_image": {"name": "../images/inventory.img", "flags": 0}}, -22),
        ({"op": "EXTMEM_OPEN_IMAGE", "open_image": {"name": "/etc/passwd", "flags": 0}}, -22),
        ({"op": "EXTMEM_OPEN_IMAGE", "open_image": {"name": "", "flags": 0}}, -22),
        ({"op": "EXTMEM_OPEN_IMAGE", "open_image": {"name": "..", "flags": 0}}, -95),
        ({"op": "EXTMEM_OPEN_IMAGE", "open_image": {"name": "fifo", "flags": 0}}, -95),
        ({"op": "EXTMEM_OPEN_IMAGE", "open_image": {"name": "link", "flags": 0}}, -95),
        ({"op": "EXTMEM_OPEN_IMAGE", "open_image": {"name": "missing.img", "flags": 0}}, -95),
        ({"op": "EXTMEM_GET_VMA"}, -22),
        ({"op": "EXTMEM_GET_VMA", "get_vma": {"pid": pid, "vma_id": 0, "vaddr": 0, "length": 1 << 40}}, -22),
        ({"op": "EXTMEM_GET_VMA", "get_vma": {"pid": pid, "vma_id": 0, "vaddr": (1 << 64) - 4096, "length": 8192}}, -22),
        ({"op": "EXTMEM_GET_VMA", "get_vma": {"pid": pid, "vma_id": 0, "vaddr": 4097, "length": 1}}, -22),
        ({"op": "EXTMEM_GET_VMA", "get_vma": {"pid": pid, "vma_id": 0, "vaddr": 4096, "length": 0}}, -22),
        ({"op": "EXTMEM_GET_VMA", "get_vma": {"pid": 1 << 31, "vma_id": 0, "vaddr": 4096, "length": 4096}}, -22),
        ({"op": "EXTMEM_GET_VMA", "get_vma": {"pid": 4194303, "vma_id": 0, "vaddr": 4096, "length": 4096}}, -22),
        ({"op": "EXTMEM_GET_SHARED", "get_shared": {"shmid": 1 << 40, "length": 4096}}, -95),
        ({"op": "EXTMEM_GET_SHARED", "get_shared": {"shmid": 1, "length": (1 << 64) - 1}}, -22),
        (b"\x08\x63", -95),  # a request of an unknown kind
    ]
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as link:
        link.settimeout(processes.PATIENCE)
        link.connect(server.socket)
        for request, status in wrong:
            if (answer := ask(link, request)) != (status, 0):
                raise Failed(f"{request}: the provider answered {answer}")
        good = {"op": "EXTMEM_OPEN_IMAGE", "open_image": {"name": "inventory.img", "flags": 0}}
        if (answer := ask(link, good)) != (0, 1):
            raise Failed(f"{good}: the provider answered {answer}")
    for packet in (b"\xff" * 100, bytes(8193), b"\x10\x01"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as link:
            link.settimeout(processes.PATIENCE)
            link.connect(server.socket)
            link.send(packet)
            if link.recv(100):
                raise Failed(f"the provider answers the packet {packet[:10]}…")
    os.unlink(os.path.join(images, "fifo"))
    os.unlink(os.path.join(images, "link"))


MODES = [
    modes.Mode("served", served, beyond_42=True, of_memory=True),
    modes.Mode("served-mapped", served_mapped, scenario=True, beyond_42=True),
    modes.Mode("server-fails", server_fails, scenario=True, beyond_42=True),
]
