# SPDX-License-Identifier: GPL-2.0-only
"""The ways a test program is dumped and restored. Each mode is a function that gets the Subject, already started."""

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
    """One mode: its name and function.

    scenario: programs have to ask for it; exchange: it needs another criu; beyond_42: CRIU 4.2 fails it; of_memory: it is
    about how memory is stored, so programs that are about something else run in it only when it is asked for by name.
    """

    def __init__(self, name, run, scenario=False, exchange=False, beyond_42=False, of_memory=False):
        self.name = name
        self.run = run
        self.scenario = scenario
        self.exchange = exchange
        self.beyond_42 = beyond_42
        self.of_memory = of_memory


def once(subject, _task):
    """Dump, restore, check."""
    subject.dump(subject.ours, "images")
    subject.restore(subject.ours, "images")
    subject.check()


def everything(subject, _task):
    """Dump, restore, and compare everything that the kernel shows of the tree."""
    before = fullstate.picture(subject.root, subject.probe)
    # The probe stops processes, as a dump does.
    subject.require_unchanged("after a look at everything")
    subject.dump(subject.ours, "images")
    subject.restore(subject.ours, "images")
    subject.require_everything(before)
    subject.check()


def five(subject, _task):
    """A restored tree can be dumped again."""
    for turn in range(1, 6):
        subject.dump(subject.ours, f"images-{turn}")
        subject.restore(subject.ours, f"images-{turn}")
    subject.check()


def increments_mode(subject, _task):
    """Pages that are in parents of the images, and in theirs."""
    subject.dump(subject.ours, "images")
    increments.split(subject.images("images"))
    subject.restore(subject.ours, "images")
    subject.check()


def pre_dump(subject, _task):
    """Two pre-dumps of the running tree, then a dump, each without what the one before has, and a restore from all."""
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
    """Bytes of a file beside its holes. Its blocks tell more at times: those in which ext4 keeps where many holes are."""
    data = at = 0
    with open(path, "rb", buffering=0) as file:
        end = os.fstat(file.fileno()).st_size
        while at < end:
            try:
                start = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
                break  # nothing but a hole up to the end
            at = os.lseek(file.fileno(), start, os.SEEK_HOLE)
            data += at - start
    return data


def taken(*folders):
    """Bytes that the pages files of image directories have."""
    return sum(data_of(os.path.join(folder, file))
               for folder in folders for file in os.listdir(folder) if file.startswith("pages-"))


def dedup(subject, _task):
    """Earlier images lose what later ones have, and all of them what has been restored."""
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
    require_verified(subject, "images")  # what was freed isn't needed
    before = taken(*chain)
    subject.restore_options = [*subject.restore_options, "--auto-dedup"]
    subject.restore(subject.ours, "images")
    if taken(*chain) >= before:
        raise Failed("the restore has freed nothing")
    subject.check()


def striped(subject, _task):
    """Memory spread over several pages files."""
    subject.dump(subject.ours, "images", ["--pages-files", "3"])
    subject.restore(subject.ours, "images")
    subject.check()


def compressed(subject, _task):
    """Memory compressed in both ways, in blocks of one page and of many."""
    for options in (["--compress", "--compress-block-size", "4K"], ["--compress=zstd", "--compress-level", "3"]):
        subject.dump(subject.ours, "images", options)
        subject.restore(subject.ours, "images")
    subject.check()


def require_verified(subject, *names):
    """Requires criu verify to find directories as they were written."""
    for name in names:
        run = subject.ours.run("verify", subject.images(name), "verify.log")
        if run.code != 0:
            with open(run.log + ".output", encoding="utf-8", errors="replace") as said:
                raise Failed(f"{run.describe()}: {said.read()}")


def checksummed(subject, _task):
    """Checksums of memory in all forms that it is stored in, and of a chain."""
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
    """A pre-dump and a dump whose pages go to a page server, which has a directory of its own."""
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
    """The original goes on; the copy can come to life after the original's end."""
    size = os.path.getsize(subject.output)
    subject.dump(subject.ours, "images", ["--leave-running"])
    subject.require_unchanged("after dump --leave-running")
    subject.check()
    # The check may have changed files that the images only refer to.
    if subject.folder_unchanged():
        subject.await_free_ids()
        subject.forget_output(size)
        subject.restore(subject.ours, "images")
        subject.check()


def terminated(subject, task):
    """A dump that is asked to end (SIGTERM, SIGINT) fails, and leaves the tree as if nothing had happened."""
    for turn, run in enumerate(interrupted_dumps(subject, task, [signal.SIGTERM, signal.SIGINT], [])):
        if run.code == 0:
            # Too late: the dump was complete.
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
    """Where criu dump dies of SIGKILL, the tree goes on; its mappings and link-remap files may be left."""
    # SIGKILL can strike between the ends of two tasks, so criu must not end any.
    for run in interrupted_dumps(subject, task, [signal.SIGKILL], ["--leave-running"]):
        subject.require_running(run.when)
        subject.require_unchanged(run.when, leftovers=True)
    subject.check()


class Interrupted:
    """A dump that was sent a signal."""

    def __init__(self, images, when, code):
        self.images = images
        self.when = when
        self.code = code


def interrupted_dumps(subject, task, signals, options, turns=6):
    """Yields dumps that were sent a signal at random moments of the time a whole dump takes."""
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
    """Random moments of a duration, always the same for a seed."""
    source = random.Random(seed)
    while True:
        yield source.uniform(0, seconds)


def interrupt(subject, action, images, options, moment, number):
    """Sends criu a signal after some seconds; returns them and how criu ended (its code, or minus the signal)."""
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
    """The other criu restores our images."""
    subject.dump(subject.ours, "images", ["--compat", "4.2", "--checksum"])
    subject.restore(subject.other, "images")
    subject.check()


def from_other(subject, _task):
    """We restore the other criu's images."""
    subject.dump(subject.other, "images")
    subject.restore(subject.ours, "images")
    subject.check()


def refused(subject, task):
    """A dump that can't be done says what is in the way, and leaves the tree alone."""
    run = subject.ours.dump(subject.root, subject.images("images"), subject.dump_options)
    require_refusal(subject, run, task["refused"])
    subject.check()


def require_refusal(subject, run, pattern):
    """Requires a failed dump: exit code, Error line, no inventory, tree as before."""
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
    Mode("terminated", terminated, beyond_42=True),
    Mode("killed", killed, beyond_42=True),
    Mode("to-other", to_other, exchange=True),
    Mode("from-other", from_other, exchange=True),
    Mode("refused", refused, scenario=True),
]
