# SPDX-License-Identifier: GPL-2.0-only
"""On images that criu writes here of live programs: bytes stay, views can be made, core files can be read, and explain knows
what stands in the way."""

import collections
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from crit import explore, summary
from crit.checkpoint import Checkpoint
from criu_coredump.core_file import CoreFile
from pycriu import images
from programs import BUILD, ROOT, crit, dump, need_root, program, run, wait_until

# Whole programs whose images have, taken together, nearly all kinds. Those that can't run on a machine are left out there.
PROGRAMS = ("namespaces/ipc_*", "namespaces/time_uts/uts*", "networks/net_content", "namespaces/user*", "sockets/unix_queue*",
            "tcp/tcp_established*", "tcp/tcp_flowing", "files/ghost*", "files/memfd*", "files/*lock*", "files/pipe*",
            "files/fifo*", "tty/pty*", "events/*", "memory/shared*", "threads/twenty", "cgroups/properties", "io_uring/*")
RAW = ("pages-", "tmpfs-", "ifaddr-", "route", "rule-", "iptables-", "ip6tables-", "nftables-", "netns-ct-", "netns-exp-",
       "amdgpu-", "cuda.img")


def work_folder(test):
    """A directory for images."""
    folder = tempfile.mkdtemp(prefix="criu-crit-", dir="/var/tmp")
    test.addCleanup(shutil.rmtree, folder, ignore_errors=True)
    return folder


