# SPDX-License-Identifier: GPL-2.0-only
"""Dumps with encrypted and signed images."""

import base64
import os
import re
import shutil

from harness import keys, processes
import increments
from subject import Failed, Skipped
import modes
import new_pidns


class Keys:
    """Key files, and the options that name them."""

    def __init__(self, subject):
        self.folder = subject.images("keys")
        keys.write(self.folder)

    def encrypt(self, name="recipient", form="pub"):
        """Options of a dump."""
        return ["--encrypt", os.path.join(self.folder, f"{name}.{form}")]

    def decrypt(self, name="recipient"):
        """Options of a restore."""
        return ["--decrypt", os.path.join(self.folder, f"{name}.key")]

    def sign(self, name="signer"):
        """Options of a dump."""
        return ["--sign", os.path.join(self.folder, f"{name}.key")]

    def signed_by(self, name="signer", form="pub"):
        """Options of a restore."""
        return ["--signed-by", os.path.join(self.folder, f"{name}.{form}")]


def restore(subject, name, options):
    """Restores with further options. Returns the run of criu."""
    before = subject.restore_options
    subject.restore_options = [*before, *options]
    try:
        return subject.try_restore(subject.ours, subject.images(name))
    finally:
        subject.restore_options = before


def require_restored(subject, name, options):
    """Requires a restore to succeed."""
    subject.require_success(restore(subject, name, options))
    subject.require_unchanged(f"after a restore with {options}")


def require_refused(subject, name, options, pattern):
    """Requires a restore to fail with a reason before it creates anything."""
    run = restore(subject, name, options)
    if run.code != 1 or not any(re.search(pattern, line) for line in modes.criu_runs.error_lines(run.log)):
        raise Failed(f"restore {options} should fail with \"{pattern}\": {run.describe()}")
    subject.require_nothing_left(f"after a restore with {options}")


def pack(subject, name):
    """Packs images into a stream, and unpacks it into another directory. Returns the path of the stream and the name
    of the directory."""
    path, unpacked = subject.images(f"{name}.stream"), f"{name}-unpacked"
    subject.require_success(subject.ours.run("stream", subject.images(name), "pack.log", ["pack", "--stream-to", path]))
    subject.require_success(subject.ours.run("stream", subject.images(unpacked), "unpack.log", ["unpack", "--stream-from", path]))
    return path, unpacked


def encrypted(subject, _task):
    """Encrypts and signs images in a directory, compressed, and as a stream."""
    own = Keys(subject)
    subject.dump(subject.ours, "images", [*own.encrypt("stranger"), *own.encrypt(), *own.sign()])
    folder = subject.images("images")
    if others := [name for name in os.listdir(folder) if name.endswith(".img") and
                  not re.fullmatch(r"encrypted-\d+\.img|encryption\.img|inventory\.img|signature\.img", name)]:
        raise Failed(f"not encrypted: {others}")
    verified = subject.ours.run("verify", folder, "verify.log", [*own.decrypt(), *own.signed_by()])
    subject.require_success(verified)
    require_refused(subject, "images", [], "are encrypted")
    stream, unpacked = pack(subject, "images")
    require_refused(subject, unpacked, [], "are encrypted")
    require_refused(subject, unpacked, [*own.decrypt(), *own.signed_by("forger")], "signer isn't the one that")
    require_refused(subject, "streamed", [*own.decrypt(), *own.signed_by("forger"), "--stream-from", stream], "signer isn't the one that")
    require_restored(subject, "streamed", [*own.decrypt(), *own.signed_by(), "--stream-from", stream])
    subject.dump(subject.ours, "compressed", [*own.encrypt(), *own.sign(), "--compress", "--checksum"])
    _, unpacked = pack(subject, "compressed")
    require_restored(subject, unpacked, [*own.decrypt(), *own.signed_by()])
    stream = subject.images("checkpoint.stream")
    subject.dump(subject.ours, "streamed", [*own.encrypt(), "--stream-to", stream])
    require_restored(subject, "streamed", [*own.decrypt(), "--stream-from", stream])
    subject.check()


