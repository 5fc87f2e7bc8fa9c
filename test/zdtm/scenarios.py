# SPDX-License-Identifier: GPL-2.0-only
"""Modes in which something goes wrong. Programs ask for them; afterwards all has to be as if nothing had happened."""

import os
import re
import shutil
import signal
import subprocess

from harness import criu as criu_runs
from harness import processes
import modes
from subject import Failed


def pid_taken(subject, _task):
    """A restore that finds a pid in use says who has it; once the pid is free it works."""
    wanted = max(subject.state)
    subject.dump(subject.ours, "images")
    with open("/proc/sys/kernel/ns_last_pid", "w", encoding="ascii") as file:
        file.write(str(wanted - 1))
    squatter = subject.init.start(["/bin/sleep", "1000"], "/", os.devnull)
    if squatter != wanted:
        raise Failed(f"could not take pid {wanted}, got {squatter}")
    require_failed_restore(subject, "images", rf"\b{wanted}\b.*sleep", {squatter})
    os.kill(squatter, signal.SIGKILL)
    subject.init.wait(squatter, 5)
    subject.await_free_ids()
    subject.restore(subject.ours, "images")
    subject.check()


def pid_ending(subject, _task):
    """A restore waits for whoever has the pid but is already dead."""
    wanted = max(subject.state)
    subject.dump(subject.ours, "images")
    script = f"echo {wanted - 1} > /proc/sys/kernel/ns_last_pid; sleep 0.1 & exec sleep 0.6"
    subject.init.start(["/bin/sh", "-c", script], "/", os.devnull)
    subject.init.until(lambda: (processes.status(wanted) or {}).get("State", "")[:1] == "Z", 5, "a zombie in the way")
    subject.restore(subject.ours, "images")
    subject.check()


def file_missing(subject, _task):
    """A restore that misses a file names it."""
    subject.dump(subject.ours, "images")
    path = os.path.join(subject.folder, "data")
    os.rename(path, path + ".away")
    require_failed_restore(subject, "images", r"cwd/data\b.*No such file")
    os.rename(path + ".away", path)
    subject.restore(subject.ours, "images")
    subject.check()


def file_changed(subject, _task):
    """A restore refuses a file that has another size than at the dump."""
    subject.dump(subject.ours, "images")
    path = os.path.join(subject.folder, "data")
    size = os.path.getsize(path)
    with open(path, "a", encoding="ascii") as file:
        file.write("more")
    require_failed_restore(subject, "images", r"cwd/data\b.*(size|bytes)")
    os.truncate(path, size)
    subject.restore(subject.ours, "images")
    subject.check()