class ManyKinds(unittest.TestCase):
    """Images of test programs."""

    def test_bytes_stay_and_views_can_be_made(self):
        need_root()
        folder = work_folder(self)
        words = [word for pattern in PROGRAMS for word in ("-t", pattern)]
        subprocess.run([os.path.join(ROOT, "test", "zdtm", "run"), "--build", BUILD, "-m", "once", "--keep", "--jobs", "2",
                        "--scratch", folder, *words], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seen = collections.Counter()
        for path, _, files in os.walk(folder):
            if "inventory.img" not in files:
                continue
            for name in files:
                if name.endswith(".img") and not name.startswith(RAW):
                    seen[self.check_image(os.path.join(path, name))] += 1
            self.check_views(path)
        # With no way to make namespaces there would be few.
        self.assertGreaterEqual(len(seen), 12, seen)

    def check_image(self, path):
        """An image stays what it is; returns its kind."""
        with open(path, "rb") as stream:
            data = stream.read()
        for pretty in (False, True):
            image = json.loads(json.dumps(images.loads(data, pretty)))
            self.assertEqual(images.dumps(image), data, path)
        self.assertNotIn('"unknown_fields"', json.dumps(image), path)
        if image["magic"] == "FILES":
            # Files without a descriptor, such as working directories, have a type, too.
            for entry in image["entries"]:
                self.assertEqual(entry["type"] == "REG", "reg" in entry, f"{path}: {entry}")
        return image["magic"]

    def check_views(self, path):
        """Nothing in a directory is too strange to be shown."""
        checkpoint = Checkpoint(path)
        for lines, data in explore.VIEWS.values():
            self.assertTrue(list(lines(checkpoint)), path)
            json.dumps(data(checkpoint))
        page = "\n".join(summary.summary(checkpoint))
        self.assertIn(f"Tree: {len(checkpoint.processes)} process", page)


class OneProgram(unittest.TestCase):
    """Images of a program made for this."""

    SECRET = b"what the memory says"

    def setUp(self):
        need_root()
        self.folder = work_folder(self)
        self.images = os.path.join(self.folder, "images")
        self.data = os.path.join(self.folder, "data")
        script = (f"import socket, sys, time\nsecret = {self.SECRET!r} * 4096\nfile = open({self.data!r}, 'w')\n"
                  "file.write('abc')\nfile.flush()\n"
                  "one = socket.socket()\none.bind(('127.0.0.1', 0))\none.listen()\n"
                  f"open({self.folder!r} + '/ready', 'w').write(str(one.getsockname()[1]))\ntime.sleep(1000)\n")
        # A copy of its own, which a test may take away.
        self.program = os.path.join(self.folder, "python")
        shutil.copy(os.path.realpath(sys.executable), self.program)
        running = program(self.program, "-c", script, "a" * 200)
        self.pid = running.__enter__()  # pylint: disable=unnecessary-dunder-call
        self.addCleanup(running.__exit__, None, None, None)
        ready = os.path.join(self.folder, "ready")
        wait_until(lambda: os.path.exists(ready) and os.path.getsize(ready))
        with open(ready, encoding="ascii") as text:
            self.port = int(text.read())

    def explained(self):
        """Exit status and text of crit explain."""
        result = crit("explain", self.images)
        self.assertEqual(result.stderr.count(b"Traceback"), 0, result.stderr)
        return result.returncode, result.stdout.decode()

    def test_summary(self):
        dump(self.pid, self.images)
        page = crit("show", self.images).stdout.decode()
        for part in ("Tree: 1 process, 1 thread", f" {self.pid} Alive ", "import socket", f"  {self.data}\n", "heap:",
                     f"TCP 127.0.0.1:{self.port} LISTEN", "processor: X86_64"):
            self.assertIn(part, page)
        tree = json.loads(crit("x", self.images, "ps", "--json").stdout)
        self.assertEqual((tree["pid"], tree["state"]), (self.pid, "Alive"))
        files = json.loads(crit("x", self.images, "fds", "--json").stdout)[0]
        self.assertIn({"fd": "3", "type": "REG", "path": self.data}, files["files"])
        self.assertIn(f"\t      3: {self.data}\n", crit("x", self.images, "fds").stdout.decode())

    def test_explain(self):
        dump(self.pid, self.images, "--leave-running")
        status, text = self.explained()
        self.assertEqual(status, 1)
        self.assertIn(f"number {self.pid} is that of another process", text)
        self.assertIn(f"bound to 127.0.0.1 port {self.port}", text)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.assertEqual(self.explained()[0], 0)
        os.rename(self.program, f"{self.program}.away")
        os.truncate(self.data, 1)
        status, text = self.explained()
        self.assertEqual(status, 1)
        self.assertIn(f"{self.program}, the program of process {self.pid}, can't be found", text)
        self.assertIn(f"{self.data}, descriptor 3 of process {self.pid}, has 1 bytes, and had 3", text)
        pages = next(name for name in os.listdir(self.images) if name.startswith("pages-"))
        os.truncate(os.path.join(self.images, pages), 4096)
        self.assertIn(f"{pages} has 4096 bytes", self.explained()[1])

    def test_core_file(self):
        dump(self.pid, self.images)
        result = run("criu-coredump", "-i", self.images, "-o", self.folder)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        name = os.path.join(self.folder, f"core.{self.pid}")
        self.assertEqual(os.stat(name).st_mode & 0o777, 0o600)
        with open(name, "rb") as core:
            content = core.read()
        self.assertIn(self.SECRET * 4000, content)
        if shutil.which("readelf"):
            shown = subprocess.run(["readelf", "--wide", "--all", name], capture_output=True, text=True, check=True)
            self.assertEqual(shown.stderr, "")
            for part in ("CORE (Core file)", "NT_PRSTATUS", "NT_PRPSINFO", "NT_AUXV", "NT_FILE", "NT_FPREGSET"):
                self.assertIn(part, shown.stdout)
        checkpoint = Checkpoint(self.images)
        segments = CoreFile(checkpoint, checkpoint.processes[0])._segments()  # pylint: disable=protected-access
        self.assertEqual(len(segments), len(checkpoint.processes[0].mappings))
        self.assertEqual(run("criu-coredump", "-i", self.images, "-p", "1").returncode, 1)

    def test_core_file_follows_no_names(self):
        """Another user's link in place of the core file, and a fifo in place of a mapped file."""
        dump(self.pid, self.images)
        victim = os.path.join(self.folder, "victim")
        name = os.path.join(self.folder, f"core.{self.pid}")
        with open(victim, "w", encoding="ascii") as text:
            text.write("kept")
        os.symlink(victim, name)
        os.unlink(self.program)
        os.mkfifo(self.program)
        result = run("criu-coredump", "-i", self.images, "-o", self.folder)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        with open(victim, encoding="ascii") as text:
            self.assertEqual(text.read(), "kept")
        self.assertFalse(os.path.islink(name))
        self.assertEqual(os.stat(name).st_mode & 0o777, 0o600)
        self.assertEqual([file for file in os.listdir(self.folder) if file.startswith("core.")], [os.path.basename(name)])

    def test_core_file_says_what_memory_said(self):
        """Against what /proc has of the same program, standing still."""
        self.compare_memory()

    def test_memory_in_several_files(self):
        """The same with pages that are spread over files."""
        self.compare_memory("--pages-files", "3")
        self.assertGreater(len([name for name in os.listdir(self.images) if name.startswith("pages-")]), 1)
        self.assertNotIn("bytes, but pagemap", self.explained()[1])

    def test_compressed_memory(self):
        """The same with pages that are compressed."""
        for number, how in enumerate(("--compress", "--compress=zstd")):
            self.images = os.path.join(self.folder, f"compressed-{number}")
            os.mkdir(self.images)
            self.compare_memory(how)
            self.assertNotIn("bytes, but pagemap", self.explained()[1])

    def test_checksums(self):
        """Memory is shown and images stay, byte for byte, also with checksums, which are those of the files."""
        self.compare_memory("--checksum")
        for name in ("checksums-1.img", "inventory.img", f"pagemap-{self.pid}.img"):
            with open(os.path.join(self.images, name), "rb") as stream:
                data = stream.read()
            image = json.loads(json.dumps(images.loads(data, True)))
            self.assertEqual(images.dumps(image), data, name)
            self.assertNotIn('"unknown_fields"', json.dumps(image), name)
        with open(os.path.join(self.images, "checksums-1.img"), "rb") as stream:
            listed = images.loads(stream.read())["entries"][1:]
        self.assertIn("inventory.img", [entry["name"] for entry in listed])
        for entry in listed:
            self.assertEqual(os.path.getsize(os.path.join(self.images, entry["name"])), entry["size"], entry["name"])
        with open(os.path.join(self.images, f"pagemap-{self.pid}.img"), "rb") as stream:
            entries = images.loads(stream.read())["entries"][1:]
        self.assertTrue(entries)
        for entry in entries:
            self.assertEqual(len(entry.get("checksums", [])), entry["nr_pages"] if entry["flags"] & 4 else 0)

    def compare_memory(self, *words):
        """Dumps the program, and compares its core file with it."""
        os.kill(self.pid, signal.SIGSTOP)
        wait_until(lambda: self.state() == "T")
        dump(self.pid, self.images, "--leave-stopped", *words)
        checkpoint = Checkpoint(self.images)
        core = os.path.join(self.folder, "core")
        with open(core, "wb") as out:
            CoreFile(checkpoint, checkpoint.processes[0]).write(out)
        compared = 0
        with open(core, "rb") as file, open(f"/proc/{self.pid}/mem", "rb") as memory:
            header = file.read(64)
            count = int.from_bytes(header[56:58], "little")
            for index in range(count):
                file.seek(64 + 56 * index)
                entry = [int.from_bytes(file.read(size), "little") for size in (4, 4, 8, 8, 8, 8, 8)]
                if entry[0] != 1 or not entry[5]:
                    continue
                file.seek(entry[2])
                memory.seek(entry[3])
                self.assertEqual(file.read(entry[5]), memory.read(entry[5]), hex(entry[3]))
                compared += entry[5]
        self.assertGreater(compared, 1 << 20)

    def state(self):
        """The state of the program, as ps(1) shows it."""
        with open(f"/proc/{self.pid}/stat", encoding="ascii", errors="replace") as text:
            return text.read().rpartition(")")[2].split()[0]


class OwnNamespace(unittest.TestCase):
    """criu-ns."""

    def test_restore_where_the_number_is_taken(self):
        need_root()
        folder = work_folder(self)
        with program("/bin/sleep", "1000") as pid:
            dump(pid, os.path.join(folder, "images"), "--leave-running")
            # criu stays as the first process of the namespace, with the descriptors that it got: so not with pipes.
            with open(os.path.join(folder, "output"), "w+b") as output:
                result = subprocess.run([os.path.join(BUILD, "bin", "criu-ns"), "restore", "-D", "images", "-W", folder, "-d",
                                         "--pidfile", "pid", "-o", "log", "-v4", "--criu-binary",
                                         os.path.join(BUILD, "bin", "criu")], check=False, timeout=120, cwd=folder,
                                        stdin=subprocess.DEVNULL, stdout=output, stderr=output)
                output.seek(0)
                text = output.read()
            if b"Operation not permitted" in text:
                self.skipTest("no pid namespace can be made here")
            self.assertEqual(result.returncode, 0, text)
            with open(os.path.join(folder, "pid"), encoding="ascii") as text:
                restored = int(text.read())
            self.assertNotEqual(restored, pid)
            with open(f"/proc/{restored}/status", encoding="ascii") as text:
                numbers = next(line.split()[1:] for line in text if line.startswith("NSpid:"))
            self.assertEqual(numbers[-1], str(pid))
            # And out of there again, by the number that it has here.
            result = run("criu-ns", "dump", "-D", folder, "-t", str(restored), "-o", "log2", "--criu-binary",
                         os.path.join(BUILD, "bin", "criu"))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(Checkpoint(folder).processes[0].pid, pid)
            self.assertFalse([name for name in os.listdir(folder) if name.startswith(("pidns-", "mountpoints-"))])
            wait_until(lambda: not os.path.exists(f"/proc/{restored}"))

    def test_dump_executes_no_program_of_the_tree(self):
        """The path of criu leads to another program in the mount namespace of a tree. That isn't executed."""
        need_root()
        folder = work_folder(self)
        criu = os.path.join(folder, "criu")
        shutil.copy(os.path.join(BUILD, "bin", "criu"), criu)
        other = os.path.join(folder, "other")
        with open(other, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\ntouch {folder}/executed\n")
        os.chmod(other, 0o755)
        images = os.path.join(folder, "images")
        os.mkdir(images)
        script = f"mount --bind {other} {criu} && touch {folder}/ready && exec sleep 1000"
        with program("/usr/bin/unshare", "--pid", "--mount", "--mount-proc", "--fork", "--kill-child", "setsid", "/bin/sh", "-c",
                     script) as starter:
            wait_until(lambda: os.path.exists(os.path.join(folder, "ready")))
            with open(f"/proc/{starter}/task/{starter}/children", encoding="ascii") as children:
                root = children.read().split()[0]
            for command in ("pre-dump", "dump"):
                result = run("criu-ns", command, "-D", images, "-t", root, "-o", "log", "--criu-binary", criu)
                self.assertFalse(os.path.exists(os.path.join(folder, "executed")), command)
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_failure_is_told(self):
        need_root()
        folder = work_folder(self)
        result = run("criu-ns", "restore", "-D", folder, "-d", "--pidfile", "pid",
                     "--criu-binary", os.path.join(BUILD, "bin", "criu"))
        self.assertEqual(result.returncode, 1)
        self.assertFalse(os.path.exists(os.path.join(folder, "pid")))


class Requests(unittest.TestCase):
    """pycriu.criu against the criu of the build."""

    def test_program_and_errors(self):
        import pycriu  # pylint: disable=import-outside-toplevel
        request = pycriu.criu()
        request.use_binary(os.path.join(BUILD, "bin", "criu"))
        try:
            version = request.version()
        except pycriu.CRIUExceptionInternal:
            self.skipTest("this criu answers no requests")
        self.assertEqual((version.major_number, version.minor_number), (4, 2))
        need_root()
        folder = work_folder(self)
        with program("/bin/sleep", "1000") as pid:
            request.opts.images_dir = folder
            request.opts.pid = pid
            self.assertFalse(request.dump().restored)
            wait_until(lambda: not os.path.exists(f"/proc/{pid}") or os.waitpid(pid, os.WNOHANG)[0])
            with self.assertRaises(pycriu.CRIUExceptionExternal) as caught:
                request.dump()
            self.assertIn("DUMP failed: Error(3): No process with such pid", str(caught.exception))
            self.assertEqual(request.restore().pid, pid)
            with self.assertRaises(pycriu.CRIUExceptionExternal) as caught:
                request.restore()
            self.assertIn("RESTORE failed: Error(17): Process with requested pid already exists", str(caught.exception))
            os.kill(pid, signal.SIGKILL)

    def test_check_needs_a_directory_for_its_log_only(self):
        import pycriu  # pylint: disable=import-outside-toplevel
        need_root()
        folder = work_folder(self)
        descriptor = os.open(folder, os.O_PATH)
        self.addCleanup(os.close, descriptor)
        request = pycriu.criu()
        request.use_binary(os.path.join(BUILD, "bin", "criu"))
        request.check()
        request.opts.log_file = "check.log"
        with self.assertRaises(pycriu.CRIUExceptionExternal):
            request.check()
        request.opts.work_dir_fd = descriptor
        request.opts.log_level = 4
        request.check()
        self.assertGreater(os.path.getsize(os.path.join(folder, "check.log")), 0)

    def test_nobody_there(self):
        import pycriu  # pylint: disable=import-outside-toplevel
        request = pycriu.criu()
        path = os.path.join(work_folder(self), "socket")
        request.use_sk(path)
        with self.assertRaises(pycriu.CRIUExceptionInternal) as caught:
            request.check()
        self.assertEqual(str(caught.exception), "CHECK failed with internal error: Socket file not found.")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
            server.bind(path)
            with self.assertRaises(pycriu.CRIUExceptionInternal) as caught:
                request.check()
            self.assertIn("Service not running.", str(caught.exception))
        request.use_binary("/bin/true")
        began = time.monotonic()
        with self.assertRaises(pycriu.CRIUExceptionInternal):
            request.check()
        self.assertLess(time.monotonic() - began, 10)
