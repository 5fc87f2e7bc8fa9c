# SPDX-License-Identifier: GPL-2.0-only
"""The test programs and what their sources say about running them.

Lines of the form `// zdtm: KEY VALUE` at the top of a program's source are for the runner:

    dump-options OPTIONS      more options for criu dump
    restore-options OPTIONS   more options for criu restore
    modes MODES               only these (see modes.py and scenarios.py), separated by commas
    also MODES                these scenarios, beside the usual modes
    not-in MODES              not in these
    warns REGEX               a Warn line of each dump's log has to match this
    refused REGEX             for mode `refused`: what the Error line of criu dump has to match
    refused-restore OPTIONS   for mode `refused-restore`: with these criu restore fails
    refused-with REGEX        and its Error line matches this
    between COMMAND           for the shell, in the program's folder and namespaces: between each dump and restore
    plant COMMAND             for mode `planted`: for the shell, after the dump; it puts something else in a file's place,
                              and what mustn't be touched into the folder `outside`
    unplant COMMAND           puts back what was there
    ignore REGEX, REGEX       names in harness/procstate.py that may change over a restore
    outside program           the program is started a second time, as the first one but with $ZDTM_OUTSIDE in its
                              environment, outside of the tree and of its pid namespace; it says READY first
    outside echo              a TCP server outside of the tree, at the port in $ZDTM_ECHO, sends back what it receives
    network own               criu is in a network of its own, too, and no other test is there
    own-pids yes              it is the first process of a pid namespace of its own
    own-users yes             and user 0 of a user namespace of its own, which has 65536 users and groups
    own-users denied          the same, but nobody may change his groups there; they are 5 alone
    strangers yes             it starts processes outside of its tree, which end before it does
    timeout SECONDS           for each criu run, instead of 60
    fails-with-4.2 REASON     CRIU 4.2 can't do it: left out of exchange, and with --peer
    fails-with-4.2(MODES) …   the same in these modes only
"""

import os
import re
import shlex

HERE = os.path.dirname(os.path.abspath(__file__))


class Program:
    """One test program."""

    KEYS = {"dump-options", "restore-options", "modes", "also", "not-in", "refused", "ignore", "timeout", "between",
            "refused-restore", "refused-with", "outside", "plant", "unplant", "own-pids", "own-users", "network",
            "strangers", "warns"}

    def __init__(self, folder, name):
        self.name = f"{folder}/{name}"
        self.source = os.path.join(HERE, folder, name + ".cpp")
        with open(self.source, encoding="utf-8") as file:
            text = file.read()
        # clang-format may break a long summary into several strings.
        summary = re.search(r'^ZDTM\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\)', text, re.MULTILINE)
        if not summary:
            raise ValueError(f"{self.source}: no ZDTM(\"summary\")")
        self.summary = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', summary.group(1)))
        lines = re.findall(r"^// zdtm: ([^\s(]+(?:\([^)]*\))?) +(.*)$", text, re.MULTILINE)
        said = dict(lines)
        if len(said) != len(lines):
            raise ValueError(f"{self.source}: a key is there twice")
        fails_with_42 = set()
        for key in [key for key in said if key.startswith("fails-with-4.2")]:
            fails_with_42.update(_list(key[len("fails-with-4.2"):].strip("()")) or ["*"])
            del said[key]
        unknown = said.keys() - self.KEYS
        if unknown:
            raise ValueError(f"{self.source}: unknown keys {sorted(unknown)}")
        self.dump_options = shlex.split(said.get("dump-options", ""))
        self.restore_options = shlex.split(said.get("restore-options", ""))
        self.modes = _list(said.get("modes"))
        self.also = _list(said.get("also"))
        self.not_in = _list(said.get("not-in"))
        self.refused = said.get("refused")
        self.warns = said.get("warns")
        self.refused_restore = shlex.split(said.get("refused-restore", ""))
        self.refused_with = said.get("refused-with")
        self.between = said.get("between")
        self.plant = said.get("plant")
        self.unplant = said.get("unplant")
        self.ignore = _list(said.get("ignore"))
        self.outside = said.get("outside")
        self.network = said.get("network") == "own"
        self.strangers = "strangers" in said
        self.own_pids = "own-pids" in said
        self.own_users = said.get("own-users")
        self.timeout = float(said.get("timeout", 60))
        self.fails_with_42 = fails_with_42

    def fails_42(self, mode):
        """Is CRIU 4.2 known to fail this program in this mode?"""
        return mode.beyond_42 or bool({"*", mode.name} & self.fails_with_42)

    def is_of_memory(self):
        """Is memory what it is about, or does it have much, or that of several threads and processes?"""
        folder, name = self.name.split("/")
        return folder in ("memory", "threads", "tree", "compat") or name.startswith("mounts_tmpfs")

    def runs_in(self, mode):
        """Does the program say anything against this mode? Scenario modes have to be asked for."""
        if self.modes:
            return mode.name in self.modes + self.also
        if mode.name in self.also:
            return True
        return not mode.scenario and mode.name not in self.not_in


def _list(text):
    return [item.strip() for item in text.split(",")] if text else []


def programs():
    """All programs, by name."""
    found = []
    for folder in sorted(os.listdir(HERE)):
        path = os.path.join(HERE, folder)
        if folder != "lib" and os.path.isdir(path):
            found += [Program(folder, file[:-4]) for file in sorted(os.listdir(path)) if file.endswith(".cpp")]
    return found
