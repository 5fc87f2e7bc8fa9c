# SPDX-License-Identifier: GPL-2.0-only
"""Pages of encrypted and signed images that come later."""

import os
import re
import shutil

import lazy
from secrecy import Keys, flip, require_refused, require_restored
from subject import Failed
import modes


def require_daemon_refused(subject, name, options, pattern):
    """criu lazy-pages has to say what is wrong before a restore could connect."""
    daemon = lazy.Daemon(subject, name, options)
    daemon.wait(1)
    if not any(re.search(pattern, line) for line in modes.criu_runs.error_lines(daemon.log)):
        raise Failed(f"lazy-pages {options} should fail with \"{pattern}\": see {daemon.log}")
    if os.path.exists(os.path.join(daemon.images, "lazy-pages.socket")):
        raise Failed(f"lazy-pages {options} has let restores connect")


def restore_late(subject, name, options, more=()):
    """A restore whose pages come from a daemon; both get the options, the daemon more."""
    daemon = lazy.Daemon(subject, name, [*options, *more])
    require_restored(subject, name, [*options, "--lazy-pages"])
    daemon.wait()
    subject.require_unchanged(f"after all pages have come with {options}")
    return daemon


def encrypted_lazy(subject, task):
    """Pages of encrypted and signed images come later, out of the daemon's memory. The daemon refuses what a restore would,
    before anything is made."""
    own = Keys(subject)
    both = [*own.decrypt(), *own.signed_by()]
    subject.dump(subject.ours, "images", [*own.encrypt(), *own.sign()])
    require_daemon_refused(subject, "images", [], "are encrypted")
    require_daemon_refused(subject, "images", own.decrypt("stranger"), "for none of the keys given")
    require_daemon_refused(subject, "images", [*own.decrypt(), *own.signed_by("forger")], "by somebody else")
    numbers = [name for name in sorted(os.listdir(subject.images("images"))) if re.fullmatch(r"encrypted-\d+\.img", name)]
    name = numbers[task["seed"] % len(numbers)]
    shutil.copytree(subject.images("images"), subject.images("bad"))
    flip(os.path.join(subject.images("bad"), name))
    require_daemon_refused(subject, "bad", own.decrypt(), re.escape(name))
    require_daemon_refused(subject, "bad", own.signed_by(), re.escape(name))
    require_refused(subject, "bad", [*own.decrypt(), "--lazy-pages"], re.escape(name))
    require_refused(subject, "images", ["--lazy-pages"], "are encrypted")
    late = restore_late(subject, "images", both)
    if not late.said(r"[1-9]\d* KiB came late"):
        raise Failed(f"no page came late: {late.log}")
    subject.dump(subject.ours, "compressed", [*own.encrypt(), "--compress", "--checksum"])
    restore_late(subject, "compressed", own.decrypt())
    subject.dump(subject.ours, "signed", own.sign())
    require_daemon_refused(subject, "signed", own.decrypt(), "aren't encrypted, but --decrypt is given")
    restore_late(subject, "signed", own.signed_by())
    subject.check()


MODES = [
    modes.Mode("encrypted-lazy", encrypted_lazy, scenario=True, beyond_42=True),
]
