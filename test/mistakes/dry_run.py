# SPDX-License-Identifier: GPL-2.0-only
"""Cases about `criu dump --dry-run`: what it reports, and that nothing changes."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess

from case import NOBODY, named, once, require, says, state, until
from harness import processes

# A program with several things that a dump refuses, and one that is lost: a connected Unix socket whose peer is outside,
# a file lock, an event of inotify that wasn't read, and a userfaultfd.
REFUSED = """
import ctypes, fcntl
s = socket.socket(socket.AF_UNIX)
s.connect('name')
f = open('file', 'w')
fcntl.flock(f, fcntl.LOCK_EX)
libc = ctypes.CDLL(None, use_errno=True)
fault = libc.syscall(323, 1)
watch = libc.inotify_init()
libc.inotify_add_watch(watch, b'folder', 0x100)
open('folder/new', 'w').close()
child = os.fork()
if child == 0:
    other = libc.syscall(323, 1)
    open('child', 'w').write(str(other))
    time.sleep(1000)
while not os.path.exists('child') or not open('child').read(): time.sleep(0.01)
ready('%d %d %d %d %s' % (s.fileno(), f.fileno(), fault, watch, child))
n = 0
while True:
    n += 1
    s.send(b'tick')
    time.sleep(0.01)
"""


def listener():
    """Returns a listening Unix socket with the path `name` in the folder of the case."""
    here = socket.socket(socket.AF_UNIX)
    here.bind("name")
    here.listen()
    return here


def tables():
    """Returns the nftables tables of this network namespace."""
    return set(subprocess.run(["nft", "list", "tables"], capture_output=True, text=True, check=False).stdout.splitlines())


def dry(case, pid, *words, status=0, prefix=()):
    """A dry run. Returns its standard output. Requires that it changes nothing."""
    before = sorted(os.listdir(case.images))
    rules = tables()
    run = subprocess.run([*prefix, case.binary, "dump", "--no-default-config", "-t", str(pid), "-D", case.images, "--dry-run", *words],
                         capture_output=True, text=True, check=False, timeout=60, stdin=subprocess.DEVNULL)
    require(run.returncode == status, f"exit status {run.returncode}: {run.stdout}{run.stderr}")
    require(sorted(os.listdir(case.images)) == before, f"files are left: {os.listdir(case.images)}")
    for each in processes.tree(pid):
        require(processes.status(each)["TracerPid"] == "0", f"process {each} is traced")
        require(state(each) in "SR", f"process {each} is in state {state(each)}")
    more = {table for table in tables() - rules if "criu" in table.lower()}
    # Another suite's criu may lock this network namespace for a moment.
    until(lambda: not more & tables(), f"the end of a locked network: {more}")
    return run.stdout


def dry_run_of_plain_program(case):
    """A program that can be dumped: status 0, twice, and a dump works afterwards."""
    program = case.python("f = open('file', 'w')\nready()\nwhile True: time.sleep(0.01)\n")
    for _ in range(2):
        says(dry(case, program.pid), f"Nothing prevents a dump of process {program.pid}")
    said = json.loads(dry(case, program.pid, "--json"))
    require(said == {"command": "dump", "tree": program.pid, "possible": True, "refusals": [],
                     "losses": [], "warnings": []}, f"{said}")
    case.dump(program.pid)
    case.restore()
    before = sorted(os.listdir(case.images))
    dry(case, program.pid)
    require(sorted(os.listdir(case.images)) == before, "the images of an earlier dump have changed")
    os.kill(program.pid, signal.SIGKILL)


def dry_run_reports_all(case):
    """All refusals at once, each with its remedy; nothing is left when their options are given and the rest is closed."""
    here = listener()
    os.mkdir("folder")
    program = case.python(REFUSED)
    accepted, _ = here.accept()
    connected, locked, fault, watch, child = case.said().split()
    said = dry(case, program.pid, status=1)
    once(said, rf"Refused: .*fd {connected} of pid {program.pid}.* is connected to socket.*\(name\).*--external unix")
    for pid in (program.pid, child):  # both have the descriptor
        once(said, rf"Refused: .*fd {locked} of pid {pid} .*holds a file lock \(.*--file-locks")
    once(said, rf"Refused: .*fd {fault} of pid {program.pid}.*userfaultfd.*close it before the dump")
    once(said, rf"Refused: .*of pid {child}.*userfaultfd.*close it")
    once(said, rf"Warning: .*fd {watch} of pid {program.pid} .*events that weren't read")
    once(said, rf"A dump of process {program.pid} would fail: 5 of its parts")
    require(accepted.recv(4) == b"tick", "the program stands still")
    accepted.settimeout(10)
    parsed = json.loads(dry(case, program.pid, "--json", "--file-locks", "--external",
                            "unix[" + re.search(r"--external unix\[(\d+)", said).group(1) + "]", status=1))
    require(not parsed["possible"] and len(parsed["refusals"]) == 2, f"{parsed}")
    require(all("userfaultfd" in refusal["reason"] and "close it" in refusal["remedy"] for refusal in parsed["refusals"]), f"{parsed}")
    require(len(parsed["losses"]) == 1 and "weren't read" in parsed["losses"][0]["reason"], f"{parsed}")
    require(parsed["losses"][0]["kind"] == "events" and not parsed["losses"][0]["refused"], f"{parsed}")
    for _ in range(100):
        require(accepted.recv(4), "the connection is broken")


def dry_run_of_shell_job(case):
    """A tree in a session of another process, with a file lock: both are reported."""
    program = case.python("import fcntl\nf = open('file', 'w')\nfcntl.flock(f, fcntl.LOCK_EX)\nready()\ntime.sleep(1000)\n", session=False)
    said = dry(case, program.pid, status=1)
    once(said, "Refused: .*doesn't lead its session.*--shell-job")
    once(said, "Refused: .*holds a file lock.*--file-locks")
    says(dry(case, program.pid, "--shell-job", "--file-locks"), "Nothing prevents")


def dry_run_keeps_connections(case):
    """TCP connections keep working, without --tcp-established and with it."""
    here = socket.socket()
    here.bind(("127.0.0.1", 0))
    here.listen()
    program = case.python(f"s = socket.create_connection(('127.0.0.1', {here.getsockname()[1]}))\nready()\n"
                          "while True:\n  s.send(b'tick')\n  time.sleep(0.01)\n")
    accepted, _ = here.accept()
    once(dry(case, program.pid, status=1), "Refused: .*--tcp-established")
    says(dry(case, program.pid, "--tcp-established"), "Nothing prevents")
    accepted.settimeout(10)
    for _ in range(50):
        require(accepted.recv(4), "the connection is broken")


def names_below(pid):
    """Returns the names of a process and its descendants."""
    return [(processes.status(each) or {}).get("Name") for each in processes.tree(pid)]


def dry_run_of_mounts(case):
    """Several mounts of a private mount namespace that a restore couldn't create: all of them are reported."""
    script = ("for name in one two; do mkdir $name && mount -t tmpfs none $name && mount --make-shared $name; done; "
              "unshare --mount --propagation unchanged sh -c 'mount --make-slave one; mount --make-slave two; "
              "touch made; exec sleep 1000'")
    keeper = case.start("unshare", "--mount", "--propagation", "private", "sh", "-c", script)
    until(lambda: os.path.exists("made") and "sleep" in names_below(keeper.pid), "the mounts")
    pid = next(pid for pid in processes.tree(keeper.pid) if processes.status(pid)["Name"] == "sleep")
    said = dry(case, pid, "--shell-job", status=1)
    for name in ("one", "two"):
        says(said, rf"Refused: .*{case.work}/{name}.* gets events from a mount outside of the tree's mount namespace")


