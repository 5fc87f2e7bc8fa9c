# SPDX-License-Identifier: GPL-2.0-only
"""The real programs: how to start each, when it is ready, and how to tell that it was not disturbed."""

import glob
import hashlib
import os
import shutil
import signal
import subprocess
import sys

from harness import processes, procstate

HERE = os.path.dirname(os.path.abspath(__file__))


class Failed(Exception):
    """The program was disturbed, or criu failed."""


class Program:
    """A program that says READY, and PASS (or FAIL …) after SIGTERM."""

    # Seconds between two dumps.
    pause = 0.3
    # How often it is dumped and restored.
    turns = 3
    # Options of criu dump and restore.
    options = ()

    def __init__(self, name, argv):
        self.name = name
        self.argv = argv

    def missing(self):
        """What the machine lacks to run it, or None."""
        return None if os.access(self.argv[0], os.X_OK) else f"no {self.argv[0]}"

    def prepare(self, folder):
        """Makes what the program needs in its folder."""

    def ready(self, output, _folder):
        """Has it got going?"""
        return "READY" in (processes.text(output) or "")

    def before(self, root):
        """Called before each dump; what it returns goes to after()."""

    def after(self, root, seen):
        """Called after each restore."""

    def end(self, init, root, output, _folder):
        """Lets it end and checks what it says."""
        os.kill(root, signal.SIGTERM)
        self.require_good_end(init, root, output)

    def require_good_end(self, init, root, output):
        """Exit code 0 and PASS."""
        ended = init.wait(root, processes.PATIENCE, "end of the program")
        said = processes.text(output) or ""
        if ended.code != 0 or "PASS" not in said or "FAIL" in said:
            raise Failed(f"the program ended with {ended.code} and said: {said.strip()}")


class Pipeline(Program):
    """The shell pipeline ends by itself; its sums are known."""

    def end(self, init, root, output, folder):
        self.require_good_end(init, root, output)
        lines = [f"line {i}: {number}\n" for i in range(1, 151) for number in range(i, 100001, 40)]
        expected = hashlib.sha256("".join(lines).encode()).hexdigest()
        with open(os.path.join(folder, "sum"), encoding="ascii") as file:
            if file.read().split()[0] != expected:
                raise Failed("the pipeline's sum is wrong")
        with open(os.path.join(folder, "count"), encoding="ascii") as file:
            if int(file.read()) != len(lines):
                raise Failed("the pipeline lost lines")


class SleepTree(Program):
    """Shells, sleeps and zombies that only exist."""

    # The short-lived ones end when bash has become the last sleep, which reaps nobody.
    SCRIPT = ("(sleep 1000 & sleep 1001 & (sleep 1002 & wait) & wait) & "
              "for i in 1 2 3; do (sleep 0.5; exit $i) & done; (sleep 0.5; kill -9 $BASHPID) & "
              "exec sleep 1003")

    def __init__(self, name):
        super().__init__(name, ["/bin/bash", "-c", self.SCRIPT])

    def ready(self, _output, _folder):
        states = [(processes.status(pid) or {}).get("State", "")[:1] for pid in processes.pids()]
        return states.count("Z") == 4 and len(states) == 11

    def before(self, root):
        return procstate.picture(root)

    def after(self, root, seen):
        wrong = procstate.differences(seen, procstate.picture(root))
        if wrong:
            raise Failed("the tree looks different:\n" + "\n".join(wrong[:8]))

    def end(self, init, root, _output, _folder):
        for pid in reversed(processes.tree(root)):
            try:
                os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:
                pass  # a shell whose children have ended before it
        if init.wait(root, processes.PATIENCE, "end of the root").code != -signal.SIGTERM:
            raise Failed("the root did not end by SIGTERM")


class SameResult(Program):
    """A tool that makes a file from another; the file has to be the one it makes undisturbed."""

    pause = 0.2

    def __init__(self, name, argv, product):
        super().__init__(name, argv)
        self.product = product

    def make_input(self, folder):
        """Writes the tool's input."""
        raise NotImplementedError

    def prepare(self, folder):
        self.make_input(folder)
        subprocess.run(self.argv, cwd=folder, check=True)
        os.rename(os.path.join(folder, self.product), os.path.join(folder, "expected"))

    def ready(self, _output, _folder):
        return True

    def end(self, init, root, output, folder):
        ended = init.wait(root, 2 * processes.PATIENCE, "end of the tool")
        if ended.code != 0:
            raise Failed(f"the tool ended with {ended.code}: {processes.text(output)}")
        contents = []
        for name in (self.product, "expected"):
            with open(os.path.join(folder, name), "rb") as file:
                contents.append(file.read())
        if contents[0] != contents[1]:
            raise Failed("the tool's result differs from the undisturbed one")


