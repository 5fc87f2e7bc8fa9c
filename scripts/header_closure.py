# SPDX-License-Identifier: GPL-2.0-only
"""How many of the project's own headers each source includes, directly or by way of others: its header closure."""

import os
import re

# A source that is above is compiled anew whenever one of so many headers changes, and can hardly be tested alone.
LIMIT = 60
# Sources that only compose the work of others.
COMPOSERS = ("criu/engine/dump/tasks/dump_task.cpp",)

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<(compel/[^>]+)>)', re.M)


class Headers:
    """Who includes whom. Generated headers (images/…) count like others, but what they include doesn't."""

    def __init__(self, root, names):
        self.root = root
        self.names = set(names)
        self.known = {}

    def resolve(self, include):
        """The path of an included header; None for one that isn't of the project."""
        for path in (include, "compel/include/" + include):
            if path in self.names:
                return path
        return include if include.startswith("images/") else None

    def direct(self, path):
        """What a file includes itself, each header once."""
        if path not in self.known:
            text = ""
            if path in self.names:
                with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as file:
                    text = file.read()
            found = (self.resolve(quoted or angled) for quoted, angled in INCLUDE.findall(text))
            self.known[path] = list(dict.fromkeys(header for header in found if header))
        return self.known[path]

    def closure(self, path, without=None):
        """All headers that a source includes; `without`: those that are left if it doesn't include this one itself."""
        seen = set()
        left = [header for header in self.direct(path) if header != without]
        while left:
            header = left.pop()
            if header not in seen:
                seen.add(header)
                left += self.direct(header)
        return seen

    def contributors(self, path):
        """The headers that a source includes itself, with how many it would have less without each, the most first."""
        whole = len(self.closure(path))
        less = ((whole - len(self.closure(path, header)), header) for header in self.direct(path))
        return sorted(less, reverse=True)


def check(root, names, report):
    """Calls report(path, text) for each source of the product whose closure is above the limit."""
    headers = Headers(root, names)
    for path in names:
        if not path.endswith(".cpp") or path.startswith("test/") or path in COMPOSERS:
            continue
        size = len(headers.closure(path))
        if size > LIMIT:
            most = ", ".join(f"{header} ({count})" for count, header in headers.contributors(path)[:5])
            report(path, f"includes {size} headers of the project in all, {LIMIT} at most are allowed; "
                         f"most of them come only with {most}")
