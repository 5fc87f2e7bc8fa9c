# SPDX-License-Identifier: GPL-2.0-only
"""Cases about obstacles to a restore: criu explain finds what the restore refuses."""

import os
import re
import shutil
import signal
import socket
import sys

from case import named, once, reaped, require, says, until
from harness import terminal


def program(case, *argv, **streams):
    """Starts a copy of sleep called program, so that the file can change; returns its pid."""
    shutil.copy("/bin/sleep", "program")
    process = case.start(os.path.join(case.work, "program"), *(argv or ["1000"]), **streams)
    named(process.pid, "program")
    return process.pid


def free_port():
    """A TCP port that no socket uses at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def refused_and_explained(case, pattern, *words):
    """Both criu explain and the restore name an obstacle."""
    says(case.criu("explain", case.images, *words, status=1), "In the way: .*" + pattern)
    says(case.restore(*words, status=1), pattern)


def changed_files(case):
    """A program of another size or mode, and a data file that was appended to."""
    with open("data", "w", encoding="ascii") as file:
        file.write("before")
    with open("data", "r+", encoding="ascii") as data:
        pid = program(case, stdout=data)
        case.dump(pid)
    says(case.criu("explain", case.images), "Nothing is in the way")
    os.chmod("program", 0o700)
    refused_and_explained(case, r"/program has mode 0100700, not 0100755.*--skip-file-rwx-check")
    says(case.criu("explain", case.images, "--skip-file-rwx-check"), "Nothing is in the way")
    os.chmod("program", 0o755)
    with open("data", "a", encoding="ascii") as file:
        file.write(" and after")
    refused_and_explained(case, r"/data has 16 bytes, not 6 .*truncate -s 6 ")
    with open("program", "ab") as file:
        file.write(b"more")
    said = case.criu("explain", case.images, status=1)
    says(said, f"In the way: the program of process {pid}: .*/program has ", f"In the way: fd 1 of process {pid}: .*/data has")
    # truncate(1) would destroy a program that was replaced.
    once(said, "truncate")
    os.truncate("data", 6)
    says(case.restore(status=1), r"/program has \d+ bytes, not \d+ .*put back the file of the dump, because images don't hold")
    require("truncate" not in case.restore(status=1), "criu suggests to truncate a program")
    shutil.copy("/bin/sleep", "program")
    case.restore()
    os.kill(pid, signal.SIGKILL)


def used_port(case, kind, line):
    """A TCP or UDP port that another program uses since the dump."""
    server = case.python(f"s = socket.socket(socket.AF_INET, socket.{kind})\ns.bind(('127.0.0.1', 0))\n{line}\n"
                         "ready(s.getsockname()[1])\ntime.sleep(1000)\n")
    port = int(case.said())
    case.dump(server.pid)
    says(case.criu("explain", case.images), "Nothing is in the way")
    with socket.socket(socket.AF_INET, getattr(socket, kind)) as other:
        other.bind(("127.0.0.1", port))
        if line != "pass":
            other.listen()
        refused_and_explained(case, rf"bind a socket to 127.0.0.1:{port}: Address already in use \(process {os.getpid()} "
                                    r"\(python3[^)]*\) uses this port now: end it\)")
    case.restore()
    os.kill(server.pid, signal.SIGKILL)


def used_tcp_port(case):
    """A listening socket's port."""
    used_port(case, "SOCK_STREAM", "s.listen()")


def used_udp_port(case):
    """A datagram socket's port."""
    used_port(case, "SOCK_DGRAM", "pass")


def port_in_time_wait(case):
    """A port that only closed connections use isn't in the way: a restore destroys them."""
    server = case.python("s = socket.socket()\ns.bind(('127.0.0.1', 0))\ns.listen()\nready(s.getsockname()[1])\n"
                         "c, _ = s.accept()\nc.close()\ntime.sleep(0.1)\nready(0)\ntime.sleep(1000)\n")
    with socket.create_connection(("127.0.0.1", int(case.said()))) as client:
        require(client.recv(1) == b"", "the server sends something")
    until(lambda: case.said() == "0", "the closed connection")
    case.dump(server.pid)
    says(case.criu("explain", case.images), "Nothing is in the way")
    case.restore()
    os.kill(server.pid, signal.SIGKILL)


def no_terminal(case):
    """A job of a shell, and no terminal here."""
    window = terminal.Terminal()
    pid = window.start([sys.executable, "-c", "import time\nprint('ready', flush=True)\ntime.sleep(1000)"], case.work)
    window.close_slave()
    window.expect("ready")
    case.dump(pid, "--shell-job")
    refused_and_explained(case, "--shell-job: criu has no terminal", "--shell-job")
    says(case.criu("explain", case.images, status=1), "In the way: .*its master isn't in the images .*--shell-job")


def several_obstacles(case):
    """A job of a shell with a pipe to another process, and a file that has changed: explain lists all."""
    read, write = os.pipe()
    with open("data", "w", encoding="ascii") as data:
        process = case.start("/bin/sleep", "1000", session=False, stdout=write, stderr=data)
    named(process.pid, "sleep")
    case.dump(process.pid, "--shell-job")
    os.close(write)
    os.close(read)
    process.wait()
    with open("data", "a", encoding="ascii") as file:
        file.write("more")
    said = case.criu("explain", case.images, status=1)
    once(said, r"In the way: process \d+ doesn't lead its session .*--shell-job")
    once(said, r"In the way: pipe:\[\d+\] of process \d+ led out of the tree")
    once(said, r"In the way: fd 2 of process \d+: .*/data has 4 bytes, not 0 ")
    once(case.restore(status=1), "Error.*doesn't lead its session")


