# SPDX-License-Identifier: GPL-2.0-only
"""Chains of encrypted images."""

import os
import re
import shutil
import signal
import subprocess
import sys

from harness import processes
from secrecy import Keys, flip, pre_dump, require_forgotten, require_refused, require_restored
from subject import Failed
import modes


def sizes(folder):
    """Returns the bytes of encrypted files."""
    return sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder) if name.startswith("encrypted-"))


def chain(subject, name, options):
    """Makes two pre-dumps and a dump, each incremental to the one before. Returns the names of their directories, the
    last one first."""
    names = [name, f"{name}-2", f"{name}-1"]
    pre_dump(subject, names[2], options)
    require_forgotten(subject, "recipient")
    pre_dump(subject, names[1], [*options, "--prev-images-dir", f"../{names[2]}"])
    subject.dump(subject.ours, name, [*options, "--track-mem", "--prev-images-dir", f"../{names[1]}"])
    if sizes(subject.images(name)) > sizes(subject.images(names[2])) * 3 / 4:
        raise Failed(f"{name} has all pages itself")
    return names


class Attacked:
    """A chain that is changed and then set back."""

    def __init__(self, subject, names, options):
        self.subject = subject
        self.names = names
        self.options = options

    def require_refused(self, what, change, pattern):
        """Requires a restore and criu verify to find a change."""
        folders = [self.subject.images(name) for name in self.names]
        for folder in folders:
            shutil.copytree(folder, folder + "-kept", symlinks=True)
        change(*folders)
        require_refused(self.subject, self.names[0], self.options, pattern)
        if self.subject.ours.run("verify", folders[0], "verify.log", self.options).code == 0:
            raise Failed(f"criu verify doesn't see that {what}")
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
            os.rename(folder + "-kept", folder)


def replace(folder, other):
    """Replaces a directory of images by another one, which gets its parent link."""
    link = os.readlink(os.path.join(folder, "parent")) if os.path.islink(os.path.join(folder, "parent")) else None
    shutil.rmtree(folder)
    shutil.copytree(other, folder, symlinks=True)
    relink(folder, link)


def relink(folder, target):
    """Sets another parent link, or removes it."""
    path = os.path.join(folder, "parent")
    if os.path.islink(path):
        os.unlink(path)
    if target:
        os.symlink(target, path)


def largest(folder):
    """Returns the path of the file with the pages."""
    return max((os.path.join(folder, name) for name in os.listdir(folder) if name.startswith("encrypted-")), key=os.path.getsize)


def require_not_built(subject, earlier, options, pattern):
    """Requires dumps and pre-dumps to fail because they can't build on earlier images, and to leave the tree
    unchanged."""
    for command in ("pre-dump", "dump"):
        run = subject.ours.run(command, subject.images("refused"), "refused.log",
                               ["-t", str(subject.root), *options, "--track-mem", "--prev-images-dir", f"../{earlier}"])
        if run.code != 1 or not any(re.search(pattern, line) for line in modes.criu_runs.error_lines(run.log)):
            raise Failed(f"{command} should fail with \"{pattern}\": {run.describe()}")
        subject.require_running(f"after a {command} that was refused")


def whole(subject, name, earlier, options):
    """Requires a dump to be complete: no process has the key of the earlier images any more."""
    subject.dump(subject.ours, name, [*options, "--track-mem", "--prev-images-dir", f"../{earlier}"])
    if os.path.lexists(os.path.join(subject.images(name), "parent")):
        raise Failed(f"{name} has a link to images that it can't build on")
    with open(os.path.join(subject.images(name), "dump.log"), encoding="utf-8") as log:
        if "memory is dumped whole, and without them" not in log.read():
            raise Failed("the dump doesn't say that it is a whole one")


def keepers():
    """Returns the pids of WP tracker daemons."""
    return [pid for pid in processes.pids() if "tracks the memory" in (processes.text(f"/proc/{pid}/cmdline") or "")]


# Connects to the WP tracker daemon of the tree (first argument) and asks for its descriptors and key. It does so
# without a proof, with a guessed one, and with the one from the daemon's memory. Then it reads the key there (second
# argument: bytes).
ASK = """
import ctypes, os, socket, struct, sys
LIST, KEY = 0, 6
first, last = f"tracking-{sys.argv[1]}-", f"-{os.stat('/proc/self/ns/pid').st_ino}"
daemons = "/run/criu/daemons"
name = next(name for name in os.listdir(daemons) if name.startswith(first) and name.endswith(last))
def connect():
    link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    link.settimeout(20)
    link.connect(f"{daemons}/{name}/socket")
    return link
def greet(link, place, proof):
    link.send(struct.pack("<Q16s", place, proof))
def say(link, word):
    link.send(struct.pack("<IiQ16x", word, os.getpid(), 0))
    return link.recv(32)
with connect() as link:
    if say(link, LIST):
        print("descriptors were given without a proof")
token = ctypes.create_string_buffer(os.urandom(16), 16)
with connect() as link:
    greet(link, ctypes.addressof(token), b"")
    link.recv(24)
    greet(link, 0, b"guessed")
    if link.recv(32):
        print("a proof was guessed")
link = connect()
greet(link, ctypes.addressof(token), b"")
place, proof = struct.unpack("<Q16s", link.recv(24))
print("greeted" if proof == token.raw else "nothing was proved", flush=True)
pid = struct.unpack("3i", link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
with open(f"/proc/{pid}/mem", "rb", 0) as memory:
    memory.seek(place)
    greet(link, 0, memory.read(16))
    word, _, place, _ = struct.unpack("<IiQ16s", say(link, KEY))
    memory.seek(place)
    print("read", len(set(memory.read(int(sys.argv[2])))))
"""


