# SPDX-License-Identifier: GPL-2.0-only
"""The test programs, and how to run each one according to its source.

The runner reads lines of the form `// zdtm: KEY VALUE` at the top of a program's source:

    dump-options OPTIONS      further options of criu dump
    restore-options OPTIONS   further options of criu restore
    modes MODES               the program runs only in these modes (modes.py, scenarios.py), separated by commas
    also MODES                scenario modes in addition to the usual modes
    not-in MODES              modes that the program does not run in
    warns REGEX               a Warn line of each dump's log must match
    refused REGEX             mode `refused`: the Error line of criu dump must match
    refused-restore OPTIONS   mode `refused-restore`: criu restore must fail with these options
    refused-with REGEX        mode `refused-restore`: the Error line of criu restore must match
    between COMMAND           shell command between each dump and restore, in the program's folder and namespaces
    plant COMMAND             mode `planted`: shell command after the dump. It replaces a file, and puts files that a
                              restore must not touch into the folder `outside`
    unplant COMMAND           mode `planted`: shell command that reverts the replacement
    ignore REGEX, REGEX       names in harness/procstate.py that may change over a restore
    may-differ REGEX, REGEX   mode `compare`: lines of criu compare that report a known difference
    outside program           the runner starts the program a second time, before the first one. It is outside of the
                              tree and of its pid namespace, has $ZDTM_OUTSIDE, and reports READY
    outside echo              a TCP echo server outside of the tree, at the port in $ZDTM_ECHO
    fails CALLS               system calls that modes of failing_calls.py surely let fail, separated by semicolons. A call is
                              an action, an error, the call and a function of criu that makes it, separated by blanks
    network own               criu is in a private network namespace without other tests
    own-pids yes              the program is the init of a private pid namespace
    own-users yes             as own-pids, and uid 0 of a private user namespace with 65536 uids and gids
    own-users denied          as own-users yes, with setgroups(2) denied; its supplementary group is 5
    strangers yes             the program starts processes outside of the tree, which end before it
    processor NAME            the program is for one processor, x86 or aarch64 (CRIU_ARCH of CMake); on others it isn't
                              built or listed
    timeout SECONDS           limit of each criu run; the default is 60
    fails-with-4.2 REASON     CRIU 4.2 fails: no exchange of images, and left out with --peer
    fails-with-4.2(MODES) …   CRIU 4.2 fails in these modes only
"""

import os
import platform
import re
import shlex

HERE = os.path.dirname(os.path.abspath(__file__))
# Name of this machine's processor in folders arch/NAME.
PROCESSOR = {"x86_64": "x86"}.get(platform.machine(), platform.machine())


class Program:
    """A test program."""

    KEYS = {"dump-options", "restore-options", "modes", "also", "not-in", "refused", "ignore", "timeout", "between",
            "refused-restore", "refused-with", "outside", "plant", "unplant", "own-pids", "own-users", "network",
            "strangers", "warns", "fails", "processor", "may-differ"}

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
        self.fails = [call.split() for call in said.get("fails", "").split(";") if call]
        self.refused_restore = shlex.split(said.get("refused-restore", ""))
        self.refused_with = said.get("refused-with")
        self.between = said.get("between")
        self.plant = said.get("plant")
        self.unplant = said.get("unplant")
        self.ignore = _list(said.get("ignore"))
        self.may_differ = _list(said.get("may-differ"))
        self.processor = said.get("processor", PROCESSOR)
        self.outside = said.get("outside")
        self.network = said.get("network") == "own"
        self.strangers = "strangers" in said
        self.own_pids = "own-pids" in said
        self.own_users = said.get("own-users")
        self.timeout = float(said.get("timeout", 60))
        self.fails_with_42 = fails_with_42

    def fails_42(self, mode):
        """Returns true if CRIU 4.2 is known to fail this program in this mode."""
        return mode.beyond_42 or bool({"*", mode.name} & self.fails_with_42)

    def is_of_memory(self):
        """Returns true if the program is about memory, has much of it, or has several threads and processes."""
        folder, name = self.name.split("/")
        return folder in ("memory", "threads", "tree", "compat") or name.startswith("mounts_tmpfs")

    def runs_in(self, mode):
        """Returns true if the program runs in this mode. Programs ask for scenario modes."""
        if self.modes:
            return mode.name in self.modes + self.also
        if mode.name in self.also:
            return True
        return not mode.scenario and mode.name not in self.not_in

    def may_run_in(self, mode):
        """Returns true if the program can be dumped and restored, and doesn't exclude the mode."""
        return ("once" in self.modes if self.modes else True) and not {mode.name, mode.like}.intersection(self.not_in)


def _list(text):
    return [item.strip() for item in text.split(",")] if text else []


def programs():
    """Returns all programs for this processor, sorted by name."""
    found = []
    for folder in sorted(os.listdir(HERE)):
        path = os.path.join(HERE, folder)
        if folder != "lib" and os.path.isdir(path):
            found += [Program(folder, file[:-4]) for file in sorted(os.listdir(path)) if file.endswith(".cpp")]
    return [program for program in found if program.processor == PROCESSOR]
