# SPDX-License-Identifier: GPL-2.0-only
"""Modes: how a test program is dumped and restored. A mode is a function that gets the Subject after its start."""

import errno
import os
import random
import re
import signal
import time

from harness import criu as criu_runs, fullstate, processes
import increments
from subject import Failed


class Mode:
    """A mode: its name and function.

    scenario: programs have to ask for it. exchange: it needs another criu. beyond_42: CRIU 4.2 fails it. of_memory: it
    tests how memory is stored, so other programs run in it only if it is named. like: programs that exclude this other mode
    exclude the mode, too.
    """

    def __init__(self, name, run, scenario=False, exchange=False, beyond_42=False, of_memory=False, like=None):
        self.name = name
        self.run = run
        self.scenario = scenario
        self.exchange = exchange
        self.beyond_42 = beyond_42
        self.of_memory = of_memory
        self.like = like


def once(subject, _task):
    """Dumps, restores, checks."""
    subject.dump(subject.ours, "images")
    subject.restore(subject.ours, "images")
    subject.check()


def everything(subject, _task):
    """Dumps, restores, and compares everything that the kernel shows of the tree."""
    before = fullstate.picture(subject.root, subject.probe)
    # The probe stops processes, as a dump does.
    subject.require_unchanged("after a look at everything")
    subject.dump(subject.ours, "images")
    subject.restore(subject.ours, "images")
    subject.require_everything(before)
    subject.check()


def five(subject, _task):
    """Dumps and restores five times."""
    for turn in range(1, 6):
        subject.dump(subject.ours, f"images-{turn}")
        subject.restore(subject.ours, f"images-{turn}")
    subject.check()


def increments_mode(subject, _task):
    """Restores pages that are in parent images and in parents of these."""
    subject.dump(subject.ours, "images")
    increments.split(subject.images("images"))
    subject.restore(subject.ours, "images")
    subject.check()


def pre_dump(subject, _task):
    """Does two pre-dumps and a dump, each incremental to the one before, and restores the chain."""
    previous = []
    for turn in (1, 2):
        run = subject.ours.run("pre-dump", subject.images(f"pre-{turn}"), "pre-dump.log",
                               ["-t", str(subject.root), *previous])
        subject.require_success(run)
        subject.require_running(f"after pre-dump {turn}")
        previous = ["--prev-images-dir", f"../pre-{turn}"]
        subject.init.pause(0.05)
    subject.dump(subject.ours, "images", ["--track-mem", *previous])
    with open(run.log, encoding="utf-8") as log:
        if "isn't tracked" not in log.read() and not increments.relies_on_parent(subject.images("images")):
            raise Failed("the dump has all pages itself")
    subject.restore(subject.ours, "images")
    subject.check()


def data_of(path):
    """Returns the bytes of a file outside of holes. st_blocks can be larger: it includes ext4's extent blocks."""
    data = at = 0
    with open(path, "rb", buffering=0) as file:
        end = os.fstat(file.fileno()).st_size
        while at < end:
            try:
                start = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
                break  # only a hole up to the end
            at = os.lseek(file.fileno(), start, os.SEEK_HOLE)
            data += at - start
    return data


def taken(*folders):
    """Returns the bytes of all pages files of image directories."""
    return sum(data_of(os.path.join(folder, file))
               for folder in folders for file in os.listdir(folder) if file.startswith("pages-"))


