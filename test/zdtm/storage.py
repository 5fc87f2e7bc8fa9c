# SPDX-License-Identifier: GPL-2.0-only
"""Modes in which image storage fails or vanishes, or in which parent images are damaged. Programs ask for these modes.
"""

import contextlib
import errno
import fcntl
import os
import re
import shutil
import struct
import subprocess

from harness import criu as criu_runs, failing_files
import increments
import modes
from subject import Failed, Skipped

ERRORS = {code: os.strerror(code) for code in (errno.EIO, errno.EDQUOT, errno.ENOSPC)}


@contextlib.contextmanager
def mounted(subject, name):
    """Mounts a file system that fails on request as an image directory."""
    os.mkdir(subject.images(name))
    try:
        files = failing_files.FailingFiles(subject.images(name))
    except failing_files.Unmountable as reason:
        raise Skipped(str(reason)) from None
    try:
        yield files
    finally:
        files.close()


def require_refused_dump(subject, pattern, options=(), argv=None):
    """Requires a dump into "images" to fail, with its log in another directory."""
    log = os.path.join(subject.work, "dump.log")
    words = ["-t", str(subject.root), *subject.dump_options, "--leave-running", "-W", subject.work, *options]
    if argv is None:
        run = subject.ours.run("dump", subject.images("images"), "dump.log", words)
        run.log = log
    else:
        words = [*argv, *subject.ours.argv("dump", subject.images("images"), "dump.log", words)]
        pid = subject.init.start(words, "/", log + ".output")
        ended = subject.init.wait(pid, subject.ours.timeout, "criu dump")
        run = criu_runs.Run(words[len(argv):], log, ended.code, 0, ended.peak_rss)
    modes.require_refusal(subject, run, pattern)


def one_of_each(names):
    """Returns one image of each kind."""
    return sorted({re.sub(r"[0-9]+", "", name): name for name in sorted(names, reverse=True)}.values())


