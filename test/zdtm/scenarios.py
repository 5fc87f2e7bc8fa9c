# SPDX-License-Identifier: GPL-2.0-only
"""Modes in which an action fails. Programs ask for these modes. Afterwards everything must be as before."""

import ctypes
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time

from harness import criu as criu_runs
from harness import processes
import modes
from subject import Failed


def pid_taken(subject, _task):
    """Requires a restore to name the process that has a needed pid. After the pid is free the restore must work."""
    wanted = max(subject.state)
    subject.dump(subject.ours, "images")
    with open("/proc/sys/kernel/ns_last_pid", "w", encoding="ascii") as file:
        file.write(str(wanted - 1))
    squatter = subject.init.start(["/bin/sleep", "1000"], "/", os.devnull)
    if squatter != wanted:
        raise Failed(f"could not take pid {wanted}, got {squatter}")
    require_failed_restore(subject, "images", rf"\b{wanted}\b.*sleep", {squatter})
    os.kill(squatter, signal.SIGKILL)
    subject.init.wait(squatter, processes.PATIENCE)
    subject.await_free_ids()
    subject.restore(subject.ours, "images")
    subject.check()


def pid_ending(subject, _task):
    """Requires a restore to wait for a process that has a needed pid and has already ended, and to say so."""
    wanted = max(subject.state)
    subject.dump(subject.ours, "images")
    script = f"echo {wanted - 1} > /proc/sys/kernel/ns_last_pid; sleep 0.1 & exec sleep 1000"
    parent = subject.init.start(["/bin/sh", "-c", script], "/", os.devnull)
    subject.init.until(lambda: (processes.status(wanted) or {}).get("State", "")[:1] == "Z", processes.PATIENCE,
                       "a zombie in the way")
    begun = subject.ours.start("restore", subject.images("images"), "restore.log", ["-d", *subject.restore_options])
    log = os.path.join(subject.images("images"), "restore.log")
    waits = rf"Warn .*Waiting for pid {wanted}, .* taken by .*not waited for by process {parent}"
    subject.init.until(lambda: re.search(waits, processes.text(log) or "") or begun in subject.init.ended,
                       processes.PATIENCE, "the restore's warning")
    os.kill(parent, signal.SIGKILL)
    code = subject.init.wait(begun, processes.PATIENCE, "end of the restore").code
    if code != 0 or not re.search(waits, processes.text(log)):
        raise Failed(f"the restore ended with {code}, or didn't say that it waits, see {log}")
    subject.check()


def file_missing(subject, _task):
    """Requires a restore to name a missing file."""
    subject.dump(subject.ours, "images")
    path = os.path.join(subject.folder, "data")
    os.rename(path, path + ".away")
    require_failed_restore(subject, "images", r"cwd/data\b.*No such file")
    os.rename(path + ".away", path)
    subject.restore(subject.ours, "images")
    subject.check()


def file_changed(subject, _task):
    """Requires a restore to refuse a file with another size than at the dump."""
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
    """Requires a restore to name an image that is truncated or missing."""
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