def require_key_guarded(subject):
    """Requires that only a process which may ptrace the WP tracker daemon can read the key of the images there, also
    among processes of the same user."""
    for prefix, pattern in (([], r"greeted\nread \d{2,3}$"), (["setpriv", "--bounding-set", "-sys_ptrace"], r"greeted\n.*PermissionError")):
        run = subprocess.run([*prefix, sys.executable, "-c", ASK, str(subject.root), "128"], capture_output=True, text=True, check=False)
        if not re.match(pattern, run.stdout + run.stderr.strip().rpartition("\n")[2]):
            raise Failed(f"the key of the images, asked for with {prefix}: {run.stdout}{run.stderr}")


# Listens at the socket of the WP tracker daemon of the tree (first argument), and offers a key of its own.
FEIGN = """
import ctypes, fcntl, os, socket, struct, sys
with open(f"/proc/{sys.argv[1]}/stat") as stat:
    start = stat.read().rpartition(")")[2].split()[19]
server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
place = f"/run/criu/daemons/tracking-{sys.argv[1]}-{start}-{os.stat('/proc/self/ns/pid').st_ino}"
os.makedirs(place, 0o700, exist_ok=True)
lock = os.open(place, os.O_RDONLY)
fcntl.flock(lock, fcntl.LOCK_EX)
try:
    os.unlink(f"{place}/socket")  # the socket of a daemon that was killed
except FileNotFoundError:
    pass
server.bind(f"{place}/socket")
server.listen(1)
print("listens", flush=True)
own = ctypes.create_string_buffer(128)
while True:
    client, _ = server.accept()
    while client.recv(32):
        client.send(struct.pack("<Q16s", ctypes.addressof(own), b""))
"""


def feigned(subject, encrypt):
    """A process has the name of the WP tracker daemon and may not read criu's memory. criu must reject it and give it
    nothing."""
    with subprocess.Popen(["setpriv", "--bounding-set", "-sys_ptrace", sys.executable, "-c", FEIGN, str(subject.root)],
                          stdout=subprocess.PIPE) as process:
        try:
            if process.stdout.readline() != b"listens\n":
                raise Failed("the process with the daemon's name doesn't listen")
            pre_dump(subject, "feigned", encrypt)
            run = subject.ours.run("pre-dump", subject.images("unbelieved"), "pre-dump.log",
                                   ["-t", str(subject.root), *encrypt, "--prev-images-dir", "../feigned"])
            subject.require_success(run)
            if os.path.lexists(os.path.join(subject.images("unbelieved"), "parent")):
                raise Failed("a pre-dump builds on an earlier one without memory tracking")
            with open(run.log, encoding="utf-8") as log:
                if "Another process has taken the name of the process that tracks memory" not in log.read():
                    raise Failed(f"nothing is said of who has the name: {run.describe()}")
        finally:
            process.kill()


def encrypted_chain(subject, _task):
    """Requires that no part of a chain of encrypted images can be changed, exchanged or left out. A dump must build
    only on images that are encrypted for the same recipients."""
    own = Keys(subject)
    encrypt = [*own.encrypt(), *own.encrypt("stranger")]
    names = chain(subject, "images", encrypt)
    require_restored(subject, names[0], own.decrypt("stranger"))
    require_restored_again(subject, own, encrypt)
    other = chain(subject, "other", encrypt)
    attacked = Attacked(subject, other, own.decrypt())
    plain = subject.images("plain")
    os.makedirs(plain)
    attacked.require_refused("the parent is of another chain", lambda _, parent, __: replace(parent, subject.images(names[1])),
                             "aren't those that the next ones build on")
    attacked.require_refused("the first is of another chain", lambda _, __, first: replace(first, subject.images(names[2])),
                             "aren't those that the next ones build on")
    attacked.require_refused("one was left out", lambda last, _, __: relink(last, f"../{other[2]}"),
                             "aren't those that the next ones build on")
    attacked.require_refused("the parent was changed", lambda _, parent, __: flip(largest(parent)), r"encrypted-\d+\.img .*bytes at offset")
    attacked.require_refused("the first was changed", lambda _, __, first: flip(largest(first)), r"encrypted-\d+\.img .*bytes at offset")
    attacked.require_refused("what the parent builds on was changed", lambda _, parent, __: flip(os.path.join(parent, "encryption.img")),
                             r"encryption\.img")
    attacked.require_refused("the link is gone", lambda last, _, __: relink(last, None), "have no link to them")
    attacked.require_refused("a link is gone", lambda _, parent, __: relink(parent, None), "have no link to them")
    attacked.require_refused("the first is gone", lambda _, __, first: shutil.rmtree(first), "parent")
    attacked.require_refused("there is one more", lambda _, __, first: relink(first, f"../{names[0]}"), "but have a link to earlier ones")
    attacked.require_refused("the parent is in clear", lambda _, parent, __: replace(parent, plain), "aren't encrypted, but those")
    require_refused(subject, other[0], [], "are encrypted")
    require_restored(subject, other[0], own.decrypt())
    subject.check()


