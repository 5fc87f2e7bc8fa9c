# SPDX-License-Identifier: GPL-2.0-only
"""Situations with few rights: how a program and criu start, and what each command of criu does there.

Each situation is a row of the table in Documentation/rights.md, which `./run --table` prints.
"""

import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
USER = 12345
FIRST = 100000  # id of a user namespace's root outside of it
COMMANDS = ("check", "pre-dump", "dump -R", "dump", "restore")
CHECKPOINT = "checkpoint_restore"
PTRACE = "sys_ptrace"
YAMA = "/proc/sys/kernel/yama/ptrace_scope"
NEW_PIDS = ("--pid", "--mount", "--fork", "--kill-child", "--mount-proc")
# Capabilities of a container's root by default, with podman and Docker
CONTAINER = ("chown", "dac_override", "fowner", "fsetid", "kill", "net_bind_service", "setfcap", "setgid", "setpcap", "setuid",
             "sys_chroot")


def user(*capabilities):
    """Words that start a program as an ordinary user with these ambient capabilities."""
    words = ["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups"]
    if capabilities:
        wanted = ",".join("+" + each for each in capabilities)
        words += ["--inh-caps", wanted, "--ambient-caps", wanted]
    return words


def root_with(*capabilities):
    """Words that start a program as root with these capabilities only."""
    return ["setpriv", "--inh-caps=-all", "--bounding-set=" + ",".join(["-all", *("+" + each for each in capabilities)])]


def rootless(*words):
    """Words that start a program as root of a user's namespace with many ids, as podman rootless does."""
    return ["/usr/bin/python3", "-B", os.path.join(HERE, "user_namespace.py"), str(USER), str(FIRST), *words]


NO_CAPABILITY = r"no CAP_SYS_ADMIN \(or CAP_CHECKPOINT_RESTORE\).*setcap cap_checkpoint_restore=ep.*unshare --user"
NO_CAPABILITY_OF_ROOT = r"no CAP_SYS_ADMIN \(or CAP_CHECKPOINT_RESTORE\).*root lacks it here"
NO_PIDS = r"may not choose pids here.*restore --new-pidns.*unshare --user"
OTHER_USER = rf"belongs to user 0, and criu runs as user {USER}: run criu as root"
YAMA_1 = r"kernel.yama.ptrace_scope is 1.*sysctl kernel.yama.ptrace_scope=0, or give criu CAP_SYS_PTRACE"


class Situation:
    """One row of the table. `refused`: texts of the commands that don't work."""

    def __init__(self, name, title, prefix, refused=None, **more):
        self.name = name
        self.title = title
        self.prefix = prefix
        self.expected = {**{command: None for command in COMMANDS}, **(refused or {})}
        self.owner = more.get("owner", USER)
        self.capabilities = more.get("file_capabilities")
        self.program_prefix = more.get("program_prefix", [])
        self.restore_prefix = more.get("restore_prefix", [])
        self.restore_options = more.get("restore_options", [])
        self.options = more.get("options", [])
        self.yama = more.get("yama")
        self.foreign = more.get("foreign", False)
        self.programs = ["files/pipe_data", "threads/twenty", "memory/anonymous_shared", "memory/file_shared",
                         "memory/memfd_shared"]

    def missing(self):
        """Returns what this machine lacks for the situation; None if it lacks nothing."""
        if self.yama is not None and not os.path.exists(YAMA):
            return "this kernel has no Yama"
        ran = subprocess.run([*self.prefix, "true"], capture_output=True, text=True, check=False)
        return None if ran.returncode == 0 else f"{' '.join(self.prefix)}: {ran.stderr.strip()}"

    def prepare(self, binary):
        """Gives the copy of criu its file capabilities. Sets Yama's scope, and returns a function that restores it."""
        if self.capabilities:
            subprocess.run(["setcap", self.capabilities, binary], check=True)
        if self.yama is None:
            return lambda: None
        with open(YAMA, encoding="ascii") as file:
            before = file.read()
        write_yama(self.yama)
        return lambda: write_yama(before)

    def row(self):
        """Returns the row of the table."""
        words = ["works" if self.expected[command] is None else "refused" for command in COMMANDS]
        return f"| {self.title} | {' | '.join(words)} |"


def write_yama(scope):
    """Sets kernel.yama.ptrace_scope."""
    with open(YAMA, "w", encoding="ascii") as file:
        file.write(str(scope))


