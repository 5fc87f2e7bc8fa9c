# SPDX-License-Identifier: GPL-2.0-only
"""Lazy pages of encrypted and signed images."""

import os
import re
import shutil

from harness import processes
import lazy
from page_servers import Certificates
from secrecy import Keys, flip, require_refused, require_restored
from subject import Failed, Skipped
import modes


def require_daemon_refused(subject, name, options, pattern):
    """Requires criu lazy-pages to fail with a reason before a restore could connect."""
    daemon = lazy.Daemon(subject, name, options)
    daemon.wait(1)
    if not any(re.search(pattern, line) for line in modes.criu_runs.error_lines(daemon.log)):
        raise Failed(f"lazy-pages {options} should fail with \"{pattern}\": see {daemon.log}")
    if os.path.exists(os.path.join(daemon.images, "lazy-pages.socket")):
        raise Failed(f"lazy-pages {options} has let restores connect")


def restore_late(subject, name, options, more=()):
    """Restores with pages of a daemon. Both get `options`, and the daemon also `more`."""
    daemon = lazy.Daemon(subject, name, [*options, *more])
    require_restored(subject, name, [*options, "--lazy-pages"])
    daemon.wait()
    subject.require_unchanged(f"after all pages have come with {options}")
    return daemon


def encrypted_lazy(subject, task):
    """Serves lazy pages of encrypted and signed images from the daemon's memory. The daemon must refuse images that a
    restore refuses, before anything is created."""
    own = Keys(subject)
    both = [*own.decrypt(), *own.signed_by()]
    subject.dump(subject.ours, "images", [*own.encrypt(), *own.sign()])
    require_daemon_refused(subject, "images", [], "are encrypted")
    require_daemon_refused(subject, "images", own.decrypt("stranger"), "for none of the keys given")
    require_daemon_refused(subject, "images", [*own.decrypt(), *own.signed_by("forger")], "signer isn't the one that")
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


def require_encrypted(folder):
    """Requires a directory of images to have nothing that is readable without a key."""
    own = r"encrypted-(pages-)?\d+\.img|encryption(-pages)?\.img|inventory\.img|signature\.img"
    if others := [name for name in os.listdir(folder) if name.endswith(".img") and not re.fullmatch(own, name)]:
        raise Failed(f"not encrypted: {others}")


def require_dump_refused(subject, options, pattern):
    """Requires a dump to fail and to leave the tree unchanged."""
    run = subject.ours.dump(subject.root, subject.images("refused"), [*subject.dump_options, *options])
    modes.require_refusal(subject, run, pattern)


def encrypted_remote_lazy(subject, _task):
    """Post-copy with encrypted images: the lazy pages of the tree go over TLS only. criu must not send them without
    TLS, nor to an unauthenticated peer that can connect to the port."""
    if not shutil.which("openssl"):
        raise Skipped("openssl isn't installed")
    own = Keys(subject)
    made = Certificates(subject.images("certificates"))
    require_dump_refused(subject, ["--lazy-pages", *own.encrypt()], "need --tls")
    require_dump_refused(subject, ["--lazy-pages", *own.sign(), *made.options("good")], "pages that are left out are in no image")
    source = lazy.PostCopy(subject, "", [*own.encrypt(), *made.options("good")])
    require_encrypted(source.images)
    require_daemon_refused(subject, "target", [*source.remote, *made.options("good")], "are encrypted")
    require_daemon_refused(subject, "target", [*source.remote, *made.options("good"), *own.decrypt("stranger")], "for none of the keys given")
    restore_late(subject, "target", own.decrypt(), [*source.remote, *made.options("good")])
    if subject.init.wait(source.pid, processes.PATIENCE, "the end of the dump").code != 0:
        raise Failed(f"the dump failed: {source.images}/dump.log")
    subject.init.wait(source.original, processes.PATIENCE, "the end of the original")
    subject.check()


def encrypted_stored_lazy(subject, _task):
    """A page server serves pages of encrypted images over TLS only."""
    if not shutil.which("openssl"):
        raise Skipped("openssl isn't installed")
    own = Keys(subject)
    made = Certificates(subject.images("certificates"))
    subject.dump(subject.ours, "images", own.encrypt())
    images = subject.images("images")
    for options, pattern in ((made.options("good"), "are encrypted"), (own.decrypt(), "need --tls")):
        run = subject.ours.run("page-server", images, "refused.log", ["--lazy-pages", "--address", "127.0.0.1", *options])
        if run.code != 1 or not any(re.search(pattern, line) for line in modes.criu_runs.error_lines(run.log)):
            raise Failed(f"the page server should fail with \"{pattern}\": {run.describe()}")
    server, port = lazy.start_page_server(subject, images, [*own.decrypt(), *made.options("good")])
    restore_late(subject, "images", own.decrypt(),
                 ["--page-server", "--address", "127.0.0.1", "--port", str(port), *made.options("good")])
    if subject.init.wait(server, processes.PATIENCE, "the end of the page server").code != 0:
        raise Failed(f"the page server failed: {images}/page-server.log")
    subject.check()


MODES = [
    modes.Mode("encrypted-remote-lazy", encrypted_remote_lazy, scenario=True, beyond_42=True),
    modes.Mode("encrypted-stored-lazy", encrypted_stored_lazy, scenario=True, beyond_42=True),
    modes.Mode("encrypted-lazy", encrypted_lazy, scenario=True, beyond_42=True),
]