def storage_fails(subject, _task):
    """The file system fails when an image is created, written, sized or closed: the dump must fail and name the image.
    It fails when an image is read: the restore must fail and leave nothing."""
    with mounted(subject, "images") as files:
        options = [*subject.dump_options, "--leave-running", "-W", subject.work]
        subject.require_success(subject.ours.dump(subject.root, files.path, options))
        subject.require_unchanged("after dump --leave-running")
        names = [name for name in os.listdir(files.path) if name.endswith(".img") and not name.startswith("stats-")]
        pages = os.path.getsize(os.path.join(files.path, "pages-1.img"))
        cases = [(failing_files.WRITE, "pages-1.img", errno.EIO, pages // 2),
                 (failing_files.WRITE, "pages-1.img", errno.EDQUOT, 0),
                 (failing_files.SETATTR, "pages-1.img", errno.ENOSPC, 8192),
                 (failing_files.CREATE, "pages-1.img", errno.EIO, 0),
                 (failing_files.CREATE, "inventory.img", errno.EDQUOT, 0),
                 (failing_files.WRITE, "inventory.img", errno.EIO, 0)]
        # A remote file system may report a failed write only when the file is closed.
        cases += [(failing_files.FLUSH, name, errno.EIO if turn % 2 else errno.EDQUOT, 0)
                  for turn, name in enumerate(one_of_each(names))]
        for case in cases:
            request, name, code, beyond = case
            files.fail(request, name, code, beyond)
            try:
                require_refused_dump(subject, rf"\b{re.escape(name)}\b.*{ERRORS[code]}")
            except Failed as reason:
                raise Failed(f"request {request} about {name}, {ERRORS[code]}: {reason}") from None
            if not files.heal():
                raise Failed(f"request {request} about {name} hasn't failed")
        files.fail(failing_files.FLUSH, "inventory.img", errno.EIO)
        run = subject.ours.run("pre-dump", files.path, "pre-dump.log", ["-t", str(subject.root), "-W", subject.work])
        if not files.heal() or run.code != 1 or os.path.exists(os.path.join(files.path, "inventory.img")):
            raise Failed("a pre-dump whose inventory can't be stored succeeded, or left it")
        subject.dump(subject.ours, "images", ["-W", subject.work])
        cases = [(failing_files.READ, "pages-1.img", pages // 2),
                 *((failing_files.READ, name, 0) for name in one_of_each(names)),
                 (failing_files.OPEN, "pages-1.img", 0), (failing_files.OPEN, "inventory.img", 0)]
        for request, name, beyond in cases:
            files.fail(request, name, errno.EIO, beyond)
            run = subject.ours.restore(files.path, [*subject.restore_options, "-W", subject.work])
            run.log = os.path.join(subject.work, "restore.log")
            if not files.heal():
                raise Failed(f"request {request} about {name} hasn't failed")
            require_failed(subject, run, rf"\b{re.escape(name)}\b.*{ERRORS[errno.EIO]}")
        subject.restore(subject.ours, "images")
        subject.check()


def require_failed(subject, run, pattern):
    """Requires a restore to fail with such an Error line, and to leave nothing."""
    if run.code <= 0:
        raise Failed(f"a restore ended with {run.code}, but should have failed with /{pattern}/")
    if not any(re.search(pattern, line) for line in criu_runs.error_lines(run.log)):
        raise Failed(f"no Error line matches /{pattern}/: {run.describe()}")
    subject.require_nothing_left("after the failed restore")
    subject.await_free_ids()


def storage_vanishes(subject, _task):
    """The image directory is unmounted or removed during the dump, or the file size is limited. The dump must fail,
    and the tree must continue because its images are lost."""
    for name in "pages-1.img", "pstree.img":
        with mounted(subject, "images") as files:
            files.fail(failing_files.CREATE, name, files.detach)
            require_refused_dump(subject, r"images\b.*(unmounted|removed)")
            if not files.heal():
                raise Failed("nothing was unmounted")
        os.rmdir(subject.images("images"))
    images = subject.images("images")
    script = os.path.join(subject.work, "script")
    for after in "true", f"mkdir {images}":
        with open(script, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\n[ $CRTOOLS_SCRIPT_ACTION != pre-dump ] || {{ rm -r {images}; {after}; }}\n")
        os.chmod(script, 0o700)
        require_refused_dump(subject, rf"{images}\b.*No such file", ["--action-script", script])
    shutil.rmtree(images, ignore_errors=True)
    os.mkdir(images)
    require_refused_dump(subject, r"\bpages-1\.img.*File too large", ["-v1"],
                         ["/bin/sh", "-c", 'ulimit -f 1024; exec "$@"', "sh"])
    subject.check()


def parent_damaged(subject, _task):
    """Parent images are damaged, missing or in a circle. A restore must name the error before it creates anything.
    With all images it must succeed."""
    subject.dump(subject.ours, "images")
    increments.split(subject.images("images"))
    whole = [subject.images("images" + ".parent" * level) for level in range(increments.DEPTH)]
    pagemap = f"pagemap-{subject.root}.img"

    def link(target):
        os.unlink(os.path.join(subject.images("images"), "parent"))
        if target:
            os.symlink(target, os.path.join(subject.images("images"), "parent"))

    def pages():
        """Returns the pages file of the nearest parent."""
        with open(os.path.join(whole[1], pagemap), "rb") as file:
            number = increments.decode(increments.read_records(file.read())[1][0])[1]
        return os.path.join(whole[1], f"pages-{number}.img")

    def shorten(path, by):
        os.truncate(path, os.path.getsize(path) - by)

    def end_at_child():
        path = os.path.join(whole[2], "parent")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        os.symlink("../images", path)

    def entries_lost():
        path = os.path.join(whole[1], pagemap)
        with open(path, "rb") as file:
            data = file.read()
        records = increments.read_records(data)[1]
        os.truncate(path, len(data) - sum(4 + len(record) for record in records[-4:]))

    os.mkdir(subject.images("nothing"))
    cases = {
        "no link": (lambda: link(None), rf"{pagemap}: .*/images has no parent"),
        "a link to nothing": (lambda: link("../gone"), r"parent of .*/images: .*No such file"),
        "itself": (lambda: link("."), r"circle"),
        "its child": (end_at_child, r"circle"),
        "a file": (lambda: link("inventory.img"), r"parent of .*/images: .*Not a directory"),
        "a loop of links": (lambda: link("parent"), r"parent of .*/images: .*symbolic links"),
        "no images": (lambda: link("../nothing"), rf"{pagemap}: .*0x[0-9a-f]+ .*/images/parent.* has no {pagemap}"),
        "a cut pagemap": (lambda: shorten(os.path.join(whole[1], pagemap), 3), rf"{pagemap}\b.*offset"),
        "a pagemap without its end": (entries_lost, rf"{pagemap}: .*0x[0-9a-f]+ .*/images/parent"),
        "a cut pages file": (lambda: shorten(pages(), 1), r"images/parent/pages-\d+\.img: .* bytes"),
        "a lost pages file": (lambda: os.unlink(pages()), r"pages-\d+\.img in .*images/parent: No such file"),
    }
    copies = [folder + ".whole" for folder in whole]
    for folder, copy in zip(whole, copies):
        shutil.copytree(folder, copy, symlinks=True)
    for name, (damage, pattern) in cases.items():
        damage()
        run = subject.ours.restore(subject.images("images"), subject.restore_options)
        try:
            require_failed(subject, run, pattern)
            with open(run.log, encoding="utf-8") as log:
                if re.search(r"Stage: processes", log.read()):
                    raise Failed("processes were made")
        except Failed as reason:
            raise Failed(f"{name}: {reason}") from None
        for folder, copy in zip(whole, copies):
            shutil.rmtree(folder)
            shutil.copytree(copy, folder, symlinks=True)
    subject.restore(subject.ours, "images")
    subject.check()


@contextlib.contextmanager
def disk(subject):
    """Mounts an ext4 file system in a file. Skips the mode where that isn't possible."""
    image, path = os.path.join(subject.work, "disk"), os.path.join(subject.work, "mounted")
    os.mkdir(path)
    with open(image, "wb") as file:
        file.truncate(256 << 20)
    try:
        subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True, capture_output=True)
        subprocess.run(["mount", "-o", "loop", image, path], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as reason:
        raise Skipped(f"no ext4 in a loop device: {reason}") from None
    try:
        yield image, path
    finally:
        subprocess.run(["umount", path], check=True)


def power_cut(subject, _task):
    """The disk of the images loses power right after a dump that has ended the tree. All that wasn't synced is lost, and the
    images must restore the tree."""
    shutdown, no_flush = 0x8004587D, 2  # EXT4_IOC_SHUTDOWN and EXT4_GOING_FLAGS_NOLOGFLUSH of fs/ext4/ext4.h
    with disk(subject) as (image, path):
        subject.require_success(subject.ours.dump(subject.root, path, [*subject.dump_options, "-W", subject.work]))
        directory = os.open(path, os.O_RDONLY)
        fcntl.ioctl(directory, shutdown, struct.pack("I", no_flush))
        os.close(directory)
        subprocess.run(["umount", path], check=True)
        subprocess.run(["mount", "-o", "loop", image, path], check=True)
        subject.require_dumped()
        subject.run_between()
        subject.require_success(subject.try_restore(subject.ours, path))
        subject.check()


SCENARIOS = [
    modes.Mode("power-cut", power_cut, scenario=True, beyond_42=True),
    modes.Mode("storage-fails", storage_fails, scenario=True, beyond_42=True),
    modes.Mode("storage-vanishes", storage_vanishes, scenario=True, beyond_42=True),
    modes.Mode("parent-damaged", parent_damaged, scenario=True, beyond_42=True),
]
