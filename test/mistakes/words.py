# SPDX-License-Identifier: GPL-2.0-only
"""Cases about words of the command line: each message names the cause, and a remedy that works."""

import os
import signal
import socket
import subprocess

from case import named, once, require, says, state, until


def sleeper(case):
    """A program that can be dumped; its pid."""
    process = case.start("/bin/sleep", "1000")
    named(process.pid, "sleep")
    return process.pid


def scripts_that_do_not_start(case):
    """Action scripts: without execute permission, in the current directory without ./, without an interpreter."""
    pid = sleeper(case)
    with open("own-script", "w", encoding="ascii") as file:
        file.write("#!/bin/sh\ntouch ran\n")
    says(case.dump(pid, "--action-script", "./own-script", status=1), r"Permission denied \(.*chmod \+x .*own-script\)")
    says(case.dump(pid, "--action-script", "own-script", status=1), r"No such file or directory \(.* PATH; .*\./own-script\)")
    os.chmod("own-script", 0o755)
    says(case.dump(pid, "--action-script", "own-script", status=1), r"No such file or directory \(.* PATH; .*\./own-script\)")
    with open("lost", "w", encoding="ascii") as file:
        file.write("#!/nowhere/sh\n")
    os.chmod("lost", 0o755)
    says(case.dump(pid, "--action-script", "./lost", status=1), r"No such file or directory \(the file exists, but the interpreter")
    with open("text", "w", encoding="ascii") as file:
        file.write("touch ran\n")
    os.chmod("text", 0o755)
    says(case.dump(pid, "--action-script", "./text", status=1), r"Exec format error \(a script needs a first line")
    says(case.dump(pid, "--action-script", "./own-script word", status=1), r"No such file or directory \('./own-script word' is taken as the name of one program")
    case.dump(pid, "--action-script", "./own-script")
    require(os.path.exists("images/ran"), "the script didn't run")
    os.chmod("own-script", 0o644)
    says(case.criu("restore", "-D", case.images, "--exec-cmd", "--", os.path.abspath("own-script"), status=1),
         r"Permission denied \(.*chmod \+x")


def scripts_that_fail(case):
    """The terminal gets the name of the script, its stage and its status."""
    pid = sleeper(case)
    with open("failing", "w", encoding="ascii") as file:
        file.write('#!/bin/sh\n[ "$CRTOOLS_SCRIPT_ACTION" != "$STAGE" ] || exit 3\n')
    os.chmod("failing", 0o755)
    script = os.path.abspath("failing")
    for stage, status in (("pre-dump", 1), ("post-dump", 3)):
        said = case.dump(pid, "-o", "dump.log", "--action-script", script, status=status, env={**os.environ, "STAGE": stage})
        once(said, f"Error: action script {script} at {stage} exited with status 3")
        until(lambda: state(pid) == "S", "the program runs on")
    case.dump(pid, "-o", "dump.log")
    for stage in ("post-restore", "pre-resume"):
        ignored = stage == "pre-resume"
        said = case.restore("-o", "restore.log", "--action-script", script, status=0 if ignored else 1, env={**os.environ, "STAGE": stage})
        if ignored:
            require("Error" not in said, said)
        else:
            once(said, f"Error: action script {script} at {stage} exited with status 3")
    os.kill(pid, signal.SIGKILL)


def no_page_server(case):
    """A page server that has ended, as each does after one dump."""
    pid = sleeper(case)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    says(case.dump(pid, "--page-server", "--address", "127.0.0.1", "--port", port, status=1),
         r"Connection refused \(no process listens there; criu page-server ends after one dump")
    os.kill(pid, signal.SIGKILL)


def init_as_root(case):
    """-t 1"""
    said = case.criu("dump", "-t", "1", "-D", case.images, status=1)
    says(said, r"process 1 \(.*\) is the init of criu's pid namespace", "-t the pid of one program")
    require("another terminal" not in said, said)


def never_end_init(case):
    """A zombie whose parent is process 1, and images of process 1."""
    process = case.start("/bin/sh", "-c", "sleep 1000 & echo $! >pid; wait")
    until(lambda: os.path.exists("pid") and open("pid", encoding="ascii").read(), "its child")
    with open("pid", encoding="ascii") as file:
        child = int(file.read())
    named(child, "sleep")
    case.dump(process.pid)
    # The test is process 1 here, so a child of it that it doesn't wait for is a zombie of process 1.
    case.start("/bin/true")
    with open("/proc/sys/kernel/ns_last_pid", "w", encoding="ascii") as file:
        file.write(str(child - 1))
    zombie = case.start("/bin/true")
    require(zombie.pid == child, f"the kernel gave pid {zombie.pid}, not {child}")
    until(lambda: open(f"/proc/{child}/stat", encoding="ascii").read().split()[2] == "Z", "a zombie")
    said = case.criu("explain", case.images, status=1)
    says(said, rf"pid {child} is taken by true, which has ended.*have process 1 wait")
    require("end process 1," not in said, said)
    run = subprocess.run([os.path.join(case.scripts, "crit"), "explain", case.images], capture_output=True, text=True, check=False)
    says(run.stdout, "Have process 1 wait for its children")
    require("end process 1," not in run.stdout, run.stdout)


