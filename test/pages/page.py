# SPDX-License-Identifier: GPL-2.0-only
"""Reads the command blocks of a Documentation page, and compares their output with the page.

A block with the info string `sh test` is a command block. The next fenced block with the info string `output`, up to
the next command block or heading, is its expected output; without one the commands print nothing. Words after `test`:

    start       begins a new run, in new namespaces and an empty folder
    status=N    is the exit status of the block's last command (default: 0)
    machine     as `start`, but without new namespaces, for services of the machine
    needs=NAME  skips the run or the block on a machine without this program or service

Command blocks before the first heading of level 2 are preparation. Each run of the page begins with them.
"""

import re

FENCE = re.compile(r"^```(.*)$")
HEADING = re.compile(r"^##+ (.*)$")
NUMBER = re.compile(r"(?<!\d)\d{2,}(?!\d)")
ANYTHING = "…"


class Block:
    """Command block of a page."""

    def __init__(self, title, line, words):
        self.title = title
        self.line = line
        self.machine = "machine" in words
        self.start = self.machine or "start" in words
        self.status = 0
        self.needs = None
        self.commands = ""
        self.output = ""
        for word in words:
            key, _, value = word.partition("=")
            if key == "status":
                self.status = int(value)
            elif key == "needs":
                self.needs = value
            elif word not in ("start", "machine"):
                raise ValueError(f"line {line}: unknown word '{word}' after 'sh test'")


class Run:
    """Blocks that run one after the other in one namespace: those of the preparation, then others."""

    def __init__(self, preparation):
        self.preparation = preparation
        self.blocks = []

    @property
    def machine(self):
        """True if the run needs services of the machine, and therefore no new namespaces."""
        return self.blocks[0].machine

    def all_blocks(self):
        """Returns all blocks in their order."""
        return self.preparation + self.blocks


def fences(text):
    """Yields (kind, line, info or title, content) for headings and fenced blocks."""
    info = None
    first = 0
    content = []
    for number, line in enumerate(text.split("\n"), 1):
        fence = FENCE.match(line)
        if info is not None:
            if fence and not fence.group(1):
                yield "fence", first, info, "".join(content)
                info = None
            else:
                content.append(line + "\n")
        elif fence:
            info, first, content = fence.group(1), number, []
        elif heading := HEADING.match(line):
            yield "heading", number, heading.group(1), ""
    if info is not None:
        raise ValueError(f"line {first}: the fence isn't closed")


def read(text):
    """Returns the preparation and the runs of a page."""
    preparation = []
    runs = []
    title = ""
    last = None  # the block whose output may follow
    for kind, line, words, content in fences(text):
        if kind == "heading":
            title, last = words, None
        elif words.split()[:2] == ["sh", "test"]:
            last = Block(title, line, words.split()[2:])
            last.commands = content
            if not title:
                preparation.append(last)
                continue
            if last.start or not runs:
                runs.append(Run(preparation))
            runs[-1].blocks.append(last)
        elif words == "output":
            if last is None or last.output:
                raise ValueError(f"line {line}: this output belongs to no command block")
            last.output = content
        elif words.split()[:1] == ["sh"] or not words:
            raise ValueError(f"line {line}: a command block without 'test' is never run")
    return preparation, runs


def pattern(expected):
    """Returns a regular expression for an expected output. A line … is any number of lines, … in a line is any text,
    and a number of two or more digits is any number.
    """
    parts = []
    for line in expected.splitlines():
        if line.strip() == ANYTHING:
            parts.append(r"(?:[^\n]*\n)*?")
            continue
        pieces = [r"\d+".join(re.escape(text) for text in NUMBER.split(piece)) for piece in line.split(ANYTHING)]
        parts.append(r"[^\n]*".join(pieces) + r"\n")
    return re.compile("".join(parts))


def agrees(expected, printed):
    """Returns whether an output is the expected one."""
    if printed and not printed.endswith("\n"):
        printed += "\n"
    return pattern(expected).fullmatch(printed) is not None
