# SPDX-License-Identifier: GPL-2.0-only
"""A running test program, with its dumps and restores."""

import os
import re
import shutil
import signal
import stat
import time

from harness import criu, echo, fullstate, processes, procstate


class Failed(Exception):
    """Failure of a test; the text says why."""


class Skipped(Exception):
    """The program has reported that the machine can't run it."""


class Subject:
    """Tree of the test program, seen from inside its namespace."""

    def __init__(self, init, task):
        self.init = init
        self.mode = task["mode"]
        self.work = task["work"]
        self.binary = task["binary"]
        self.dump_options = task["dump_options"]
        self.restore_options = task["restore_options"]
        self.ignore = task["ignore"]
        self.may_differ = task["may_differ"]
        self.between = task["between"]
        self.warns = task["warns"]
        self.outside = task["outside"]
        self.strangers = task["strangers"]
        self.others = frozenset()  # processes outside of the tree that a program with `strangers` has started
        self.servers = set()  # processes of criu that a scenario keeps beside the tree
        self.own_users = task["own_users"]
        self.own_pids = task["own_pids"] or self.own_users
        self.ours = criu.Criu(init, task["criu"], task["timeout"])
        self.other = criu.Criu(init, task["other"], task["timeout"]) if task["other"] else None
        self.folder = os.path.join(self.work, "cwd")
        self.output = os.path.join(self.work, "out")
        self.echo = None
        self.root = None
        self.state = None
        self.files = None
        self.stamps = None
        self.probe = task["probe"]
        self.watched = None  # used in mode damaged
        self.parent = None  # the init of the pid namespace that criu created (--new-pidns)

    def start(self):
        """Starts the program and waits until it is ready."""
        os.mkdir(self.folder)
        os.chmod(self.work, 0o755)  # programs that drop root must still reach their files
        if self.own_users:
            self._copy_binary()
        if self.own_users:
            with open(self.output, "wb"):
                pass
            for path in (self.folder, self.output):
                os.chown(path, processes.USERS, processes.USERS)
        environment = None
        if self.mode.endswith("-killed"):
            environment = {**processes.ENVIRONMENT, "ZDTM_KILLED": "1"}  # for programs that a kill may change
            if self.mode.startswith("background-"):
                environment["ZDTM_MUCH"] = "1"  # memory for a memory snapshot
        if self.outside == "echo":
            self.echo = echo.EchoServer()
            environment = {**(environment or {}), "ZDTM_ECHO": str(self.echo.port)}
        if self.outside == "program":
            output = os.path.join(self.work, "outside")
            self.init.start([self.binary], self.folder, output, {"ZDTM_OUTSIDE": "1"}, session=True)
            self.init.until(lambda: processes.text(output), processes.PATIENCE, "the READY of the program outside")
        self.root = self.init.start([self.binary], self.folder, self.output, environment, session=True,
                                    own_pids=self.own_pids, own_users=self.own_users)
        self.init.until(lambda: self._said("READY", "SKIP", "FAIL") or self.root in self.init.ended,
                        processes.PATIENCE, "the program's READY")
        skip = self._said("SKIP")
        if skip:
            raise Skipped(skip[0][5:])
        if self.root in self.init.ended and self._is_32_bit() and "[Errno 8]" in (processes.text(self.output) or ""):
            raise Skipped("this kernel doesn't run 32-bit programs (CONFIG_IA32_EMULATION)")
        self._require(self._said("READY"), "the program could not build its state")
        # The kernel shows written bytes before it moves the file position.
        self.init.until(lambda: self._position() in (None, os.path.getsize(self.output)), processes.PATIENCE, "write of READY")
        if self.strangers:
            tree = {1, *processes.tree(self.root)}
            self.others = frozenset(pid for pid in processes.pids() if pid not in tree)
        self.look()

    def _is_32_bit(self):
        """Returns whether the program is an ELF file of class ELFCLASS32."""
        with open(self.binary, "rb") as stream:
            return stream.read(5) == b"\x7fELF\x01"

    def _copy_binary(self):
        """Copies the program. Users of a private user namespace can't reach the build folder if it is below /root."""
        folder = os.path.join(self.work, "bin")
        os.mkdir(folder, 0o755)
        self.binary = shutil.copy(self.binary, folder)
        os.chmod(self.binary, 0o755)

    def look(self):
        """Stores the state of the tree and of its folder."""
        self.state = procstate.picture(self.root)
        self.files = self.list_files()
        self.stamps = self._stamps()

    def images(self, name):
        """Returns the path of an image directory."""
        return os.path.join(self.work, name)

    def dump(self, by, name, options=()):
        """Dumps the tree, which must succeed and leave no process."""
        run = by.dump(self.root, self.images(name), [*self.dump_options, *options])
        self.require_success(run)
        self.require_warning(os.path.join(self.images(name), "dump.log"))
        if "--leave-running" not in options:
            self.require_dumped()
            self.await_free_ids()
            self.run_between()

    def require_warning(self, log):
        """Requires the dump to warn about what it loses."""
        if self.warns:
            with open(log, encoding="utf-8", errors="replace") as file:
                if not any("Warn" in line and re.search(self.warns, line) for line in file):
                    raise Failed(f"no warning of {self.warns!r} in {log}")

    def require_dumped(self):
        """Requires a dump to have killed the tree and to have left nothing of it."""
        code = self._await_end(processes.PATIENCE, "end of the dumped root task")
        if code != -signal.SIGKILL:
            raise Failed(f"the dumped root task was not killed but ended with {code}")
        self.require_nothing_left("after the dump", self.others)

    def run_between(self):
        """Runs the `between` command of the program."""
        if self.between:
            log = os.path.join(self.work, "between.log")
            shell = self.init.start(["/bin/sh", "-ec", self.between], self.folder, log)
            if self.init.wait(shell, processes.PATIENCE, "the command between").code != 0:
                raise Failed(f"the command between dump and restore failed, see {log}")
            self.await_free_ids()

    def restore(self, by, name):
        """Restores the tree, which must look as before."""
        self.require_success(self.try_restore(by, self.images(name)))
        self.require_unchanged("after the restore")

    def try_restore(self, by, images):
        """Restores the tree and finds its root. Returns the run of criu, which may have failed."""
        self.init.ended.pop(self.root, None)  # the end of the earlier instance
        options = list(self.restore_options)
        pid_file = os.path.join(images, "root.pid")
        if self.own_pids:
            if os.path.exists(pid_file):
                os.unlink(pid_file)
            options += ["--pidfile", pid_file]
        if self.own_users:
            os.chmod(images, 0o700)  # users of the namespace must not read images
        run = by.restore(images, options)
        if run.code == 0 and self.own_pids:
            with open(pid_file, encoding="ascii") as file:
                self.root = int(file.read())
        return run

    def require_success(self, run):
        """Requires exit code 0 of criu."""
        if run.code != 0:
            raise Failed(run.describe())

    def require_unchanged(self, when, leftovers=False):
        """Requires the tree to be alive and to look as stored, without further processes.

        Tasks may need a moment to get back to sleep. After a SIGKILL of criu another process of criu may still roll
        back. With `leftovers`, mappings and link-remap files may be added.
        """
        deadline = time.monotonic() + processes.PATIENCE
        while True:
            if self.root not in processes.pids():
                raise Failed(f"{when}: the root task is gone{self._words()}")
            wrong = procstate.differences(self.state, procstate.picture(self.root), self.ignore, leftovers)
            if not wrong or time.monotonic() > deadline:
                break
            self.init.pause(0.05)
        if wrong:
            more = [f"… and {len(wrong) - 8} more"] if len(wrong) > 8 else []
            raise Failed("\n".join([f"{when} the tree looks different:"] + wrong[:8] + more))
        self._no_strangers(when)
        files = self.list_files()
        if leftovers:
            files = {entry for entry in files if "link_remap" not in entry[0]}
        if files != self.files:
            raise Failed(f"{when} the program's folder looks different: {sorted(files ^ self.files)}")

    def require_everything(self, before):
        """Requires everything that the kernel shows of the tree to be as before, except explained differences.

        Tasks may need a moment to get back to sleep.
        """
        deadline = time.monotonic() + float(os.environ.get("SETTLE", processes.PATIENCE))
        while True:
            wrong = fullstate.differences(before, fullstate.picture(self.root, self.probe), self.ignore)
            if not wrong or time.monotonic() > deadline:
                break
            self.init.pause(0.1)
        if wrong:
            raise Failed("\n".join(["after the restore the kernel shows something else:"] + wrong))

    def require_running(self, when):
        """Requires every task to be neither stopped nor traced, unless it was so in the stored state."""
        alive = self._alive()
        for pid in self.state:
            if pid not in alive and "tree" not in self.ignore:
                raise Failed(f"{when}: pid {pid} is gone")
        # After a SIGKILL of criu another process of criu rolls back.
        for problem in (self._traced, self._stopped):
            try:
                self.init.until(lambda problem=problem: not problem(), processes.PATIENCE, "")
            except processes.Timeout:
                raise Failed(f"{when}: {problem()}") from None

    def check(self):
        """Requests the program's check and waits for the end."""
        os.kill(self.root, signal.SIGTERM)
        code = self._await_end(processes.PATIENCE, "the program's check")
        self._require(code == 0 and self._said("PASS"), f"the program ended with {code}")
        self.require_nothing_left("after the check")

    def _await_end(self, seconds, what):
        """Waits for the end of the root. Returns its exit code, which an init of criu passes on as a shell would."""
        code = self.init.wait(self.parent or self.root, seconds, what).code
        if self.parent and code > 128:
            code = 128 - code
        self.parent = None
        return code

    def await_free_ids(self):
        """Waits, because since Linux 6.15 a tid can be in use a little longer than the thread is visible."""
        self.init.pause(0.05)

    def forget_output(self, size):
        """Truncates the output to its length at a dump."""
        os.truncate(self.output, size)

    def folder_unchanged(self):
        """Returns true if the folder looks as stored and no file was written since."""
        return self.list_files() == self.files and self._stamps() == self.stamps

    def _position(self):
        """Returns the position of the root's standard output; None if it has none."""
        lines = (processes.text(f"/proc/{self.root}/fdinfo/1") or "").splitlines()
        return int(lines[0].split()[1]) if lines else None

    def _traced(self):
        """Describes tasks that have a tracer and had none."""
        traced = []
        for pid, fields in self.state.items():
            tracer = (processes.status(self._alive().get(pid, pid)) or {}).get("TracerPid", "0")
            if tracer not in ("0", fields.get(f"thread {pid} TracerPid")):
                traced.append(f"pid {pid} is traced by {tracer}")
        return ", ".join(traced)

    def _stopped(self):
        """Describes threads that are stopped and were not."""
        stopped = []
        alive = self._alive()
        for pid, fields in self.state.items():
            for tid in processes.threads(alive.get(pid, pid)):
                state = (processes.status(alive.get(pid, pid), tid) or {}).get("State", "")
                inside = processes.inside(alive.get(pid, pid), tid, processes.depth(self.root))
                if state[:1] in ("T", "t") and fields.get(f"thread {inside} State") == "runs":
                    stopped.append(f"thread {tid} of pid {pid} is {state}")
        return ", ".join(stopped)

    def _alive(self):
        """Returns the pids of the tree in the runner's namespace, by pid in the tree's namespace."""
        level = processes.depth(self.root)
        return {processes.inside(pid, level=level): pid for pid in processes.tree(self.root)}

    def _said(self, *words):
        try:
            with open(self.output, encoding="utf-8", errors="replace") as file:
                return [line.strip() for line in file if line.startswith(words)]
        except FileNotFoundError:
            return []

    def _words(self):
        said = self._said("FAIL")
        return "".join(f"\n{line}" for line in said)

    def _require(self, condition, message):
        if not condition or self._said("FAIL"):
            raise Failed(f"{message}{self._words()}")

    def _no_strangers(self, when):
        if self.strangers:
            return
        known = {1, self.parent or 1, *self.servers, *processes.tree(self.root)}
        try:
            self.init.until(lambda: known.issuperset(processes.pids()), processes.PATIENCE, "")
        except processes.Timeout:
            raise Failed(f"{when}: stray processes {sorted(set(processes.pids()) - known)}") from None

    def require_nothing_left(self, when, strangers=frozenset()):
        """Requires the namespace to have no processes but init and these."""
        try:
            self.init.until(lambda: strangers.issuperset(processes.pids()[1:]), processes.PATIENCE, "")
        except processes.Timeout:
            left = [f"{pid} ({(processes.text(f'/proc/{pid}/comm') or '').strip()})" for pid in processes.pids()[1:] if pid not in strangers]
            raise Failed(f"{when}: processes left: {', '.join(left)}") from None

    def list_files(self):
        """Returns the entries of the program's folder: path, type, and size of regular files."""
        found = set()
        for base, folders, files in os.walk(self.folder):
            for name in folders + files:
                path = os.path.join(base, name)
                info = os.lstat(path)
                size = info.st_size if stat.S_ISREG(info.st_mode) else 0
                found.add((os.path.relpath(path, self.folder), stat.S_IFMT(info.st_mode), size))
        return found

    def _stamps(self):
        """Returns the modification time of each entry."""
        return {path: os.lstat(os.path.join(self.folder, path)).st_mtime_ns for path, _, _ in self.list_files()}