def dedup(subject, _task):
    """Requires dedup to punch holes for pages that later images have, and a restore to do so for all restored pages."""
    chain = [subject.images("pre-1"), subject.images("pre-2"), subject.images("images")]
    for folder, options in ((chain[0], []), (chain[1], ["--prev-images-dir", "../pre-1", "--auto-dedup"])):
        before = taken(chain[0]) if options else 0
        run = subject.ours.run("pre-dump", folder, "pre-dump.log",
                               ["-t", str(subject.root), "--checksum", *options])
        subject.require_success(run)
        subject.init.pause(0.05)
    if taken(chain[0]) >= before > 0 and taken(chain[1]) > 0:
        raise Failed("the second pre-dump has freed nothing in the first one")
    subject.dump(subject.ours, "images", ["--track-mem", "--prev-images-dir", "../pre-2", "--checksum"])
    before = taken(*chain[:2])
    subject.require_success(subject.ours.run("dedup", chain[2], "dedup.log"))
    if taken(*chain[:2]) >= before > 0:
        raise Failed("dedup has freed nothing")
    require_verified(subject, "images")  # no freed page is needed
    before = taken(*chain)
    subject.restore_options = [*subject.restore_options, "--auto-dedup"]
    subject.restore(subject.ours, "images")
    if taken(*chain) >= before:
        raise Failed("the restore has freed nothing")
    subject.check()


def striped(subject, _task):
    """Stores memory in several pages files: of a dump, and of a chain of dumps."""
    subject.dump(subject.ours, "images", ["--pages-files", "3"])
    subject.restore(subject.ours, "images")
    previous = []
    for turn in (1, 2):
        run = subject.ours.run("pre-dump", subject.images(f"pre-{turn}"), "pre-dump.log",
                               ["-t", str(subject.root), "--checksum", "--pages-files", "3", *previous])
        subject.require_success(run)
        previous = ["--prev-images-dir", f"../pre-{turn}"]
        subject.init.pause(0.05)
    subject.dump(subject.ours, "chain", ["--track-mem", "--checksum", "--pages-files", "2", *previous])
    require_verified(subject, "pre-1", "pre-2", "chain")
    subject.restore(subject.ours, "chain")
    subject.check()


def compressed(subject, _task):
    """Compresses memory by both codecs, in blocks of one page and of many."""
    for options in (["--compress", "--compress-block-size", "4K"], ["--compress=zstd", "--compress-level", "3"]):
        subject.dump(subject.ours, "images", options)
        subject.restore(subject.ours, "images")
    subject.check()


def require_verified(subject, *names):
    """Requires criu verify to accept directories."""
    for name in names:
        run = subject.ours.run("verify", subject.images(name), "verify.log")
        if run.code != 0:
            with open(run.log + ".output", encoding="utf-8", errors="replace") as said:
                raise Failed(f"{run.describe()}: {said.read()}")


def checksummed(subject, _task):
    """Requires checksums of memory in all storage forms, and of a chain."""
    for name, options in (("plain", []), ("striped", ["--pages-files", "3"]), ("packed", ["--compress"])):
        subject.dump(subject.ours, name, ["--checksum", *options])
        require_verified(subject, name)
        subject.restore(subject.ours, name)
    run = subject.ours.run("pre-dump", subject.images("pre"), "pre-dump.log", ["-t", str(subject.root), "--checksum"])
    subject.require_success(run)
    subject.dump(subject.ours, "chain", ["--checksum", "--track-mem", "--prev-images-dir", "../pre"])
    require_verified(subject, "pre", "chain")
    subject.restore(subject.ours, "chain")
    subject.check()


def page_server(subject, _task):
    """Sends the pages of a pre-dump and of a dump to a page server with a directory of its own."""
    previous = []
    for turn, action in enumerate(("pre-dump", "dump")):
        stored = subject.images(f"stored-{turn}")
        pid_file = os.path.join(stored, "server.pid")
        run = subject.ours.run("page-server", stored, "server.log",
                               ["--address", "127.0.0.1", "--daemon", "--pidfile", pid_file, "--checksum", *previous])
        subject.require_success(run)
        with open(run.log, encoding="utf-8") as log:
            port = re.search(r"listens at port (\d+)", log.read()).group(1)
        remote = ["--page-server", "--address", "127.0.0.1", "--port", port, "--checksum"]
        name = f"images-{turn}"
        if action == "pre-dump":
            subject.require_success(subject.ours.run("pre-dump", subject.images(name), "pre-dump.log",
                                                     ["-t", str(subject.root), *remote]))
        else:
            subject.dump(subject.ours, name, ["--track-mem", "--prev-images-dir", "../images-0", *remote])
        with open(pid_file, encoding="ascii") as file:
            server = int(file.read())
        subject.init.until(lambda pid=server: pid not in processes.pids(), processes.PATIENCE, "end of the page server")
        previous = ["--prev-images-dir", f"../stored-{turn}"]
    for file in os.listdir(subject.images("images-1")):
        if file.endswith(".img"):
            if file.startswith("pages"):
                raise Failed(f"the sender has {file} itself")
            os.rename(os.path.join(subject.images("images-1"), file), os.path.join(stored, file))
    require_verified(subject, "stored-1")
    subject.restore(subject.ours, "stored-1")
    subject.check()