def image_flipped(subject, _task):
    """Flips a bit in each image with checksums. criu verify and a restore must find it, and the restore must leave
    nothing."""
    subject.dump(subject.ours, "images", ["--checksum"])
    whole = subject.images("images")
    modes.require_verified(subject, "images")
    for name in sorted(name for name in os.listdir(whole) if name.endswith(".img")):
        path = os.path.join(whole, name)
        with open(path, "rb") as file:
            data = file.read()
        if not data:
            continue
        # A pages file may have unused pages in its middle, and zeroes of a hole are pages, too.
        places = {0, len(data) - 1} if name.startswith("pages-") else {0, 5, 9, len(data) // 2, len(data) - 1}
        for place in sorted(place for place in places if place < len(data)):
            with open(path, "r+b") as file:
                file.seek(place)
                file.write(bytes([data[place] ^ 0x10]))
            try:
                _require_damage_found(subject, name)
            except Failed as reason:
                raise Failed(f"byte {place} of {len(data)} of {name}: {reason}") from None
            with open(path, "wb") as file:
                file.write(data)
    modes.require_verified(subject, "images")
    subject.restore(subject.ours, "images")
    subject.check()


def _require_damage_found(subject, name):
    """Requires criu verify and a restore to name a damaged image."""
    run = subject.ours.run("verify", subject.images("images"), "verify.log")
    with open(run.log + ".output", encoding="utf-8", errors="replace") as file:
        said = file.read()
    if run.code != 1 or not re.search(rf"^Damaged: .*\b{re.escape(name)}", said, re.MULTILINE):
        raise Failed(f"criu verify: exit code {run.code}: {said}")
    require_failed_restore(subject, "images", re.escape(name))


def full_disk(subject, _task):
    """Requires a dump without disk space to fail with a message and to leave the tree unchanged."""
    images = subject.images("images")
    os.mkdir(images)
    mount = subject.init.start(["/bin/mount", "-t", "tmpfs", "-o", "size=512k", "none", images], "/", os.devnull)
    if subject.init.wait(mount, processes.PATIENCE).code != 0:
        raise Failed("mount -t tmpfs failed")
    # The log is in another directory, so the last message isn't lost.
    run = subject.ours.dump(subject.root, images, [*subject.dump_options, "-W", subject.work])
    run.log = os.path.join(subject.work, "dump.log")
    modes.require_refusal(subject, run, "No space left on device")
    subject.check()


def outer_session(subject, _task):
    """Requires a dump to refuse a tree of an external session, and to name the option that allows it."""
    child = max(subject.state)
    run = subject.ours.dump(child, subject.images("images"), subject.dump_options)
    modes.require_refusal(subject, run, rf"\b{child}\b.*session.*--shell-job")
    subject.check()


def refused_restore(subject, task):
    """Requires a restore to fail with a reason and to leave nothing. With the usual options it must work."""
    subject.dump(subject.ours, "images")
    usual = subject.restore_options
    subject.restore_options = [*usual, *task["refused_restore"]]
    require_failed_restore(subject, "images", task["refused_with"])
    subject.restore_options = usual
    subject.restore(subject.ours, "images")
    subject.check()


def restore_terminated(subject, task):
    """Requires a restore that gets SIGTERM to leave nothing, and a second restore to work."""
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
    """Kills the guardian of a dump. The working process must end as well, and must not complete the dump."""
    images = subject.images("images")
    pid = subject.ours.start("dump", images, "dump.log", ["-t", str(subject.root), *subject.dump_options,
                                                          "--leave-running"])
    pages = os.path.join(images, "pages-1.img")
    subject.init.until(lambda: os.path.exists(pages) or pid in subject.init.ended, processes.PATIENCE, "the dump of memory")
    if pid in subject.init.ended:
        raise Failed("the dump ended before it could be killed")
    os.kill(pid, signal.SIGKILL)
    subject.init.wait(pid, processes.PATIENCE, "criu dump after SIGKILL")
    subject.require_running("after SIGKILL")
    subject.require_unchanged("after SIGKILL", leftovers=True)
    if os.path.exists(os.path.join(images, "inventory.img")):
        raise Failed("the dump was completed though criu had been killed")
    subject.check()


def group_killed(subject, task):
    """Kills the process group of criu, as `timeout -s KILL` and a shell's `kill -9 %1` do. The tracer is in another
    group and must roll back. The moments include those when criu's injection runs in the tree."""
    images = subject.images("whole")
    whole = subject.ours.dump(subject.root, images, [*subject.dump_options, "--leave-running"])
    subject.require_success(whole)
    subject.require_unchanged("after dump --leave-running")
    whens = modes.moments(task["seed"], whole.seconds)
    for turn in range(12):
        images = subject.images(f"killed-{turn}")
        os.mkdir(images)
        argv = subject.ours.argv("dump", images, "dump.log",
                                 ["-t", str(subject.root), *subject.dump_options, "--leave-running"])
        pid = subject.init.start(argv, "/", os.path.join(images, "dump.log.output"), session=True)
        when = f"after SIGKILL of criu's process group at {1000 * (moment := next(whens)):.1f} ms"
        subject.init.until(lambda: os.path.exists(os.path.join(images, "dump.log")) or pid in subject.init.ended,
                           processes.PATIENCE, "the dump's log")
        deadline = time.monotonic() + moment
        while pid not in subject.init.ended and time.monotonic() < deadline:
            subject.init.pause(deadline - time.monotonic())
        if pid not in subject.init.ended:
            os.killpg(pid, signal.SIGKILL)
        code = subject.init.wait(pid, processes.PATIENCE, f"criu dump {when}").code
        subject.require_running(when)
        subject.require_unchanged(when, leftovers=True)
        complete = os.path.exists(os.path.join(images, "inventory.img"))
        begun = "Dumping process" in (processes.text(os.path.join(images, "dump.log")) or "")
        if code != 0 and begun and not complete and not criu_runs.error_lines(os.path.join(images, "dump.log")):
            raise Failed(f"{when} {images}/dump.log doesn't say that the dump was given up")
    subject.check()


def lock_gone(subject, _task):
    """Requires a restore to lock the network before it makes sockets, and to unlock it, also if it fails."""
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
    subject.init.until(lambda: network_locks(subject) or begun in subject.init.ended, processes.PATIENCE, "lock of the network")
    if begun in subject.init.ended:
        raise Failed("the restore did not lock the network")
    subject.echo.clients[0].send(b"x")
    code = subject.init.wait(begun, processes.PATIENCE, "end of the restore").code
    if code != 0:
        raise Failed(f"the restore ended with {code}")
    if network_locks(subject):
        raise Failed("the restore left the network locked")
    subject.check()


def network_locks(subject):
    """Returns the names of nftables tables that lock the test's connections. Other tests may have tables, too."""
    tables = run_nft("list", "tables")
    names = re.findall(r"table inet ((?:CRIU|criu-dump)-\S+)", tables)
    return [name for name in names if re.search(rf"\b{subject.echo.port}\b", run_nft("list", "table", "inet", name))]


def run_nft(*arguments):
    """Returns the output of nft; empty for a table that has just been removed."""
    return subprocess.run(["nft", *arguments], check=False, capture_output=True, text=True).stdout


def other_vdso(subject, _task):
    """Changes the vDSO of the images a little, twice. The program must work with it on this kernel."""
    for name in ("images-1", "images-2"):
        subject.dump(subject.ours, name)
        if not change_vdso(subject.images(name)):
            raise Failed(f"no vDSO was found in {name}")
        subject.restore(subject.ours, name)
    subject.check()


def packing_stopped(subject, _task):
    """Requires criu to pack no further after SIGTERM or SIGKILL during the packing of a large tmpfs."""
    subject.dump(subject.ours, "whole", ["--leave-running"])
    subject.require_unchanged("after dump --leave-running")
    whole = archive_size(subject.images("whole"))
    counted = 0
    for turn in range(12):
        number = signal.SIGTERM if turn % 2 == 0 else signal.SIGKILL
        images = subject.images(f"stopped-{turn}")
        options = ["-t", str(subject.root), *subject.dump_options, "--leave-running"]
        pid = subject.ours.start("dump", images, "dump.log", options)
        subject.init.until(lambda at=images, who=pid: archive_size(at) > 0 or who in subject.init.ended, processes.PATIENCE,
                           "an archive")
        packed = archive_size(images)
        if pid not in subject.init.ended:
            os.kill(pid, number)
        code = subject.init.wait(pid, processes.PATIENCE, f"criu dump after {number.name}").code
        when = f"after {number.name} when {packed} of {whole} bytes were packed"
        subject.require_running(when)
        if packed > whole // 2:
            continue  # the signal came late; another turn decides
        counted += 1
        if code == 0:
            raise Failed(f"{when} the dump went on to its end")
        if archive_size(images) >= whole:
            raise Failed(f"{when} the rest was packed as well")
        subject.require_unchanged(when, leftovers=number == signal.SIGKILL)
        if counted == 4:
            break
    if counted == 0:
        raise Failed("no signal came in time")
    subject.check()


def archive_size(images):
    """Returns the number of bytes that are packed so far."""
    if not os.path.isdir(images):
        return 0
    return sum(os.path.getsize(os.path.join(images, name)) for name in os.listdir(images)
               if name.startswith("tmpfs-dev-"))


def change_vdso(images):
    """Changes a letter of the vDSO's name in each pages file. Returns the number of changes."""
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


def planted(subject, task):
    """Another user plants a file or link in place of a dumped one. The restore must report it and must not touch files
    outside of the tree."""
    subject.dump(subject.ours, "images")
    _shell(subject, task["plant"])
    before = _outside(subject)
    require_failed_restore(subject, "images", task["refused_with"])
    _require_untouched(subject, before, "the restore")
    _shell(subject, task["unplant"])
    subject.restore(subject.ours, "images")
    subject.check()


def planted_images(subject, _task):
    """Plants names in the images directory. criu must replace them without writing to them. Only the owner may read
    images and logs, and no file of an earlier dump may stay. criu must not leave core files."""
    images = subject.images("images")
    secret = os.path.join(subject.work, "secret")
    script = os.path.join(subject.work, "script")
    os.mkdir(images)
    _write(secret, 0o600)
    os.symlink(secret, os.path.join(images, "pages-1.img"))
    os.link(secret, os.path.join(images, "pstree.img"))
    os.symlink(secret, os.path.join(images, "stats-dump"))
    for name in ("core-424242.img", "files.img", "dump.log"):
        _write(os.path.join(images, name), 0o666)
    before = _outside(subject)
    _write(script, 0o755, f"#!/bin/sh\ngrep 'Max core' /proc/$PPID/limits >> {subject.work}/core\n")
    subject.dump(subject.ours, "images", ["--action-script", script])
    _require_untouched(subject, before, "the dump")
    if "core-424242.img" in os.listdir(images):
        raise Failed("an image of an earlier dump is left")
    for name in sorted(os.listdir(images)):
        info = os.lstat(os.path.join(images, name))
        if not name.endswith(".output") and (stat.S_IFMT(info.st_mode), info.st_mode & 0o77) != (stat.S_IFREG, 0):
            raise Failed(f"{name} has mode {info.st_mode:o}")
    with open(os.path.join(subject.work, "core"), encoding="ascii") as file:
        if any(line.split()[4] != "1" for line in file):
            raise Failed("criu could leave a core file")
    subject.restore(subject.ours, "images")
    subject.check()


def other_link(subject, _task):
    """Requires criu to reject an image that names another file as the temporary link of the dump, and to keep that
    file."""
    subject.dump(subject.ours, "images")
    path = os.path.join(subject.images("images"), "files.img")
    with open(path, "rb") as file:
        data = file.read()
    name = re.search(rb"link_remap\.\d+", data).group(0)
    other = name[:-1] + (b"8" if name.endswith(b"9") else b"9")
    shutil.copytree(subject.images("images"), subject.images("changed"))
    with open(os.path.join(subject.images("changed"), "files.img"), "wb") as file:
        file.write(data.replace(name, other))
    theirs = os.path.join(subject.folder, other.decode())
    shutil.copy2(os.path.join(subject.folder, name.decode()), theirs)
    require_failed_restore(subject, "changed", "is no temporary link of a dump")
    os.unlink(theirs)
    subject.restore(subject.ours, "images")
    subject.check()


def devices_unseen(subject, _task):
    """Requires that no device node appears in a user's directory while criu creates a deleted one, not even for a
    moment."""
    subject.dump(subject.ours, "images")
    libc = ctypes.CDLL(None, use_errno=True)
    notify = libc.inotify_init1(os.O_NONBLOCK)
    create, moved_to = 0x100, 0x80
    if notify < 0 or libc.inotify_add_watch(notify, os.path.join(subject.folder, "mine").encode(),
                                            create | moved_to) < 0:
        raise Failed(f"inotify: {os.strerror(ctypes.get_errno())}")
    subject.restore(subject.ours, "images")
    try:
        raise Failed(f"there was a file for a moment: {os.read(notify, 4096)}")
    except BlockingIOError:
        pass
    finally:
        os.close(notify)
    subject.check()


def _write(path, mode, content="precious"):
    with open(path, "w", encoding="ascii") as file:
        file.write(content)
    os.chmod(path, mode)


def _require_untouched(subject, before, what):
    if (after := _outside(subject)) != before:
        raise Failed(f"{what} touched what isn't the tree's: {sorted(before.items() ^ after.items(), key=str)}")


def _shell(subject, command):
    subprocess.run(["/bin/sh", "-ec", command], cwd=subject.folder, check=True)


def _outside(subject):
    """Returns the state of all files that a restore must not touch."""
    found = {}
    for top in ("secret", os.path.join("cwd", "outside")):
        top = os.path.join(subject.work, top)
        paths = [top] if os.path.lexists(top) else []
        for base, folders, files in os.walk(top):
            paths += [os.path.join(base, name) for name in folders + files]
        for path in paths:
            info = os.lstat(path)
            content = None
            if stat.S_ISREG(info.st_mode):
                with open(path, "rb") as file:
                    content = file.read()
            found[path] = (info.st_mode, info.st_uid, info.st_gid, info.st_ino, info.st_mtime_ns, content)
    return found


# Runs as a user who plants links.
RACER = r"""
import os, stat
outside, theirs = os.path.abspath("outside/data"), "mine/data"
real = os.path.abspath("mine/real")
os.setgroups([]); os.setgid(1000); os.setuid(1000)
def attempt(call, *arguments):
    try:
        call(*arguments)
    except OSError:
        pass
turn = 0
while True:
    turn += 1
    for name in os.listdir("mine"):
        if ".ghost" in name or ".criu." in name or name in ("gone", "pipe"):
            attempt(os.rename, "mine/" + name, "mine/taken")
            attempt(os.symlink, outside, "mine/" + name)
    attempt(os.unlink, "mine/new")
    attempt(os.symlink, outside if turn % 2 else real, "mine/new")
    attempt(os.rename, "mine/new", theirs)
    attempt(os.rename, "mine/sub" if turn % 2 else "mine/sub.link", "mine/sub.away")
    attempt(os.rename, "mine/sub.link" if turn % 2 else "mine/sub.away", "mine/sub")
    attempt(os.rename, "mine/sub.away", "mine/sub.link")
"""


def raced(subject, _task):
    """A user exchanges files and directories for links all the time. The user must get no descriptor of a file that
    the user may not open. No other user's file may change content, mode, owner or name. The program has the user's
    folder `mine`."""
    subject.dump(subject.ours, "images")
    outside = os.path.join(subject.folder, "outside")
    mine = os.path.join(subject.folder, "mine")
    subprocess.run(["cp", "-a", mine, mine + ".whole"], check=True)
    os.mkdir(outside, 0o700)
    size = os.path.getsize(os.path.join(mine, "data"))
    mode = stat.S_IMODE(os.stat(os.path.join(mine, "data")).st_mode)
    for name in ("data", "inner"):
        _write(os.path.join(outside, name), 0o600)
        os.truncate(os.path.join(outside, name), size)
        os.chmod(os.path.join(outside, name), mode)
    os.rename(os.path.join(mine, "data"), os.path.join(mine, "real"))
    os.symlink(outside, os.path.join(mine, "sub.link"))
    before = _outside(subject)
    secrets = {(os.stat(path).st_dev, os.stat(path).st_ino) for path in before}
    racer = subject.init.start([sys.executable, "-c", RACER], subject.folder, os.path.join(subject.work, "racer.log"))
    for turn in range(20):
        run = subject.try_restore(subject.ours, subject.images("images"))
        if run.code < 0:
            raise Failed(run.describe())
        if run.code == 0:
            for pid in processes.tree(subject.root):
                _require_no_secret(pid, secrets)
        for pid in processes.pids()[1:]:
            if pid != racer:
                os.kill(pid, signal.SIGKILL)
        subject.require_nothing_left(f"turn {turn}", {racer})
        subject.await_free_ids()
        _require_untouched(subject, before, f"turn {turn}")
    os.kill(racer, signal.SIGKILL)
    subject.init.wait(racer, processes.PATIENCE)
    shutil.rmtree(mine)
    shutil.rmtree(outside)
    os.rename(mine + ".whole", mine)
    subject.restore(subject.ours, "images")
    subject.check()


def _require_no_secret(pid, secrets):
    paths = [f"/proc/{pid}/{name}" for name in ("cwd", "root", "exe")]
    paths += [f"/proc/{pid}/fd/{name}" for name in os.listdir(f"/proc/{pid}/fd")]
    for path in paths:
        info = os.stat(path)
        if (info.st_dev, info.st_ino) in secrets:
            raise Failed(f"{path} is {os.readlink(path)}")


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


def dumped_inside(subject, _task):
    """criu is in the pid namespace whose init it dumps. The kernel ignores SIGKILL from inside, but the namespace ends
    with criu, with the exit status of a success. --new-pidns restores the init as the init of a new namespace."""
    images = subject.images("images")
    os.mkdir(images)
    options = ["-t", "1", "-o", "dump.log", *subject.dump_options]
    inside = subject.init.start(["/usr/bin/nsenter", "-t", str(subject.root), "-p", "-m", *subject.ours.argv(
        "dump", images, "dump.log", options)], subject.folder, os.path.join(subject.work, "inside.log"))
    code = subject.init.wait(inside, processes.PATIENCE, "the dump inside").code
    if code != 0:
        raise Failed(f"the dump ended with {code}, see {images}/dump.log")
    subject.require_dumped()

    subject.restore_options = [*subject.restore_options, "--new-pidns"]
    subject.require_success(subject.try_restore(subject.ours, images))
    subject.check()


SCENARIOS = [
    modes.Mode("pid-taken", pid_taken, scenario=True, beyond_42=True),
    modes.Mode("pid-ending", pid_ending, scenario=True, beyond_42=True),
    modes.Mode("file-missing", file_missing, scenario=True),
    modes.Mode("file-changed", file_changed, scenario=True),
    modes.Mode("image-damaged", image_damaged, scenario=True, beyond_42=True),
    modes.Mode("image-flipped", image_flipped, scenario=True, beyond_42=True),
    modes.Mode("full-disk", full_disk, scenario=True),
    modes.Mode("outer-session", outer_session, scenario=True),
    modes.Mode("guardian-killed", guardian_killed, scenario=True, beyond_42=True),
    modes.Mode("group-killed", group_killed, scenario=True, beyond_42=True),
    modes.Mode("lock-gone", lock_gone, scenario=True, beyond_42=True),
    modes.Mode("other-vdso", other_vdso, scenario=True, beyond_42=True),
    modes.Mode("refused-restore", refused_restore, scenario=True),
    modes.Mode("planted", planted, scenario=True, beyond_42=True),
    modes.Mode("planted-images", planted_images, scenario=True, beyond_42=True),
    modes.Mode("other-link", other_link, scenario=True, beyond_42=True),
    modes.Mode("devices-unseen", devices_unseen, scenario=True, beyond_42=True),
    modes.Mode("dumped-inside", dumped_inside, scenario=True),
    modes.Mode("raced", raced, scenario=True, beyond_42=True),
    modes.Mode("packing-stopped", packing_stopped, scenario=True, beyond_42=True),
    modes.Mode("restore-terminated", restore_terminated, scenario=True),
]