def taken_terminal(case):
    """A pseudoterminal whose number another program has now."""
    process = case.python("m, s = os.openpty()\nready(os.ttyname(s))\ntime.sleep(1000)\n")
    name = case.said()
    case.dump(process.pid)
    says(case.criu("explain", case.images), "Nothing is in the way")
    others = []
    while name not in [os.ttyname(slave) for _, slave in others]:
        others.append(os.openpty())
    refused_and_explained(case, r"make pseudoterminal \d+: the number is taken")
    for pair in others:
        for fd in pair:
            os.close(fd)
    case.restore()
    os.kill(process.pid, signal.SIGKILL)


def address_that_is_not_here(case):
    """--inet-map to an address that no interface has, and a mapping that matches no socket."""
    server = case.python("s = socket.socket()\ns.bind(('127.0.0.1', 0))\ns.listen()\nready()\ntime.sleep(1000)\n")
    case.dump(server.pid)
    words = ("--inet-map", "127.0.0.1=192.0.2.77", "--inet-map", "192.0.2.1=127.0.0.1")
    said = case.criu("explain", case.images, *words)
    says(said, r"socket:\[\d+\] is bound to 192.0.2.77:\d+, but no network interface has this address", "Nothing is in the way")
    said = case.restore(*words)
    once(said, r"Warn .*: socket:\[\d+\] is bound to 192.0.2.77:\d+, but no network interface has this address.*--inet-map")
    once(said, r"Warn .*: --inet-map: no socket of the images has the address 192.0.2.1")
    os.kill(server.pid, signal.SIGKILL)
    until(lambda: not reaped(server.pid), "its end")
    require("Warn" not in case.restore("--inet-map", "127.0.0.1=127.0.0.2"), "a warning for an address of this machine")
    os.kill(server.pid, signal.SIGKILL)


def address_left_behind(case):
    """An address that no interface has, without a mapping. A program with IP_FREEBIND may use such addresses."""
    for option, warned in (("pass", True), ("s.setsockopt(0, 15, 1)", False)):
        server = case.python("a = ['ip', 'address', 'add', '192.0.2.9/32', 'dev', 'lo']\nimport subprocess\n"
                             "subprocess.run(a, check=True)\n"
                             f"s = socket.socket()\n{option}\ns.bind(('192.0.2.9', 0))\ns.listen()\na[2] = 'del'\n"
                             "subprocess.run(a, check=True)\nready()\ntime.sleep(1000)\n")
        case.dump(server.pid)
        says(case.criu("explain", case.images), "Nothing is in the way")
        said = case.restore()
        require(warned == bool(re.search("but no network interface has this address", said)), f"{option}: {said}")
        os.kill(server.pid, signal.SIGKILL)
        until(lambda pid=server.pid: not reaped(pid), "its end")


def cut_images(case):
    """Images that were copied in part, and a parent that was moved."""
    pid = program(case)
    case.dump(pid)
    name = next(name for name in os.listdir(case.images) if re.fullmatch(r"pages-\d+\.img", name))
    os.truncate(os.path.join(case.images, name), 4096)
    says(case.criu("explain", case.images, status=1), "In the way: .*pages-")
    os.mkdir("server")
    os.rename(os.path.join(case.images, name), os.path.join("server", name))
    pagemap = f"pagemap-{pid}.img"
    os.rename(os.path.join(case.images, pagemap), os.path.join("server", pagemap))
    says(case.criu("explain", case.images, status=1), rf"no pages of process {pid} .*--page-server, the directory of the page server")
    pid = program(case)
    os.makedirs("steps/1")
    os.mkdir("steps/2")
    case.criu("dump", "-t", str(pid), "-D", "steps/1", "--track-mem", "-R")
    case.criu("dump", "-t", str(pid), "-D", "steps/2", "--prev-images-dir", "../1")
    os.rename("steps/1", "moved")
    says(case.criu("explain", "steps/2", status=1),
         r"open the parent of steps/2: No such file or directory \(the link steps/2/parent leads to \.\./1: these images are needed")


def waits(case):
    """criu tells a user at a terminal what it waits for."""
    window = terminal.Terminal()
    pid = window.start([case.binary, "page-server", "-D", case.images], case.work)
    window.expect_match(r"Page server: waiting at port [1-9]\d* for a dump or pre-dump. Ctrl-C ends it.")
    window.type("\003")
    os.waitpid(pid, 0)
    sleeper = program(case)
    pid = window.start([case.binary, "dump", "-t", str(sleeper), "-D", case.images, "--lazy-pages", "--port", str(free_port())], case.work)
    window.expect_match(r"The tree stands still, and criu waits for criu lazy-pages at port [1-9]\d*. Ctrl-C ends the dump")
    window.type("\003")
    require(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0, "an interrupted dump succeeds")
    require(os.path.exists(f"/proc/{sleeper}"), "the tree has ended")
    case.dump(sleeper)
    pid = window.start([case.binary, "lazy-pages", "-D", case.images], case.work)
    window.expect("Waiting for criu restore --lazy-pages")
    window.type("\003")
    os.waitpid(pid, 0)


CASES = [changed_files, several_obstacles, used_tcp_port, used_udp_port, port_in_time_wait, no_terminal, taken_terminal, address_that_is_not_here,
         address_left_behind, cut_images, waits]