def require_restored_again(subject, own, encrypt):
    """Requires a dump of a restored tree that builds on the restored images to be complete."""
    whole(subject, "again", "images-2", encrypt)
    require_restored(subject, "again", own.decrypt())


def encrypted_chain_dumps(subject, _task):
    """Checks on which images an encrypted dump builds, and which ones it refuses."""
    own = Keys(subject)
    encrypt = own.encrypt()
    pre_dump(subject, "plain", [])
    require_not_built(subject, "plain", encrypt, "aren't encrypted: what builds on them")
    for pid in keepers():
        os.kill(pid, signal.SIGKILL)
    subject.init.until(lambda: not keepers(), processes.PATIENCE, "the end of the WP tracker daemon")
    feigned(subject, encrypt)
    pre_dump(subject, "early", encrypt)
    require_key_guarded(subject)
    require_not_built(subject, "early", [], "are encrypted: what builds on them")
    require_not_built(subject, "early", [*encrypt, *own.encrypt("stranger")], "for other recipients")
    require_not_built(subject, "early", own.encrypt("stranger"), "for other recipients")
    require_not_built(subject, "early", [*encrypt, *own.sign()], "aren't signed")
    early = subject.images("early")
    for name in ("encryption.img", "encrypted-0.img"):
        shutil.copyfile(os.path.join(early, name), subject.images(name))
        flip(os.path.join(early, name))
        require_not_built(subject, "early", encrypt, re.escape(name))
        shutil.copyfile(subject.images(name), os.path.join(early, name))
    run = subject.ours.run("pre-dump", subject.images("late"), "pre-dump.log",
                           ["-t", str(subject.root), *encrypt, "--prev-images-dir", "../early"])
    subject.require_success(run)
    if sizes(subject.images("late")) > sizes(early) / 2:
        raise Failed("the second pre-dump has all pages itself")
    dedup = subject.ours.run("dedup", subject.images("late"), "dedup.log")
    if dedup.code != 1 or not any("are encrypted: files with holes" in line for line in modes.criu_runs.error_lines(dedup.log)):
        raise Failed(f"dedup should leave encrypted images as they are: {dedup.describe()}")
    # The daemon with the key is gone, or has the key of other images, so the next dump must be complete.
    for pid in keepers():
        os.kill(pid, signal.SIGKILL)
    subject.init.until(lambda: not keepers(), processes.PATIENCE, "the end of the WP tracker daemon")
    whole(subject, "whole", "late", encrypt)
    require_refused(subject, "late", own.decrypt(), "of a pre-dump")
    require_restored(subject, "whole", own.decrypt())
    pre_dump(subject, "one", encrypt)
    pre_dump(subject, "two", encrypt)
    whole(subject, "instead", "one", encrypt)
    require_restored(subject, "instead", own.decrypt())
    # A dump builds on images from a stream where they were unpacked.
    stream = subject.images("pre-dump.stream")
    pre_dump(subject, "streamed", [*encrypt, "--stream-to", stream])
    subject.require_success(subject.ours.run("stream", subject.images("unpacked"), "unpack.log", ["unpack", "--stream-from", stream]))
    subject.dump(subject.ours, "upon", [*encrypt, "--track-mem", "--prev-images-dir", "../unpacked"])
    if sizes(subject.images("upon")) > sizes(subject.images("unpacked")) * 3 / 4:
        raise Failed("a dump upon unpacked images has all pages itself")
    require_restored(subject, "upon", own.decrypt())
    # A dump also builds on a checkpoint of a running tree. With a signature, criu verifies it in addition.
    both = [*encrypt, *own.sign()]
    subject.dump(subject.ours, "running", [*both, "--track-mem", "--leave-running"])
    subject.dump(subject.ours, "signed", [*both, "--track-mem", "--prev-images-dir", "../running"])
    trusted = [*own.decrypt(), *own.signed_by()]
    attacked = Attacked(subject, ["signed", "running"], trusted)
    attacked.require_refused("the parent was changed", lambda _, parent: flip(largest(parent)), "doesn't match the signature")
    attacked.require_refused("the link is gone", lambda last, _: relink(last, None), "have no link to them")
    require_restored(subject, "signed", trusted)
    subject.check()


MODES = [
    modes.Mode("encrypted-chain", encrypted_chain, scenario=True, beyond_42=True),
    modes.Mode("encrypted-chain-dumps", encrypted_chain_dumps, scenario=True, beyond_42=True),
]