def keys(case):
    """A public key in the place of a secret one, and a key of ssh."""
    subprocess.run(["openssl", "genpkey", "-algorithm", "X25519", "-out", "secret"], check=True, capture_output=True)
    subprocess.run(["openssl", "pkey", "-in", "secret", "-pubout", "-out", "public"], check=True, capture_output=True)
    os.chmod("public", 0o644)
    pid = sleeper(case)
    for word in ("--sign", "--encrypt=public --sign"):
        says(case.dump(pid, *word.replace("=", " ").split(), "public", status=1),
             "--sign: public: the file has no secret key, but a public key")
    says(case.criu("restore", "-D", case.images, "--decrypt", "public", status=1),
         "--decrypt: public: the file has no secret key, but a public key")
    case.dump(pid, "-R", "--encrypt", "public")
    said = case.criu("verify", case.images, status=1)
    says(said, r"images are encrypted: .*\(--decrypt names a file")
    require("Damaged" not in said, said)
    says(case.criu("verify", case.images, "--decrypt", "secret"), "files of .* bytes are as .* encrypted")
    with open("id.pub", "w", encoding="ascii") as file:
        file.write("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ7mYc2mYc2mYc2mYc2mYc2mYc2mYc2mYc2mYc2mYc2m me\n")
    says(case.dump(pid, "--encrypt", "id.pub", status=1), r"it is a key of ssh; accepted: a public key or a certificate in PEM \(X25519")
    os.kill(pid, signal.SIGKILL)


def values_apart(case):
    """Options whose value must be attached, and an abbreviation that is another option."""
    pid = str(sleeper(case))
    says(case.dump(pid, "--compress", "zstd", status=1), r"no such word: zstd \(.*: --compress=zstd\)")
    says(case.dump(pid, "--allow-loss", "events", status=1), r"no such word: events \(.*: --allow-loss=events\)")
    says(case.dump(pid, "--verbosity", "4", status=1), r"no such word: 4 \(.*: --verbosity=4\)")
    says(case.criu("dump", "-D", case.images, "--pid", pid, status=1), r"-t PID \(--pid was read as --pidfile\)")
    says(case.criu("dump", "-D", case.images, pid, status=1), rf"is an option: -t {pid}")
    says(case.criu("page-server", "-D", case.images, "--address", "localhost", status=1), "resolves no host names; give an IPv4")
    once(case.dump(pid, "--no-device", "foo", "--no-device", "cuda", "--no-device", "cuda_plugin"), "Warn .*--no-device foo: criu has no")


def full_disk(case):
    """A file system without room for the images: dump and pre-dump."""
    os.mkdir("small")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", "small"], check=True)
    process = case.python("memory = os.urandom(8 << 20)\nready()\ntime.sleep(1000)\n")
    for command in ("dump", "pre-dump"):
        said = case.criu(command, "-t", str(process.pid), "-D", "small", status=1)
        says(said, r"No space left on device \(the processes run on, and the images are incomplete\)")
        require(process.poll() is None, "the process has ended")


def streams(case):
    """A file of criu stream pack in the place of a directory."""
    pid = sleeper(case)
    case.dump(pid)
    case.criu("stream", "pack", "-D", case.images, "--stream-to", "packed")
    for words in (("explain", "packed"), ("verify", "packed"), ("restore", "-D", "packed")):
        says(case.criu(*words, status=1), r"Not a directory \(the file is a stream: .*criu stream unpack -D DIR --stream-from packed\)")
    for words in (("show", "packed"), ("explain", "packed"), ("x", "packed", "ps"), ("info", "packed")):
        run = subprocess.run([os.path.join(case.scripts, "crit"), *words], capture_output=True, text=True, check=False)
        require(run.returncode != 0, f"crit {words} succeeds")
        says(run.stderr, "stream.*criu stream unpack")


def traced(case):
    """The tracer has a name."""
    pid = sleeper(case)
    tracer = case.python(f"import ctypes\nlibc = ctypes.CDLL(None)\nlibc.ptrace(0x4206, {pid}, 0, 0)\nready()\ntime.sleep(1000)\n")
    says(case.dump(pid, status=1), rf"process {pid}: it is traced by process {tracer.pid} \(python3[^)]*\)")


def relative_server(case):
    """-x, and a datagram server whose name is relative."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    server.bind("server")
    for name, status in (("'server'", 1), (repr(os.path.abspath("absolute")), 0)):
        absolute = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        if not status:
            absolute.bind(os.path.abspath("absolute"))
        program = case.python(f"s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\ns.connect({name})\nready()\ntime.sleep(1000)\n")
        said = case.dump(program.pid, "--ext-unix-sk", status=status)
        if status:
            says(said, r"its name server is relative, so --ext-unix-sk can't find it again: let the program bind an absolute path")
    case.restore("--ext-unix-sk")
    os.kill(program.pid, signal.SIGKILL)


CASES = [scripts_that_fail, no_page_server, full_disk, streams, traced, relative_server, scripts_that_do_not_start, init_as_root, never_end_init, keys, values_apart]