SITUATIONS = [
    Situation("root", "root", [], owner=None),
    Situation("user", "an ordinary user without capabilities", user(), {"check": NO_CAPABILITY, "restore": NO_CAPABILITY}),
    Situation("user-to-namespace", "the same user, who restores in a user namespace: `unshare --user --map-current-user "
              "--keep-caps --pid --mount --fork --mount-proc criu restore`", user(), {"check": NO_CAPABILITY},
              restore_prefix=["unshare", "--user", "--map-current-user", "--keep-caps", *NEW_PIDS]),
    Situation("user-of-root", "an ordinary user, with a process of root", user(),
              {"check": NO_CAPABILITY, "pre-dump": OTHER_USER, "dump -R": OTHER_USER, "dump": OTHER_USER, "restore": NO_CAPABILITY},
              foreign=True),
    Situation("user-ambient", "a user whose programs have CAP\\_CHECKPOINT\\_RESTORE (ambient)", user(CHECKPOINT)),
    Situation("user-unprivileged", "the same with `--unprivileged`", user(CHECKPOINT), options=["--unprivileged"]),
    Situation("user-file", "a user whose criu has CAP\\_CHECKPOINT\\_RESTORE (file capability)", user(),
              file_capabilities="cap_checkpoint_restore=ep"),
    Situation("user-file-ptrace", "a user whose criu has CAP\\_CHECKPOINT\\_RESTORE and CAP\\_SYS\\_PTRACE (file capabilities)", user(),
              file_capabilities="cap_checkpoint_restore,cap_sys_ptrace=ep"),
    Situation("user-ptrace", "a user with CAP\\_CHECKPOINT\\_RESTORE and CAP\\_SYS\\_PTRACE (ambient)", user(CHECKPOINT, PTRACE)),
    Situation("user-no-new-privs", "a user with CAP\\_CHECKPOINT\\_RESTORE (ambient) and no\\_new\\_privs",
              [*user(CHECKPOINT), "--no-new-privs"]),
    Situation("user-file-no-new-privs", "a user with no\\_new\\_privs whose criu has a file capability, which has no effect then",
              [*user(), "--no-new-privs"], {"check": NO_CAPABILITY, "restore": NO_CAPABILITY},
              file_capabilities="cap_checkpoint_restore=ep"),
    Situation("yama-0", "CAP\\_CHECKPOINT\\_RESTORE (ambient), kernel.yama.ptrace\\_scope 0", user(CHECKPOINT), yama=0),
    Situation("yama-1", "CAP\\_CHECKPOINT\\_RESTORE (ambient), kernel.yama.ptrace\\_scope 1", user(CHECKPOINT),
              {"pre-dump": YAMA_1, "dump -R": YAMA_1, "dump": YAMA_1, "restore": r"no complete checkpoint"}, yama=1),
    Situation("yama-1-ptrace", "the same with CAP\\_SYS\\_PTRACE", user(CHECKPOINT, PTRACE), yama=1),
    Situation("namespace", "root of a user namespace with one id, and a pid namespace (`unshare --user --map-root-user --pid`)",
              [*user(), "unshare", "--user", "--map-root-user", *NEW_PIDS]),
    Situation("namespace-no-pids", "root of a user namespace without a pid namespace of its own",
              [*user(), "unshare", "--user", "--map-root-user"], {"check": NO_PIDS, "restore": NO_PIDS}),
    Situation("namespace-new-pids", "the same, with `restore --new-pidns`", [*user(), "unshare", "--user", "--map-root-user"],
              {"check": NO_PIDS}, restore_options=["--new-pidns"]),
    Situation("rootless", "root of a user namespace with 65536 ids, as podman rootless", rootless("unshare", *NEW_PIDS), owner=FIRST),
    Situation("rootless-container", "the same, and the program is in pid, IPC and UTS namespaces of its own",
              rootless("unshare", *NEW_PIDS), owner=FIRST,
              program_prefix=["unshare", "--ipc", "--uts", "--pid", "--fork", "--kill-child", "setsid"]),
    Situation("container-nothing", "root of a container without capabilities", root_with(),
              {"check": NO_CAPABILITY_OF_ROOT, "restore": NO_CAPABILITY_OF_ROOT}, owner=None),
    Situation("container-default", "root of a container with the default capabilities of podman", root_with(*CONTAINER),
              {"check": NO_CAPABILITY_OF_ROOT, "restore": NO_CAPABILITY_OF_ROOT}, owner=None),
    Situation("container-checkpoint", "the same and CAP\\_CHECKPOINT\\_RESTORE", root_with(*CONTAINER, CHECKPOINT), owner=None),
]