def image_damaged(subject, _task):
    """A restore from images that were cut short or lost says which, whatever image it is."""
    subject.dump(subject.ours, "images")
    whole = subject.images("images")
    kinds = ["inventory", "pstree", "files", f"core-{subject.root}", f"mm-{subject.root}", f"pagemap-{subject.root}",
             "pages-1", "fdinfo-2", f"fs-{subject.root}", f"ids-{subject.root}"]
    for kind in kinds:
        name = f"{kind}.img"
        size = os.path.getsize(os.path.join(whole, name))
        for way, left in (("lost", None), ("empty", 0), ("cut", size // 2), ("headless", 6)):
            damaged = f"{kind}-{way}"
            shutil.copytree(whole, subject.images(damaged))
            path = os.path.join(subject.images(damaged), name)
            if left is None:
                os.unlink(path)
            else:
                os.truncate(path, left)
            require_failed_restore(subject, damaged, re.escape(kind))
    subject.restore(subject.ours, "images")
    subject.check()


def full_disk(subject, _task):
    """A dump that runs out of disk space fails, says so, and leaves the tree alone."""
    images = subject.images("images")
    os.mkdir(images)
    mount = subject.init.start(["/bin/mount", "-t", "tmpfs", "-o", "size=512k", "none", images], "/", os.devnull)
    if subject.init.wait(mount, 10).code != 0:
        raise Failed("mount -t tmpfs failed")
    # The log goes elsewhere: the last words are wanted.
    run = subject.ours.dump(subject.root, images, [*subject.dump_options, "-W", subject.work])
    run.log = os.path.join(subject.work, "dump.log")
    modes.require_refusal(subject, run, "No space left on device")
    subject.check()


def outer_session(subject, _task):
    """A tree that belongs to a session outside is refused, with the way out."""
    child = max(subject.state)
    run = subject.ours.dump(child, subject.images("images"), subject.dump_options)
    modes.require_refusal(subject, run, rf"\b{child}\b.*session.*--shell-job")
    subject.check()


def refused_restore(subject, task):
    """A restore that can't be done as told says why, and leaves nothing; as usual it works."""
    subject.dump(subject.ours, "images")
    usual = subject.restore_options
    subject.restore_options = [*usual, *task["refused_restore"]]
    require_failed_restore(subject, "images", task["refused_with"])
    subject.restore_options = usual
    subject.restore(subject.ours, "images")
    subject.check()


def restore_terminated(subject, task):
    """A restore that is asked to end leaves nothing behind, and can be done again."""
    subject.dump(subject.ours, "images")
    begin = subject.ours.restore(subject.images("images"), subject.restore_options)
    subject.require_success(begin)
    moments = modes.moments(task["seed"], begin.seconds)
    for turn in range(6):
        subject.dump(subject.ours, f"images-{turn}")
        images = subject.images(f"images-{turn}")
        files = subject.list_files()
        number = signal.SIGTERM if turn % 2 == 0 else signal.SIGINT
        moment, code = modes.interrupt(subject, "restore", images, ["-d", *subject.restore_options], next(moments),
                                       number)
        when = f"after {number.name} at {moment * 1000:.1f} of {begin.seconds * 1000:.1f} ms of restore"
        if code != 0:
            subject.require_nothing_left(when)
            if subject.list_files() != files:
                raise Failed(f"{when} files changed: {sorted(subject.list_files() ^ files)}")
            subject.restore(subject.ours, f"images-{turn}")
        else:
            subject.require_unchanged(when)
    subject.check()


def guardian_killed(subject, _task):
    """Where the criu that was started dies in the midst of a dump, the process that works for it ends as well: the dump
    isn't completed behind the back of whoever killed it."""
    images = subject.images("images")
    pid = subject.ours.start("dump", images, "dump.log", ["-t", str(subject.root), *subject.dump_options,
                                                          "--leave-running"])
    pages = os.path.join(images, "pages-1.img")
    subject.init.until(lambda: os.path.exists(pages) or pid in subject.init.ended, 30, "the dump of memory")
    if pid in subject.init.ended:
        raise Failed("the dump ended before it could be killed")
    os.kill(pid, signal.SIGKILL)
    subject.init.wait(pid, 20, "criu dump after SIGKILL")
    subject.require_running("after SIGKILL")
    subject.require_unchanged("after SIGKILL", seconds=5, leftovers=True)
    if os.path.exists(os.path.join(images, "inventory.img")):
        raise Failed("the dump was completed though criu had been killed")
    subject.check()


def lock_gone(subject, _task):
    """A restore locks the network before it makes sockets, and not for longer than it needs, even if it fails."""
    subject.dump(subject.ours, "images")
    locks = network_locks(subject)
    if len(locks) != 1:
        raise Failed(f"the dump left {len(locks)} locks of the network")
    subprocess.run(["nft", "delete", "table", "inet", locks[0]], check=True)
    path = os.path.join(subject.folder, "data")
    os.rename(path, path + ".away")
    require_failed_restore(subject, "images", r"cwd/data\b.*No such file")
    os.rename(path + ".away", path)
    if network_locks(subject):
        raise Failed("the failed restore left the network locked")

    subject.init.ended.pop(subject.root, None)
    begun = subject.ours.start("restore", subject.images("images"), "restore.log", ["-d", *subject.restore_options])
    subject.init.until(lambda: network_locks(subject) or begun in subject.init.ended, 10, "lock of the network")
    if begun in subject.init.ended:
        raise Failed("the restore did not lock the network")
    subject.echo.clients[0].send(b"x")
    code = subject.init.wait(begun, 30, "end of the restore").code
    if code != 0:
        raise Failed(f"the restore ended with {code}")
    if network_locks(subject):
        raise Failed("the restore left the network locked")
    subject.check()


def network_locks(subject):
    """Names of nftables tables that lock the network for the test's connections. Others' may be there as well."""
    tables = run_nft("list", "tables")
    names = re.findall(r"table inet (CRIU-\S+)", tables)
    return [name for name in names if re.search(rf"\b{subject.echo.port}\b", run_nft("list", "table", "inet", name))]


def run_nft(*arguments):
    """What nft prints: nothing of a table that has just gone."""
    return subprocess.run(["nft", *arguments], check=False, capture_output=True, text=True).stdout


def other_vdso(subject, _task):
    """Under a kernel with another vDSO the program's own goes on working: the images' is changed a little, twice."""
    for name in ("images-1", "images-2"):
        subject.dump(subject.ours, name)
        if not change_vdso(subject.images(name)):
            raise Failed(f"no vDSO was found in {name}")
        subject.restore(subject.ours, name)
    subject.check()


def packing_stopped(subject, _task):
    """Criu that is asked to end, or killed, while it packs a large tmpfs doesn't go on to pack the rest."""
    subject.dump(subject.ours, "whole", ["--leave-running"])
    subject.require_unchanged("after dump --leave-running")
    whole = archive_size(subject.images("whole"))
    counted = 0
    for turn in range(12):
        number = signal.SIGTERM if turn % 2 == 0 else signal.SIGKILL
        images = subject.images(f"stopped-{turn}")
        options = ["-t", str(subject.root), *subject.dump_options, "--leave-running"]
        pid = subject.ours.start("dump", images, "dump.log", options)
        subject.init.until(lambda at=images, who=pid: archive_size(at) > 0 or who in subject.init.ended, 60,
                           "an archive")
        packed = archive_size(images)
        if pid not in subject.init.ended:
            os.kill(pid, number)
        code = subject.init.wait(pid, 60, f"criu dump after {number.name}").code
        when = f"after {number.name} when {packed} of {whole} bytes were packed"
        subject.require_running(when)
        if packed > whole // 2:
            continue  # the signal came late: another turn tells
        counted += 1
        if code == 0:
            raise Failed(f"{when} the dump went on to its end")
        if archive_size(images) >= whole:
            raise Failed(f"{when} the rest was packed as well")
        subject.require_unchanged(when, seconds=3, leftovers=number == signal.SIGKILL)
        if counted == 4:
            break
    if counted == 0:
        raise Failed("no signal came in time")
    subject.check()


def archive_size(images):
    """How many bytes of a file system in memory are packed so far."""
    if not os.path.isdir(images):
        return 0
    return sum(os.path.getsize(os.path.join(images, name)) for name in os.listdir(images)
               if name.startswith("tmpfs-dev-"))


def change_vdso(images):
    """Turns a letter of the vDSO's name in each of the pages files; returns how many were found."""
    count = 0
    for name in os.listdir(images):
        if not re.fullmatch(r"pages-\d+\.img", name):
            continue
        with open(os.path.join(images, name), "r+b") as file:
            pages = file.read()
            for match in re.finditer(rb"linux-vdso\.so\.1\0", pages):
                head = match.start() & ~0xfff
                if pages[head:head + 4] == b"\x7fELF":
                    file.seek(match.start())
                    file.write(b"L")
                    count += 1
    return count


def require_failed_restore(subject, name, pattern, strangers=frozenset()):
    """Requires a restore to fail with a matching Error line and to leave nothing behind."""
    files = subject.list_files()
    run = subject.ours.restore(subject.images(name), subject.restore_options)
    if run.code == 0:
        raise Failed(f"criu restore of {name} succeeded")
    if run.code < 0:
        raise Failed(run.describe())
    lines = criu_runs.error_lines(run.log)
    if not any(re.search(pattern, line) for line in lines):
        raise Failed(f"no Error line matches /{pattern}/: {run.describe()}")
    subject.require_nothing_left(f"after the failed restore of {name}", strangers)
    if subject.list_files() != files:
        raise Failed(f"the failed restore of {name} left files: {sorted(subject.list_files() ^ files)}")


SCENARIOS = [
    modes.Mode("pid-taken", pid_taken, scenario=True, beyond_42=True),
    modes.Mode("pid-ending", pid_ending, scenario=True, beyond_42=True),
    modes.Mode("file-missing", file_missing, scenario=True),
    modes.Mode("file-changed", file_changed, scenario=True),
    modes.Mode("image-damaged", image_damaged, scenario=True, beyond_42=True),
    modes.Mode("full-disk", full_disk, scenario=True),
    modes.Mode("outer-session", outer_session, scenario=True),
    modes.Mode("guardian-killed", guardian_killed, scenario=True, beyond_42=True),
    modes.Mode("lock-gone", lock_gone, scenario=True, beyond_42=True),
    modes.Mode("other-vdso", other_vdso, scenario=True, beyond_42=True),
    modes.Mode("refused-restore", refused_restore, scenario=True),
    modes.Mode("packing-stopped", packing_stopped, scenario=True, beyond_42=True),
    modes.Mode("restore-terminated", restore_terminated, scenario=True),
]
