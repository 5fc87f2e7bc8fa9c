# SPDX-License-Identifier: GPL-2.0-only
"""Chains of dumps whose images are in several pages files."""

import os
import re

import increments
import lazy
import modes
import page_servers
from subject import Failed

FILES = 3
LEAST = FILES << 20  # bytes of content from which --pages-files makes several files


def pages_of(folder):
    """Returns the bytes of content of each pagemap of a process by its name, and the pages_id of its head."""
    found = {}
    for name in os.listdir(folder):
        if re.fullmatch(r"pagemap-\d+\.img", name):
            with open(os.path.join(folder, name), "rb") as file:
                _, records = increments.read_records(file.read())
            entries = [increments.decode(record, True) for record in records[1:]]
            content = sum(entry[5] for entry in entries if entry.get(4, 0) & increments.PRESENT) * increments.PAGE
            found[name] = (content, increments.decode(records[0], True)[1])
    return found


def require_stripes(folder):
    """Requires much content to be in several pages files, and CRIU 4.2 to find none of it. Returns whether there is
    much content."""
    much = [(name, number) for name, (content, number) in pages_of(folder).items() if content >= LEAST]
    for name, number in much:
        if number != 0:
            raise Failed(f"{folder}/{name}: CRIU 4.2 would read pages-{number}.img")
    files = [name for name in os.listdir(folder) if name.startswith("pages-")]
    if len(files) < FILES * len(much):
        raise Failed(f"{folder} has only {files} for {[name for name, _ in much]}")
    return bool(much)


def require_extension(folder):
    """Requires the inventory to name the extension that CRIU 4.2 refuses."""
    with open(os.path.join(folder, "inventory.img"), "rb") as file:
        if b"striped-pages" not in file.read():
            raise Failed(f"the inventory in {folder} doesn't tell of several pages files, and CRIU 4.2 would restore it")


def striped_chain(subject, _task):
    """Makes chains in several pages files, frees replaced pages, and restores them: with lazy pages, by a page server."""
    files = ["--pages-files", str(FILES), "--checksum"]
    chain = [subject.images(name) for name in ("pre-1", "pre-2", "images")]
    previous = []
    for folder in chain[:2]:
        run = subject.ours.run("pre-dump", folder, "pre-dump.log", ["-t", str(subject.root), *files, *previous])
        subject.require_success(run)
        previous = ["--prev-images-dir", f"../{os.path.basename(folder)}", "--auto-dedup"]
        subject.init.pause(0.05)
    much = require_stripes(chain[0])
    before = modes.taken(*chain[:2])
    subject.dump(subject.ours, "images", ["--track-mem", *files, *previous])
    subject.require_success(subject.ours.run("dedup", chain[2], "dedup.log"))
    if modes.taken(*chain[:2]) > before:
        raise Failed("dedup has added content")
    modes.require_verified(subject, "images")  # no freed page is needed
    if much and increments.relies_on_parent(chain[2]):
        require_extension(chain[2])
    options = subject.restore_options
    daemon = lazy.Daemon(subject, "images")
    lazy.restore(subject, "images")
    daemon.wait()
    subject.restore_options = options
    subject.require_unchanged("after all pages have come")

    first = page_servers.Server(subject, "stored-1", ["--checksum"])
    subject.require_success(subject.ours.run("pre-dump", subject.images("sent-1"), "pre-dump.log",
                                             ["-t", str(subject.root), *first.options, *files, "--connections", "2"]))
    first.wait()
    require_stripes(subject.images("stored-1"))
    second = page_servers.Server(subject, "stored-2", ["--checksum", "--prev-images-dir", "../stored-1", "--auto-dedup"])
    subject.dump(subject.ours, "sent-2", ["--track-mem", "--prev-images-dir", "../sent-1", *second.options, *files,
                                          "--connections", "2"])
    second.wait()
    page_servers.together(subject, "sent-2", "stored-2")
    if much and increments.relies_on_parent(subject.images("stored-2")):
        require_extension(subject.images("stored-2"))
    modes.require_verified(subject, "stored-2")
    subject.restore_options = [*subject.restore_options, "--auto-dedup"]
    subject.restore(subject.ours, "stored-2")
    subject.check()


MODES = [
    modes.Mode("striped-chain", striped_chain, beyond_42=True, of_memory=True),
]
