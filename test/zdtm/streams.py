# SPDX-License-Identifier: GPL-2.0-only
"""Dumps and restores with images in a stream."""

import os
import re
import shutil
import signal
import threading

from harness import processes, streamer
from subject import Failed, Skipped
import modes


def images_in(folder):
    """Returns the names of images in a folder."""
    return [name for name in os.listdir(folder) if name.endswith(".img")]


def require_no_images(folder):
    """Requires the images directory to have no image of a stream."""
    if left := images_in(folder):
        raise Failed(f"images are in {folder}: {left}")


def content(path):
    """Returns the bytes of a file."""
    with open(path, "rb") as file:
        return file.read()


def restore_from(subject, name, stream, more=()):
    """Restores from a stream. Returns the run of criu."""
    before = subject.restore_options
    subject.restore_options = [*before, "--stream-from", stream, *more]
    try:
        return subject.try_restore(subject.ours, subject.images(name))
    finally:
        subject.restore_options = before


def stream(subject, _task):
    """Writes one stream of all images, plain and compressed. Unpacked and packed again it must be an ordinary
    checkpoint."""
    folder = subject.images("images")
    path = subject.images("checkpoint.stream")
    for options in ([], ["--compress=lz4"]):
        subject.dump(subject.ours, "images", ["--stream-to", path, *options])
        require_no_images(folder)
        subject.require_success(restore_from(subject, "images", path))
        subject.require_unchanged("after the restore from a stream")
        require_no_images(folder)
    subject.dump(subject.ours, "images", ["--stream-to", path])
    unpacked = subject.images("unpacked")
    subject.require_success(subject.ours.run("stream", unpacked, "unpack.log", ["unpack", "--stream-from", path]))
    subject.require_success(subject.ours.run("stream", unpacked, "pack.log", ["pack", "--stream-to", path + ".again"]))
    again = subject.images("again")
    subject.require_success(subject.ours.run("stream", again, "unpack.log", ["unpack", "--stream-from", path + ".again"]))
    if sorted(images_in(again)) != sorted(images_in(unpacked)) or not all(
            content(os.path.join(again, name)) == content(os.path.join(unpacked, name)) for name in images_in(again)):
        raise Failed("unpacked and packed again, the images differ")
    subject.restore(subject.ours, "again")
    subject.check()


def image_streamer(subject, _task):
    """Uses the protocol of criu-image-streamer for a dump and a restore."""
    folder = subject.images("images")
    taking = streamer.Streamer(folder, streamer.CAPTURE)
    subject.dump(subject.ours, "images", ["--stream"])
    files = taking.wait()
    require_no_images(folder)
    if "inventory.img" not in files or taking.asked[-1] != "inventory.img" or len(set(taking.asked)) != len(taking.asked):
        raise Failed(f"the streamer was asked to take {taking.asked}")
    serving = streamer.Streamer(folder, streamer.SERVE, files)
    subject.restore_options = [*subject.restore_options, "--stream"]
    subject.restore(subject.ours, "images")
    serving.wait()
    require_no_images(folder)
    subject.check()


def other_streamer(subject, _task, dumper, restorer):
    """Exchanges a --stream between one criu and another."""
    folder = subject.images("images")
    taking = streamer.Streamer(folder, streamer.CAPTURE)
    subject.dump(dumper, "images", ["--stream"] + (["--compat", "4.2"] if dumper is subject.ours else []))
    serving = streamer.Streamer(folder, streamer.SERVE, taking.wait())
    subject.restore_options = [*subject.restore_options, "--stream"]
    subject.restore(restorer, "images")
    serving.wait()
    subject.check()