def dry_run_runs_no_scripts(case):
    """Action scripts, page servers and streams aren't used."""
    program = case.python("ready()\ntime.sleep(1000)\n")
    with open("script", "w", encoding="ascii") as file:
        file.write(f"#!/bin/sh\ntouch {case.work}/ran\n")
    os.chmod("script", 0o755)
    says(dry(case, program.pid, "--action-script", "./script", "--page-server", "--address", "127.0.0.1", "--port", "9"),
         "Nothing prevents")
    says(dry(case, program.pid, "--stream-to", "stream"), "Nothing prevents")
    require(not os.path.exists("ran"), "the script ran")
    require(not os.path.exists("stream"), "a stream was written")


def dry_run_with_few_rights(case):
    """A user whose criu has only CAP_CHECKPOINT_RESTORE"""
    user = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "--inh-caps", "+checkpoint_restore",
            "--ambient-caps", "+checkpoint_restore"]
    program = case.start(*user, "sleep", "1000")
    named(program.pid, "sleep")
    os.chown(case.images, NOBODY, NOBODY)
    os.chmod(case.work, 0o755)
    copy = os.path.join(case.work, "criu")  # the build directory may be closed to the user
    shutil.copy(case.binary, copy)
    case.binary = copy
    says(dry(case, program.pid, prefix=user), f"Nothing prevents a dump of process {program.pid}")


def dry_run_of_nothing(case):
    """A root that isn't there, and other commands"""
    says(case.dump(999999, "--dry-run", status=1), "process 999999: No such process")
    for command in ("restore", "pre-dump"):
        says(case.criu(command, "--dry-run", status=1), f"--dry-run is for dump, not for {command}")


CASES = [dry_run_of_plain_program, dry_run_reports_all, dry_run_of_shell_job, dry_run_keeps_connections, dry_run_of_mounts,
         dry_run_runs_no_scripts, dry_run_with_few_rights,
         dry_run_of_nothing]
