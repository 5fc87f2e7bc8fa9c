# SPDX-License-Identifier: GPL-2.0-only
"""Dumps whose images are encrypted and signed."""

import os
import re
import shutil

from subject import Failed
import modes

# Key pairs as openssl genpkey writes them: whose the images are, and a stranger's.
KEYS = {"recipient": ("MC4CAQAwBQYDK2VuBCIEIEj6cpm8+R3lnUCNojl4ocUUN0ztRnjhEgm0TJ6vppFF", "MCowBQYDK2VuAyEA94Epnoa0DO91uRpzd1IGZGORyullkQaNZDudNpzmewc="),
        "stranger": ("MC4CAQAwBQYDK2VuBCIEIPjEsiWQuCDtEAbf3vwaK1TnKRmk8sFnLob94IRAuOxo", "MCowBQYDK2VuAyEA5nMtdu932uS5KA70OGxRUm3hfbWtv9EHkcb5Z/QCdnE="),
        "signer": ("MC4CAQAwBQYDK2VwBCIEIPD2klfRtCjh1bQC7OPA0A/K2FNr3y5aAfwLc+eV2uxm", "MCowBQYDK2VwAyEAI7IAwNyDHlz8qmrXgFCshJAdo0GyQp5PrdLFreq2G5Y="),
        "forger": ("MC4CAQAwBQYDK2VwBCIEID9I679BhBlJZYlC59qb9IyBUoXXIvDYPIs42ozrdHmY", "MCowBQYDK2VwAyEA0UycI7LIXPL2NjZxnxEpmrrqUlzZqPLxdsQoxHtM7y8=")}


class Keys:
    """Files of keys, and the options that name them."""

    def __init__(self, subject):
        self.folder = subject.images("keys")
        os.makedirs(self.folder, exist_ok=True)
        for name, pair in KEYS.items():
            for half, label, text in zip(("key", "pub"), ("PRIVATE", "PUBLIC"), pair):
                path = os.path.join(self.folder, f"{name}.{half}")
                with open(path, "w", encoding="ascii") as file:
                    file.write(f"-----BEGIN {label} KEY-----\n{text}\n-----END {label} KEY-----\n")
                os.chmod(path, 0o600)

    def encrypt(self, name="recipient"):
        """For a dump."""
        return ["--encrypt", os.path.join(self.folder, f"{name}.pub")]

    def decrypt(self, name="recipient"):
        """For a restore."""
        return ["--decrypt", os.path.join(self.folder, f"{name}.key")]

    def sign(self, name="signer"):
        """For a dump."""
        return ["--sign", os.path.join(self.folder, f"{name}.key")]

    def signed_by(self, name="signer"):
        """For a restore."""
        return ["--signed-by", os.path.join(self.folder, f"{name}.pub")]


def restore(subject, name, options):
    """A restore with further options; the run of criu."""
    before = subject.restore_options
    subject.restore_options = [*before, *options]
    try:
        return subject.try_restore(subject.ours, subject.images(name))
    finally:
        subject.restore_options = before


def require_restored(subject, name, options):
    """A restore that has to succeed."""
    subject.require_success(restore(subject, name, options))
    subject.require_unchanged(f"after a restore with {options}")


def require_refused(subject, name, options, pattern):
    """A restore that has to say why it makes nothing."""
    run = restore(subject, name, options)
    if run.code != 1 or not any(re.search(pattern, line) for line in modes.criu_runs.error_lines(run.log)):
        raise Failed(f"restore {options} should fail with \"{pattern}\": {run.describe()}")
    subject.require_nothing_left(f"after a restore with {options}")


def encrypted(subject, _task):
    """Encrypted and signed images in a directory, compressed and as a stream."""
    keys = Keys(subject)
    subject.dump(subject.ours, "images", [*keys.encrypt("stranger"), *keys.encrypt(), *keys.sign()])
    folder = subject.images("images")
    if others := [name for name in os.listdir(folder) if name.endswith(".img") and
                  not re.fullmatch(r"encrypted-\d+\.img|encryption\.img|inventory\.img|signature\.img", name)]:
        raise Failed(f"not encrypted: {others}")
    verified = subject.ours.run("verify", folder, "verify.log", [*keys.decrypt(), *keys.signed_by()])
    subject.require_success(verified)
    require_refused(subject, "images", [], "are encrypted")
    require_restored(subject, "images", [*keys.decrypt(), *keys.signed_by()])
    subject.dump(subject.ours, "packed", [*keys.encrypt(), "--compress", "--checksum"])
    require_restored(subject, "packed", keys.decrypt())
    stream = subject.images("checkpoint.stream")
    subject.dump(subject.ours, "streamed", [*keys.encrypt(), "--stream-to", stream])
    require_restored(subject, "streamed", [*keys.decrypt(), "--stream-from", stream])
    subject.check()


def changes(folder, other, name):
    """Ways to change one file of a checkpoint, each with a function that does it."""
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
    if name != "inventory.img":  # that of any encrypted dump is the same
        yield "of another dump", lambda: shutil.copyfile(os.path.join(other, name), path)
        yield "changed in its middle", lambda: flip(os.path.getsize(path) // 2)


def encrypted_damaged(subject, task):
    """Every file of a checkpoint removed, changed, cut, and of another dump: each is found before anything is made."""
    keys = Keys(subject)
    subject.dump(subject.ours, "other", [*keys.encrypt(), *keys.sign(), "--leave-running"])
    subject.dump(subject.ours, "images", [*keys.encrypt(), *keys.sign()])
    whole = subject.images("images")
    names = sorted(name for name in os.listdir(whole) if name.endswith(".img"))
    both = [*keys.decrypt(), *keys.signed_by()]
    # Those of the images are alike: of some each is changed in one way, the ways in turn.
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
                require_refused(subject, "bad", keys.decrypt(), re.escape(name))
            elif name == "encryption.img":
                require_refused(subject, "bad", keys.decrypt(), r"encryption\.img|encrypted-0\.img")
            # The signature of another dump is one, but of other files.
            require_refused(subject, "bad", both, "signed|sign" if name == "signature.img" else re.escape(name))
    shutil.rmtree(subject.images("bad"))
    shutil.copytree(whole, subject.images("bad"))
    shutil.copyfile(os.path.join(whole, "encrypted-1.img"), os.path.join(subject.images("bad"), "pages-9.img"))
    require_refused(subject, "bad", keys.decrypt(), r"pages-9\.img: it isn't of this dump")
    require_refused(subject, "bad", both, r"pages-9\.img: it wasn't signed")
    require_refused(subject, "images", keys.decrypt("stranger"), "for none of the keys given")
    require_refused(subject, "images", [*keys.decrypt(), *keys.signed_by("forger")], "by somebody else")
    require_refused(subject, "images", [], "are encrypted")
    os.chmod(keys.decrypt()[1], 0o644)
    require_refused(subject, "images", keys.decrypt(), "others may use the file")
    os.chmod(keys.decrypt()[1], 0o600)
    require_restored(subject, "images", both)
    subject.dump(subject.ours, "plain", keys.sign())
    require_refused(subject, "plain", keys.decrypt(), "aren't encrypted, but --decrypt is given")
    require_restored(subject, "plain", keys.signed_by())
    subject.check()


MODES = [
    modes.Mode("encrypted", encrypted, scenario=True, beyond_42=True),
    modes.Mode("encrypted-damaged", encrypted_damaged, scenario=True, beyond_42=True),
]
