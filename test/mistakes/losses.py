# SPDX-License-Identifier: GPL-2.0-only
"""Cases about state that a dump loses: the warning, --no-loss, --allow-loss, and `dump --dry-run`."""

import json
import os
import re

from case import Skipped, once, require, says, state
from dry_run import dry
from harness import processes

DATAGRAM = """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, 29, 1)  # SO_TIMESTAMP
s.bind(('127.0.0.1', 0))
s.sendto(b'x', s.getsockname())
ready()
"""

KEY = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
added = libc.syscall(248, b'user', b'own', b'x', 1, -2)  # add_key to KEY_SPEC_PROCESS_KEYRING
ready('' if added > 0 else 'the kernel has no keyrings')
"""

ATTRIBUTES = """
f = open('file', 'w')
try:
  os.setxattr('file', 'user.kept', b'x')
  why = ''
except OSError as error:
  why = f'the file system has no extended attributes: {error}'
os.unlink('file')
ready(why)
"""

NOTIFY = """
import fcntl, signal
signal.signal(signal.SIGIO, signal.SIG_IGN)
watched = os.open('.', os.O_RDONLY | os.O_DIRECTORY)
fcntl.fcntl(watched, fcntl.F_NOTIFY, fcntl.DN_CREATE | fcntl.DN_MULTISHOT)
ready()
"""

MESSAGES = """
messages = os.open('/dev/kmsg', os.O_RDONLY)
ready()
"""

FLAGS = """
open('file', 'w').close()
files = [os.open('file', os.O_RDONLY | os.O_NOFOLLOW) for _ in range(3)]
ready()
"""

RESET = """
one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
other.send(b'packet')
one.send(b'unread')
other.close()
ready()
while not os.path.exists('look'): time.sleep(0.01)
try:
  one.recv(9)
except ConnectionResetError:
  ready('kept')