def leave_running(subject, _task):
    """Leaves the original running. A copy must be restorable after the original's end."""
    size = os.path.getsize(subject.output)
    subject.dump(subject.ours, "images", ["--leave-running"])
    subject.require_unchanged("after dump --leave-running")
    subject.check()
    # The check may have changed files that images only refer to.
    if subject.folder_unchanged():
        subject.await_free_ids()
        subject.forget_output(size)
        subject.restore(subject.ours, "images")
        subject.check()


def terminated(subject, task):
    """Sends SIGTERM or SIGINT to a dump. It must fail and leave the tree unchanged."""
    for turn, run in enumerate(interrupted_dumps(subject, task, [signal.SIGTERM, signal.SIGINT], [])):
        if run.code == 0:
            # The signal came after the dump was complete.
            subject.init.wait(subject.root, processes.PATIENCE, f"{run.when}: end of the dumped root task")
            subject.run_between()
            subject.require_success(subject.try_restore(subject.ours, run.images))
            subject.require_unchanged(f"turn {turn}: after the restore")
            continue
        if os.path.exists(os.path.join(run.images, "inventory.img")):
            raise Failed(f"{run.when}: inventory.img exists though the dump failed ({run.images})")
        subject.require_running(run.when)
        subject.require_unchanged(run.when)
    subject.check()


def killed(subject, task):
    """Kills criu dump. The tree must continue; its mappings and link-remap files may be left."""
    # SIGKILL can come between the ends of two tasks, so criu must not end any task.
    for run in interrupted_dumps(subject, task, [signal.SIGKILL], ["--leave-running"]):
        subject.require_running(run.when)
        subject.require_unchanged(run.when, leftovers=True)
    subject.check()


class Interrupted:
    """A dump that got a signal."""

    def __init__(self, images, when, code):
        self.images = images
        self.when = when
        self.code = code


def interrupted_dumps(subject, task, signals, options, turns=6):
    """Yields dumps that get a signal at random moments of a dump's duration."""
    options = ["-t", str(subject.root), *subject.dump_options, *options]
    whole = subject.ours.dump(subject.root, subject.images("whole"), [*subject.dump_options, "--leave-running"])
    subject.require_success(whole)
    subject.require_unchanged("after dump --leave-running")
    whens = moments(task["seed"], whole.seconds)
    for turn in range(turns):
        number = signals[turn % len(signals)]
        images = subject.images(f"ended-{turn}")
        moment, code = interrupt(subject, "dump", images, options, next(whens), number)
        when = f"after {number.name} at {moment * 1000:.1f} of {whole.seconds * 1000:.1f} ms of dump"
        yield Interrupted(images, when, code)


def moments(seed, seconds):
    """Returns random moments of a duration, the same ones for each seed."""
    source = random.Random(seed)
    while True:
        yield source.uniform(0, seconds)


def interrupt(subject, action, images, options, moment, number):
    """Sends criu a signal after some seconds. Returns the moment, and the exit code or the negative signal."""
    pid = subject.ours.start(action, images, f"{action}.log", options)
    deadline = time.monotonic() + moment
    while pid not in subject.init.ended and time.monotonic() < deadline:
        subject.init.pause(deadline - time.monotonic())
    if pid not in subject.init.ended:
        os.kill(pid, number)
    code = subject.init.wait(pid, processes.PATIENCE, f"criu {action} after {number.name}").code
    if code < 0 and code != -number:
        raise Failed(f"criu {action} ended by signal {-code} after {number.name}")
    return moment, code