def stream_damaged(subject, task):
    """Requires a restore to refuse a truncated or changed stream with the offset, and to leave nothing."""
    path = subject.images("checkpoint.stream")
    subject.dump(subject.ours, "images", ["--stream-to", path])
    whole = content(path)
    places = [4, 20, 31, 40, 79, 90, len(whole) // 3, len(whole) // 2, len(whole) - 60, len(whole) - 1]
    bad = subject.images("bad.stream")
    for kind in ("cut", "changed"):
        for place in places:
            damaged = bytearray(whole[:place] if kind == "cut" else whole)
            if kind == "changed":
                damaged[place] ^= 1 << (task["seed"] + place) % 8
            with open(bad, "wb") as file:
                file.write(damaged)
            run = restore_from(subject, "images", bad)
            expected = r"isn't a stream|ends too early, at offset \d+|is damaged at offset \d+"
            if run.code != 1 or not any(re.search(expected, line) for line in modes.criu_runs.error_lines(run.log)):
                raise Failed(f"{kind} at {place} of {len(whole)}: {run.describe()}")
            subject.require_nothing_left(f"{kind} at {place}")
    with open(bad, "wb") as file:
        file.write(whole[:len(whole) - 48] + whole[32:])
    if restore_from(subject, "images", bad).code != 1:
        raise Failed("a stream with records that are there twice was restored")
    run = restore_from(subject, "images", path, ["--stream-memory", "64K"])
    if run.code != 1 or "--stream-memory" not in str(modes.criu_runs.error_lines(run.log)):
        raise Failed(f"more than --stream-memory was taken: {run.describe()}")
    subject.require_success(restore_from(subject, "images", path))
    subject.check()


class Reader:
    """Reader of a fifo that criu writes a stream to. It reads some bytes, and then closes the fifo or stops reading."""

    def __init__(self, path, size, closes):
        os.path.exists(path) and os.unlink(path)
        os.mkfifo(path)
        self.path = path
        self.released = threading.Event()
        self.thread = threading.Thread(target=self._run, args=(size, closes), daemon=True)
        self.thread.start()

    def _run(self, size, closes):
        with open(self.path, "rb", buffering=0) as file:
            while size > 0 and (piece := file.read(min(size, 1 << 16))):
                size -= len(piece)
            if not closes:
                self.released.wait()

    def close(self):
        """Stops reading."""
        self.released.set()
        self.thread.join(10)


def require_no_stream(subject, run, pattern):
    """Requires a dump to fail and to leave the tree unchanged."""
    modes.require_refusal(subject, run, pattern)
    require_no_images(subject.images("images"))


def stream_peers(subject, _task):
    """The peer of a stream, or an image streamer, vanishes or hangs. The dump must fail and the tree continue; the
    restore must leave nothing. Each must end at once, after --timeout, or on SIGTERM."""
    fifo = subject.images("fifo")
    for size in (0, 20, 100_000):
        reader = Reader(fifo, size, closes=True)
        run = subject.ours.dump(subject.root, subject.images("images"), [*subject.dump_options, "--stream-to", fifo])
        reader.close()
        require_no_stream(subject, run, "Broken pipe")
    deaf = Reader(fifo, 100_000, closes=False)
    run = subject.ours.dump(subject.root, subject.images("images"),
                            [*subject.dump_options, "--stream-to", fifo, "--timeout", "2"])
    require_no_stream(subject, run, "takes nothing for 2 s")
    pid = subject.ours.start("dump", subject.images("images"), "stopped.log",
                             ["-t", str(subject.root), *subject.dump_options, "--stream-to", fifo, "--timeout", "0"])
    subject.init.pause(1.5)
    os.kill(pid, signal.SIGTERM)
    subject.init.wait(pid, processes.PATIENCE, "criu dump after SIGTERM, with a deaf reader")
    deaf.close()
    subject.require_running("a deaf reader")
    subject.require_unchanged("a deaf reader")
    for how in ({"dies_after": 0}, {"dies_after": 200_000}, {"deaf_after": 200_000}):
        taking = streamer.Streamer(subject.images("images"), streamer.CAPTURE, **how)
        run = subject.ours.dump(subject.root, subject.images("images"),
                                [*subject.dump_options, "--stream", "--timeout", "2"])
        taking.close()
        require_no_stream(subject, run, "Broken pipe|streamer")
    run = subject.ours.dump(subject.root, subject.images("images"), [*subject.dump_options, "--stream"])
    require_no_stream(subject, run, "criu-image-streamer has to be started|connect to the image streamer")
    dead_sources(subject, fifo)


def dead_sources(subject, fifo):
    """Does the same for restores."""
    taking = streamer.Streamer(subject.images("images"), streamer.CAPTURE)
    path = subject.images("checkpoint.stream")
    subject.dump(subject.ours, "images", ["--stream", "--leave-running"])
    files = taking.wait()
    subject.dump(subject.ours, "images", ["--stream-to", path])
    serving = streamer.Streamer(subject.images("images"), streamer.SERVE, dict(files), dies_after=100_000)
    run = subject.ours.restore(subject.images("images"), [*subject.restore_options, "--stream", "--timeout", "2"])
    serving.close()
    if run.code != 1:
        raise Failed(f"a streamer that dies: {run.describe()}")
    subject.require_nothing_left("after a streamer has died")
    os.path.exists(fifo) and os.unlink(fifo)
    os.mkfifo(fifo)
    for options, seconds in ((["--timeout", "2"], 0), (["--timeout", "0"], 2)):
        pid = subject.ours.start("restore", subject.images("images"), "silent.log",
                                 [*subject.restore_options, "-d", "--stream-from", fifo, *options])
        with open(fifo, "wb", buffering=0) as file:
            file.write(content(path)[:1000])
            if seconds:
                subject.init.pause(seconds)
                os.kill(pid, signal.SIGTERM)
            subject.init.wait(pid, processes.PATIENCE, f"criu restore {options} from a silent writer")
        subject.require_nothing_left(f"after a silent writer {options}")
    subject.require_success(restore_from(subject, "images", path))
    subject.require_unchanged("after the restore")
    subject.check()


def stream_zstd(subject, _task):
    """Pipes the stream through zstd in a shell."""
    if not shutil.which("zstd"):
        raise Skipped("zstd isn't installed")
    folder = subject.images("images")
    path = subject.images("checkpoint.zst")
    dump = subject.ours.argv("dump", folder, "dump.log", ["-t", str(subject.root), *subject.dump_options, "--stream-to", "-"])
    restore = subject.ours.argv("restore", folder, "restore.log", ["-d", *subject.restore_options, "--stream-from", "-"])
    os.makedirs(folder, exist_ok=True)
    for line in (["set -o pipefail; \"$@\" | zstd -q -f -o " + path, dump], ["zstd -dcq " + path + " | \"$@\"", restore]):
        shell = subject.init.start(["/bin/bash", "-c", line[0], "sh", *line[1]], "/", os.path.join(folder, "shell.output"))
        ended = subject.init.wait(shell, processes.PATIENCE, line[0])
        if ended.code != 0:
            raise Failed(f"{line[0]}: exit code {ended.code}, see {folder}")
        if line[1] is dump:
            subject.init.wait(subject.root, processes.PATIENCE, "end of the dumped root task")
            subject.require_nothing_left("after the dump")
            subject.init.ended.pop(subject.root, None)
    subject.require_unchanged("after the restore")
    subject.check()


MODES = [
    modes.Mode("stream", stream, beyond_42=True, of_memory=True),
    modes.Mode("image-streamer", image_streamer, beyond_42=True, of_memory=True),
    modes.Mode("stream-to-other", lambda subject, task: other_streamer(subject, task, subject.ours, subject.other),
               exchange=True, of_memory=True),
    modes.Mode("stream-from-other", lambda subject, task: other_streamer(subject, task, subject.other, subject.ours),
               exchange=True, of_memory=True),
    modes.Mode("stream-zstd", stream_zstd, scenario=True, beyond_42=True),
    modes.Mode("stream-damaged", stream_damaged, scenario=True, beyond_42=True),
    modes.Mode("stream-peers", stream_peers, scenario=True, beyond_42=True),
]