class Compiler(SameResult):
    """g++ with its compiler proper and assembler as children, and temporary files."""

    def __init__(self):
        super().__init__("compiler", [shutil.which("g++") or "g++", "-O2", "-c", "source.cpp"], "source.o")

    def make_input(self, folder):
        parts = [f"template <int N> struct T{i} {{ static int f(int x) {{ return x % (N + {i} + 1) + "
                 f"T{i}<N - 1>::f(x); }} }};\ntemplate <> struct T{i}<0> {{ static int f(int x) {{ return x; }} }};\n"
                 f"int g{i}(int x) {{ return T{i}<90>::f(x); }}\n" for i in range(40)]
        with open(os.path.join(folder, "source.cpp"), "w", encoding="ascii") as file:
            file.write("#include <map>\n#include <regex>\n#include <string>\n" + "".join(parts) +
                       "std::map<std::string, std::regex> m;\n")


class Compressor(SameResult):
    """xz with two threads."""

    def __init__(self):
        super().__init__("compressor", [shutil.which("xz") or "xz", "-k", "-T2", "--block-size=2MiB", "-4", "data"],
                         "data.xz")

    def make_input(self, folder):
        words = [hashlib.sha256(str(i).encode()).hexdigest() for i in range(1000)]
        with open(os.path.join(folder, "data"), "w", encoding="ascii") as file:
            for i in range(150_000):
                file.write(words[i * i % 997] + words[i % 991] + "\n")


class Service(Program):
    """A server that its driver starts, with clients in the same tree."""

    options = ("--tcp-established",)

    def __init__(self, name, server):
        super().__init__(name, [sys.executable, os.path.join(HERE, f"{name}_service.py")])
        self.server = server

    def missing(self):
        found = self.server.startswith("/") and glob.glob(self.server) or shutil.which(self.server)
        return None if found else f"no {self.server}"


class Terminals(Service):
    """Programs in terminals, with who sits at them."""

    def __init__(self):
        super().__init__("terminals", "vim")

    def missing(self):
        return super().missing() or (None if shutil.which("less") else "no less")


class Mpi(Service):
    """A job of Open MPI whose ranks are Python programs."""

    def __init__(self):
        super().__init__("mpi", "mpirun")

    def missing(self):
        return super().missing() or (None if glob.glob("/usr/lib/python3/dist-packages/mpi4py") else "no mpi4py")


class Stream(Program):
    """A stream between two processes, which is flowing at every dump."""

    turns = 5

    def __init__(self, family, build):
        super().__init__(f"stream-{family}", [os.path.join(build, "test", "programs", "stream"), family])
        self.options = ("--tcp-established",) if family == "tcp" else ()


class Java(Program):
    """A Java program, compiled first: only the machine itself is to be dumped."""

    def __init__(self):
        super().__init__("java-threads", ["/usr/bin/java", "-Xmx128m", "-cp", ".", "Threads"])

    def missing(self):
        return None if shutil.which("java") and shutil.which("javac") else "no Java compiler"

    def prepare(self, folder):
        subprocess.run(["javac", "-d", folder, os.path.join(HERE, "Threads.java")], check=True,
                       stderr=subprocess.DEVNULL)


def programs(build):
    """All of them."""
    return [
        Program("python-threads", [sys.executable, os.path.join(HERE, "python_threads.py")]),
        Pipeline("bash-pipeline", ["/bin/bash", os.path.join(HERE, "pipeline.sh")]),
        Program("thread-pool", [os.path.join(build, "test", "programs", "thread_pool")]),
        SleepTree("sleep-tree"),
        Compiler(),
        Compressor(),
        Java(),
        Service("redis", "redis-server"),
        Service("postgres", "/usr/lib/postgresql/*/bin/postgres"),
        Service("nginx", "nginx"),
        Service("haproxy", "haproxy"),
        Mpi(),
        Service("node", "node"),
        Service("asyncio", sys.executable),
        Terminals(),
        Service("sandbox", "bwrap"),
        Stream("tcp", build),
        Stream("unix", build),
    ]
