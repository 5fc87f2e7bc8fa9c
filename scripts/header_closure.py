# SPDX-License-Identifier: GPL-2.0-only
"""Header closures: how many of the project's own headers each source includes, directly or indirectly."""

import os
import re

# Limit for a closure. A larger one makes a source compile again after most changes, and hard to test alone.
LIMIT = 60
# Sources without a limit, because they only combine other parts.
COMPOSERS = (
    "criu/engine/dump/captured.cpp",
    "criu/engine/dump/files/file_kinds_dump.cpp",
    "criu/engine/dump/tasks/dump_task.cpp",
    "criu/engine/restore/files/restored_files.cpp",
    "criu/engine/restore/files/task_files.cpp",
    "criu/engine/restore/resumed_tree.cpp",
    "criu/engine/restore/task/restore_program.cpp",
    "criu/engine/restore/task/restore_task.cpp",
    "plugins/amdgpu/restore.cpp",
    "plugins/amdgpu/subsystem.cpp",
)
# Header of the class that owns the objects of a restore. Sources that include it directly have no limit either.
COMPOSING_HEADER = "criu/engine/restore/planned.hpp"

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<(compel/[^>]+)>)', re.M)


class Headers:
    """Include graph. Generated headers (images/…) count, but the headers that they include don't."""

    def __init__(self, root, names):
        self.root = root
        self.names = set(names)
        self.known = {}

    def resolve(self, include):
        """Returns the path of an included header; None if it isn't one of the project."""
        for path in (include, "compel/include/" + include):
            if path in self.names:
                return path
        return include if include.startswith("images/") else None

    def direct(self, path):
        """Returns the headers that a file includes directly, each once."""
        if path not in self.known:
            text = ""
            if path in self.names:
                with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as file:
                    text = file.read()
            found = (self.resolve(quoted or angled) for quoted, angled in INCLUDE.findall(text))
            self.known[path] = list(dict.fromkeys(header for header in found if header))
        return self.known[path]

    def closure(self, path, without=None):
        """Returns all headers that a source includes. With `without`: as if the source didn't include that one
        directly.
        """
        seen = set()
        left = [header for header in self.direct(path) if header != without]
        while left:
            header = left.pop()
            if header not in seen:
                seen.add(header)
                left += self.direct(header)
        # A layer's forward declarations include nothing, and change with the layer's names only.
        return {header for header in seen if os.path.basename(header) != "fwd.hpp"}

    def contributors(self, path):
        """Returns the headers that a source includes directly, each with the number that its removal would save,
        largest first.
        """
        whole = len(self.closure(path))
        less = ((whole - len(self.closure(path, header)), header) for header in self.direct(path))
        return sorted(less, reverse=True)


def check(root, names, report):
    """Calls report(path, text) for each source of the product whose closure is above the limit."""
    headers = Headers(root, names)
    for path in names:
        if not path.endswith(".cpp") or path.startswith("test/") or path in COMPOSERS:
            continue
        if COMPOSING_HEADER in headers.direct(path):
            continue
        size = len(headers.closure(path))
        if size > LIMIT:
            most = ", ".join(f"{header} ({count})" for count, header in headers.contributors(path)[:5])
            report(path, f"includes {size} headers of the project in all, {LIMIT} at most are allowed; "
                         f"most of them come only with {most}")