def changes(folder, other, name):
    """Yields descriptions of changes to one file of a checkpoint, each with a function that makes the change."""
    path = os.path.join(folder, name)

    def flip(place):
        with open(path, "r+b") as file:
            file.seek(place, os.SEEK_END if place < 0 else os.SEEK_SET)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 1]))

    yield "removed", lambda: os.unlink(path)
    yield "changed at its end", lambda: flip(-1)
    yield "cut", lambda: os.truncate(path, os.path.getsize(path) - 1)
    if name != "inventory.img":  # all encrypted dumps have the same inventory
        yield "of another dump", lambda: shutil.copyfile(os.path.join(other, name), path)
        yield "changed in its middle", lambda: flip(os.path.getsize(path) // 2)


def exchanging(subject, name):
    """Returns the path of an action script that overwrites all pages when a restore begins, after criu has checked the
    signature."""
    path = subject.images("exchange.sh")
    with open(path, "w", encoding="ascii") as file:
        file.write(f"#!/bin/sh\n[ \"$CRTOOLS_SCRIPT_ACTION\" = pre-restore ] || exit 0\ncd '{subject.images(name)}' || exit 1\n"
                   "for file in pages-*.img; do\n    size=$(stat -c %s \"$file\")\n"
                   "    yes 'not what was signed' | head -c \"$size\" | dd of=\"$file\" conv=notrunc status=none || exit 1\ndone\n")
    os.chmod(path, 0o755)
    return path


def contents(folder, beginning):
    """Yields the bytes of each file whose name begins so."""
    for name in sorted(os.listdir(folder)):
        if name.startswith(beginning):
            with open(os.path.join(folder, name), "rb") as file:
                yield file.read()


def encrypted_damaged(subject, task):
    """Removes, changes, truncates and exchanges every file of a checkpoint. A restore must find each change before it
    creates anything."""
    own = Keys(subject)
    subject.dump(subject.ours, "other", [*own.encrypt(), *own.sign(), "--leave-running"])
    subject.dump(subject.ours, "images", [*own.encrypt(), *own.sign()])
    whole = subject.images("images")
    names = sorted(name for name in os.listdir(whole) if name.endswith(".img"))
    both = [*own.decrypt(), *own.signed_by()]
    # Encrypted image files are alike, so each one gets one of the changes in turn.
    single = [name for name in names if re.fullmatch(r"encrypted-[1-9]\d*\.img", name)][task["seed"] % 5::5][:5]
    for name in [*single, *(name for name in names if not re.fullmatch(r"encrypted-[1-9]\d*\.img", name))]:
        for turn, (what, _) in enumerate(changes(whole, subject.images("other"), name)):
            if name in single and turn != single.index(name):
                continue
            bad = subject.images("bad")
            shutil.rmtree(bad, ignore_errors=True)
            shutil.copytree(whole, bad)
            dict(changes(bad, subject.images("other"), name))[what]()
            if name.startswith("encrypted-"):
                require_refused(subject, "bad", own.decrypt(), re.escape(name))
            elif name == "encryption.img":
                require_refused(subject, "bad", own.decrypt(), r"encryption\.img|encrypted-0\.img")
            # The signature of another dump is valid, but signs other files.
            require_refused(subject, "bad", both, "signed|sign" if name == "signature.img" else re.escape(name))
    shutil.rmtree(subject.images("bad"))
    shutil.copytree(whole, subject.images("bad"))
    shutil.copyfile(os.path.join(whole, "encrypted-1.img"), os.path.join(subject.images("bad"), "pages-9.img"))
    require_refused(subject, "bad", own.decrypt(), r"pages-9\.img: it isn't of this dump")
    require_refused(subject, "bad", both, r"pages-9\.img: it wasn't signed")
    require_refused(subject, "images", own.decrypt("stranger"), "for none of the keys given")
    require_refused(subject, "images", [*own.decrypt(), *own.signed_by("forger")], "signer isn't the one that")
    require_refused(subject, "images", [], "are encrypted")
    os.chmod(own.decrypt()[1], 0o644)
    require_refused(subject, "images", own.decrypt(), "others may use the file")
    os.chmod(own.decrypt()[1], 0o600)
    require_restored(subject, "images", both)
    subject.dump(subject.ours, "plain", own.sign())
    require_refused(subject, "plain", own.decrypt(), "aren't encrypted, but --decrypt is given")
    require_refused(subject, "plain", both, "aren't encrypted, but --decrypt is given")
    shutil.rmtree(subject.images("bad"))
    shutil.copytree(subject.images("plain"), subject.images("bad"))
    os.unlink(os.path.join(subject.images("bad"), "signature.img"))
    require_refused(subject, "bad", own.signed_by(), "aren't signed, but --signed-by is given")
    require_restored(subject, "plain", [*own.signed_by(), "--action-script", exchanging(subject, "plain")])
    if not any(b"not what was signed" in each for each in contents(subject.images("plain"), "pages-")):
        raise Failed("the images weren't exchanged during the restore")
    subject.check()


def certified(subject, _task):
    """Encrypts images for certificates, and signs them by a certified key."""
    if not shutil.which("openssl"):
        raise Skipped("openssl isn't installed")
    own = Keys(subject)
    keys.certify(own.folder)
    trusted = own.signed_by("authority", "pem")
    subject.dump(subject.ours, "images", [*own.encrypt("rsa", "pem"), *own.encrypt("curve", "pem"), *own.encrypt(), *own.sign("certified")])
    require_refused(subject, "images", [*own.decrypt("certified"), *trusted], "for none of the keys given")
    require_refused(subject, "images", [*own.decrypt("rsa"), *own.signed_by("impostor", "pem")], "NOT trusted")
    require_refused(subject, "images", [*own.decrypt("rsa"), *own.signed_by("uncertified", "pem")], "NOT trusted|signer isn't the one that")
    verified = subject.ours.run("verify", subject.images("images"), "verify.log", [*own.decrypt("curve"), *trusted])
    subject.require_success(verified)
    require_restored(subject, "images", [*own.decrypt("curve"), *trusted])
    subject.dump(subject.ours, "impostors", [*own.encrypt("rsa", "pem"), *own.sign("uncertified")])
    require_refused(subject, "impostors", [*own.decrypt("rsa"), *trusted], "NOT trusted")
    bad = subject.images("bad")
    shutil.copytree(subject.images("images"), bad)
    for _, change in changes(bad, subject.images("impostors"), "encryption.img"):
        shutil.copyfile(os.path.join(subject.images("images"), "encryption.img"), os.path.join(bad, "encryption.img"))
        change()
        require_refused(subject, "bad", own.decrypt("rsa"), r"encryption\.img|encrypted-0\.img")
        require_refused(subject, "bad", [*own.decrypt("rsa"), *trusted], r"encryption\.img")
    require_restored(subject, "impostors", [*own.decrypt("rsa"), *own.signed_by("uncertified", "pem")])
    subject.check()


def chain(subject, name, sign):
    """Makes a signed pre-dump and a signed incremental dump. Returns the names of their directories."""
    early = f"{name}-pre"
    pre_dump(subject, early, sign)
    require_forgotten(subject, "signer")
    subject.dump(subject.ours, name, [*sign, "--track-mem", "--prev-images-dir", f"../{early}"])
    if not increments.relies_on_parent(subject.images(name)):
        raise Failed(f"{name} has all pages itself")
    return name, early


def pre_dump(subject, name, options):
    """Requires a pre-dump to succeed."""
    run = subject.ours.run("pre-dump", subject.images(name), "pre-dump.log", ["-t", str(subject.root), *options])
    subject.require_success(run)
    subject.require_running(f"after the pre-dump {name}")


def memory_of(pid):
    """Yields the readable memory of a process, mapping by mapping."""
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            start, end = (int(each, 16) for each in line.split()[0].split("-"))
            try:
                memory.seek(start)
                yield memory.read(end - start)
            except (OSError, OverflowError):
                pass  # not readable, or the kernel's (vsyscall)


def require_forgotten(subject, name):
    """Requires that a process of criu is left after a command, and that its memory has no part of a secret key."""
    left = [pid for pid in processes.pids() if (processes.text(f"/proc/{pid}/cmdline") or "").startswith("criu: ")]
    if not left:
        raise Failed("no process tracks the memory")
    text, _ = keys.KEYS[name]
    for pid in left:
        if any(form in memory for memory in memory_of(pid) for form in (base64.b64decode(text)[-32:], text.encode())):
            raise Failed(f"process {pid} of criu, which stays, has the secret key in memory")


def signed_chain(subject, _task):
    """Requires that no part of a signed chain can be changed, exchanged or left out."""
    own = Keys(subject)
    name, early = chain(subject, "images", own.sign())
    trusted = own.signed_by()
    run = subject.ours.run("dedup", subject.images(name), "dedup.log")
    if run.code != 1 or not any("parent are signed" in line for line in modes.criu_runs.error_lines(run.log)):
        raise Failed(f"dedup should leave signed images as they are: {run.describe()}")
    require_restored(subject, name, trusted)
    # Makes another chain of the same program with the same signer.
    other, other_early = chain(subject, "other", own.sign())

    def exchanged(what, change, pattern, folder=other):
        copies = [subject.images(each) for each in (other, other_early)]
        for copy in copies:
            shutil.rmtree(copy + "-kept", ignore_errors=True)
            shutil.copytree(copy, copy + "-kept", symlinks=True)
        change(*copies)
        require_refused(subject, folder, trusted, pattern)
        if subject.ours.run("verify", subject.images(folder), "verify.log", trusted).code == 0:
            raise Failed(f"criu verify doesn't see that {what}")
        for copy in copies:
            shutil.rmtree(copy, ignore_errors=True)
            os.rename(copy + "-kept", copy)

    def other_parent(_, parent):
        shutil.rmtree(parent)
        shutil.copytree(subject.images(early), parent)

    def changed(_, parent):
        flip(os.path.join(parent, next(file for file in sorted(os.listdir(parent)) if file.startswith("pages-"))))

    exchanged("the parent is of another chain", other_parent, "aren't those that the next ones build on")
    exchanged("the parent was changed", changed, r"pages-\d+\.img: the piece at offset")
    exchanged("the link is gone", lambda last, _: os.unlink(os.path.join(last, "parent")), "have no link to them")
    exchanged("the parent is gone", lambda _, parent: shutil.rmtree(parent), "parent")
    exchanged("the parent has no signature", lambda _, parent: os.unlink(os.path.join(parent, "signature.img")), "aren't signed")
    require_refused(subject, other, own.signed_by("forger"), "signer isn't the one that")
    require_restored(subject, other, trusted)
    # A dump must not build on images without a signature of the same key, and must leave the program unchanged.
    for folder, sign, pattern in (("plain-pre", [], "aren't signed"), ("forged-pre", own.sign("forger"), "signer isn't the one that")):
        pre_dump(subject, folder, sign)
        for command in ("pre-dump", "dump"):
            run = subject.ours.run(command, subject.images("refused"), "refused.log",
                                   ["-t", str(subject.root), *own.sign(), "--track-mem", "--prev-images-dir", f"../{folder}"])
            if run.code != 1 or not any(re.search(pattern, line) for line in modes.criu_runs.error_lines(run.log)):
                raise Failed(f"{command} should fail with \"{pattern}\": {run.describe()}")
            subject.require_running(f"after a {command} that was refused")
    subject.check()


def flip(path):
    """Flips a bit in the middle of a file."""
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))


def in_new_pidns(subject, _task):
    """Restores encrypted and signed images in a new pid namespace, and dumps the tree from outside of it."""
    own = Keys(subject)
    both = [*own.decrypt(), *own.signed_by()]
    original = subject.root
    subject.dump(subject.ours, "images", [*own.encrypt(), *own.sign()])
    new_pidns.restore(subject, "images", *both)
    subject.require_unchanged("after the restore in a new namespace")
    subject.dump(subject.ours, "images-2", [*own.encrypt(), *own.sign()])
    subject.root = original
    require_restored(subject, "images-2", both)
    subject.check()


MODES = [
    modes.Mode("encrypted-new-pidns", in_new_pidns, scenario=True, beyond_42=True),
    modes.Mode("signed-chain", signed_chain, scenario=True, beyond_42=True),
    modes.Mode("encrypted-certified", certified, scenario=True, beyond_42=True),
    modes.Mode("encrypted", encrypted, scenario=True, beyond_42=True),
    modes.Mode("encrypted-damaged", encrypted_damaged, scenario=True, beyond_42=True),
]