def to_other(subject, _task):
    """Lets the other criu restore our images."""
    subject.dump(subject.ours, "images", ["--compat", "4.2", "--checksum"])
    subject.restore(subject.other, "images")
    subject.check()


def from_other(subject, _task):
    """Restores images of the other criu."""
    subject.dump(subject.other, "images")
    subject.restore(subject.ours, "images")
    subject.check()


def dry(subject):
    """Makes a dry run of a dump. Requires that it leaves the tree unchanged and no image. Returns exit status and output."""
    images = subject.images("dry")
    run = subject.ours.dump(subject.root, images, [*subject.dump_options, "--dry-run"])
    with open(run.log + ".output", encoding="utf-8", errors="replace") as file:
        said = file.read()
    left = [name for name in os.listdir(images) if not name.startswith("dump.log")]
    if left:
        raise Failed(f"the dry run has left {left} in {images}")
    subject.require_running("after a dry run")
    subject.require_unchanged("after a dry run")
    return run.code, said


def dry_run(subject, _task):
    """Makes two dry runs, which must refuse nothing, and then a dump."""
    for _ in range(2):
        code, said = dry(subject)
        if code != 0 or "Refused:" in said:
            raise Failed(f"a dry run has ended with {code}: {said}")
        if subject.warns and not re.search(f"(?m)^Warning: .*(?:{subject.warns})", said):
            raise Failed(f"no warning of {subject.warns!r} in: {said}")
    subject.dump(subject.ours, "images")
    subject.restore(subject.ours, "images")
    subject.check()


def refused(subject, task):
    """Requires a dump to fail with the expected Error line and to leave the tree unchanged. A dry run tells the same."""
    code, said = dry(subject)
    if code != 1 or not any(re.search(task["refused"], line) for line in said.splitlines()
                            if line.startswith(("Refused:", "Error:"))):
        raise Failed(f"no refusal of a dry run matches /{task['refused']}/: it has ended with {code}: {said}")
    run = subject.ours.dump(subject.root, subject.images("images"), subject.dump_options)
    require_refusal(subject, run, task["refused"])
    subject.check()


def require_refusal(subject, run, pattern):
    """Requires a failed dump: exit code, Error line, no inventory, unchanged tree."""
    if run.code == 0:
        raise Failed("criu dump succeeded")
    if run.code < 0:
        raise Failed(run.describe())
    lines = criu_runs.error_lines(run.log)
    if not any(re.search(pattern, line) for line in lines):
        raise Failed(f"no Error line matches /{pattern}/: {run.describe()}")
    if os.path.exists(subject.images("images/inventory.img")):
        raise Failed("inventory.img exists though the dump failed")
    subject.require_running("after the refused dump")
    subject.require_unchanged("after the refused dump")


MODES = [
    Mode("once", once),
    Mode("everything", everything),
    Mode("five", five),
    Mode("increments", increments_mode),
    Mode("pre-dump", pre_dump),
    Mode("dedup", dedup, beyond_42=True, of_memory=True),
    Mode("page-server", page_server, beyond_42=True),
    Mode("striped", striped, beyond_42=True, of_memory=True),
    Mode("compressed", compressed, beyond_42=True, of_memory=True),
    Mode("checksummed", checksummed, beyond_42=True, of_memory=True),
    Mode("leave-running", leave_running),
    Mode("dry-run", dry_run, beyond_42=True),
    Mode("terminated", terminated, beyond_42=True),
    Mode("killed", killed, beyond_42=True),
    Mode("to-other", to_other, exchange=True),
    Mode("from-other", from_other, exchange=True),
    Mode("refused", refused, scenario=True),
]