"""


def told_and_refused(case, program, kind, lost, warns=True):
    """Dumps a program that loses state of one kind, in all ways. `warns`: a dump without --no-loss warns, too."""
    process = case.python(program + "while True: time.sleep(0.01)\n")
    if case.said():
        raise Skipped(case.said())
    pid = process.pid
    remedy = f"allow this loss with --allow-loss={kind}, or dump without --no-loss"

    def unharmed():
        require(process.poll() is None and state(pid) in "SR", f"process {pid} is in state {state(pid)}")
        require(processes.status(pid)["TracerPid"] == "0", f"process {pid} is traced")

    def refused(*words):
        said = case.dump(pid, "--no-loss", *words, status=1)
        once(said, rf"Error.*{lost}.*\({re.escape(remedy)}\)")
        unharmed()
        require("inventory.img" not in os.listdir(case.images), "the images seem complete")

    refused()
    refused("--allow-loss=owners")
    warned = rf"Warning: .*{lost}.* \(loss: {kind}\)"
    once(dry(case, pid), warned)
    once(dry(case, pid, "--no-loss", f"--allow-loss={kind}"), warned)
    said = dry(case, pid, "--no-loss", status=1)
    once(said, rf"Refused: .*{lost}.* \({re.escape(remedy)}\)")
    require("Warning" not in said, said)
    for words, status in (((), 0), (("--no-loss",), 1)):
        parsed = json.loads(dry(case, pid, "--json", *words, status=status))
        (loss,) = parsed["losses"]
        require(loss["kind"] == kind and re.search(lost, loss["reason"]) and loss["refused"] == (status == 1), f"{parsed}")
        require([each["remedy"] for each in parsed["refusals"]] == [remedy] * status, f"{parsed}")
        require(parsed["possible"] == (status == 0) and parsed["warnings"] == [], f"{parsed}")
    for words in (("--no-loss", f"--allow-loss={kind}"), ("--no-loss", "--allow-loss=all"),
                  ("--no-loss", "--allow-loss=owners", f"--allow-loss={kind}"), (f"--allow-loss={kind}",), ()):
        said = case.dump(pid, "-R", *words)
        if warns or "--no-loss" in words:
            once(said, rf"Warn .*{lost}.* \(loss: {kind}\)")
        else:
            require("Warn" not in said, said)
            once(case.dump(pid, "-R", "-v3", *words), lost)
        unharmed()
    case.dump(pid)
    require(process.poll() is not None, "the dump hasn't ended the process")


def lost_datagrams(case):
    """The time of arrival of a datagram in the queue of a UDP socket"""
    told_and_refused(case, DATAGRAM, "datagrams", "Datagrams that wait in .* will have other times of arrival")


def lost_keys(case):
    """A key of a process"""
    told_and_refused(case, KEY, "keys", r"has keys of its .*process")


def lost_attributes(case):
    """An extended attribute of a deleted file"""
    told_and_refused(case, ATTRIBUTES, "xattrs", r"is deleted, and loses its extended attributes: user\.kept")


def lost_notifications(case):
    """A watch of F_NOTIFY"""
    told_and_refused(case, NOTIFY, "dnotify", r"is watched by F_NOTIFY \(dnotify\)")


def lost_messages(case):
    """The position in /dev/kmsg"""
    told_and_refused(case, MESSAGES, "kmsg", r"/dev/kmsg.* will be read from the kernel's first message on")


def lost_flags(case):
    """O_NOFOLLOW of F_GETFL: one message for all files, and a warning only with --no-loss"""
    told_and_refused(case, FLAGS, "open-flags", r"no longer shows O_NOFOLLOW or O_TMPFILE of .* and 2 more files", warns=False)


def lost_reset(case):
    """A pending ECONNRESET of a Unix socket with packets: --no-loss refuses a dump before criu takes the error."""
    process = case.python(RESET)
    refused = case.dump(process.pid, "--no-loss", "--leave-running", status=1)
    once(refused, r"Error.*loses its pending error \(ECONNRESET\).*--allow-loss=socket-state")
    with open(os.path.join(case.work, "look"), "w", encoding="ascii"):
        pass
    process.wait(timeout=60)
    require(case.said() == "kept", "the error is lost")
    process = case.python(RESET.replace("look", "never"))
    once(case.dump(process.pid, "--no-loss"), r"Warn.*loses its pending error \(ECONNRESET\) unless this dump ends its process")


def compared_loss(case):
    """criu compare: state that a dump would lose is no obstacle, because the tree runs on"""
    program = case.python(MESSAGES + "time.sleep(1000)\n")
    tree = ("-t", str(program.pid), "-D", case.images)
    case.criu("dump", *tree, "--leave-running")
    says(case.criu("compare", *tree), r"The tree equals the images\.\n$")


def several_losses(case):
    """A dry run with --no-loss tells all losses, not only the first one."""
    program = case.python((DATAGRAM + MESSAGES + NOTIFY).replace("ready()\n", "") + "ready()\ntime.sleep(1000)\n")
    said = dry(case, program.pid, "--no-loss", "--allow-loss=kmsg", status=1)
    once(said, r"Refused: .*--allow-loss=datagrams")
    once(said, r"Refused: .*--allow-loss=dnotify")
    once(said, r"Warning: .*\(loss: kmsg\)")
    once(said, "2 of its parts can't be dumped")


def unknown_loss(case):
    """A kind that doesn't exist, and commands without losses"""
    program = case.python("ready()\ntime.sleep(1000)\n")
    says(case.dump(program.pid, "--allow-loss=nothing", status=1),
         "unknown kind of loss 'nothing', use one of: all, datagrams, packets")
    says(case.criu("restore", "-D", case.images, "--no-loss", status=1), "--no-loss is for dump, not for restore")
    case.dump(program.pid, "-R", "--no-loss")  # nothing is lost


CASES = [lost_datagrams, lost_keys, lost_attributes, lost_notifications, lost_messages, lost_flags, lost_reset, compared_loss,
         several_losses, unknown_loss]
