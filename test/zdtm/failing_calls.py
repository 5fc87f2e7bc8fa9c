# SPDX-License-Identifier: GPL-2.0-only
"""Lets single system calls of criu fail, each call site once, and judges the tree, the images and the rest."""

import errno
import os
import random
import re
import shutil
import signal

import killing
import modes
import rollbacks
from harness import call_fail, call_kill, criu, processes
from subject import Failed, Skipped, Subject

CRASH = re.compile(r"terminate called|assertion|stack smashing|double free|corrupted|pure virtual", re.IGNORECASE)
# Calls of libraries that end the process after some errors (libnftables, and libarchive if fchdir(2) fails), or that hide errors
# (the dynamic linker, and libcap before main()).
ENDS = re.compile(r"\w+ in (.* < )?kernel::Nftables::|fchdir in .*FileArchives::|"
                  r"\w+ in SharedLibrary::|\w+ in _libcap_initialize")
# Lines that tell of an error in other words: the daemon that tracks memory has no log, so the other side tells of its end;
# std::thread reports EAGAIN for each error; libnl and the dynamic linker have words of their own.
OTHER_WORDS = re.compile("the process that tracks memory|receive a message: Connection reset by peer|"
                         "hand over fd -1: Broken pipe|create a thread|"
                         "Unspecific failure|Out of memory|shared object")
JOURNALS = "/run/criu/journals"


def journals():
    """Returns the journals of runs in this pid namespace."""
    found = set()
    own = str(os.stat("/proc/self/ns/pid").st_ino)
    for name in os.listdir(JOURNALS) if os.path.isdir(JOURNALS) else []:
        try:
            with open(os.path.join(JOURNALS, name, "journal"), encoding="utf-8", errors="replace") as file:
                if own in file.read():
                    found.add(f"journal {name}")
        except OSError:
            pass  # the journal of another run, which ends now
    return found


class Trial:
    """A run of criu with a failing call."""

    def __init__(self, code, sites, failed, log):
        self.code = code
        self.sites = sites
        self.failed = failed
        self.log = log

    def names(self, failure):
        """Returns whether an Error line tells the error of the failed call."""
        return any(os.strerror(failure.error) in line or OTHER_WORDS.search(line) for line in criu.error_lines(self.log))

    def warns(self, failure):
        """Returns whether a Warn line tells the error of the failed call."""
        lines = (processes.text(self.log) or "").splitlines()
        return any("Warn" in line and os.strerror(failure.error) in line for line in lines)

    def reason(self):
        """Returns the last Error line."""
        return criu.last_error(self.log) or "no Error line"


class FailingCalls:
    """A series of runs of criu on one program. Each run has one failing call."""

    action = None

    def __init__(self, subject, task):
        if not call_fail.is_possible():
            raise Skipped("the tracer knows the system calls of x86-64 only")
        self.subject = subject
        # A busy machine may need more time for a freeze than criu's ten seconds.
        for options in (subject.dump_options, subject.restore_options):
            options[:0] = ["--timeout", str(processes.PATIENCE - 10)]
        self.task = task
        self.random = random.Random(f"{task['seed']} {self.action}")
        self.symbols = call_fail.Symbols(subject.ours.binary)
        self.count = 0
        self.renewals = 0
        self.before = None
        self.problems = []
        self.counts = {"failed": 0, "tolerated": 0, "warned": 0, "not reached": 0}

    # Steps that differ between actions.

    def prepare(self):
        """Brings the tree into the state before a run."""

    def options(self):
        """Returns the options of a run."""
        raise NotImplementedError

    def folder(self, name):
        """Returns the images directory of a run."""
        return self.subject.images(name)

    def judge_failed(self, trial, when):
        """Requires that a failed run has left everything as before."""
        raise NotImplementedError

    def judge_success(self, trial, when):
        """Requires that a run with status 0 has done its work."""
        raise NotImplementedError

    # Steps of all actions.

    def attempt(self, failure, name):
        """Runs criu under the tracer."""
        subject = self.subject
        subject.init.ended.pop(subject.root, None)
        folder = self.folder(name)
        log = f"{self.action}-{name}.log"
        pid = subject.ours.start(self.action, folder, log, self.options(), before_exec=call_kill.stop_self)
        trace = call_fail.CallFail(subject.init, pid, subject.ours.binary, failure, subject.images(f"calls-{name}"))
        code, sites, failed = trace.finish(processes.PATIENCE, daemons=self.action == "pre-dump")
        return Trial(code, sites, failed, os.path.join(folder, log))

    def run(self):
        """Records all sites, and lets `turns` of them fail."""
        self.prepare()
        self.before = self.surroundings()
        whole = self.attempt(None, "recorded")
        if whole.code != 0:
            raise Failed(f"a traced criu {self.action} has ended with {whole.code}: {whole.reason()} (log: {whole.log})")
        self.judge_success(whole, "without a failure")
        sites = sorted(whole.sites)
        known = self.known_failures(whole.sites)
        for failure in known:
            self.turn(failure)
        chosen = self.chosen(sites)
        for site in chosen:
            # Calls in loops: the first one, or any.
            which = 1 if self.random.random() < 0.6 else self.random.randint(1, whole.sites[site])
            self.turn(call_fail.Failure(site, which, self.random.choice(call_fail.errors_of(site))))
        counted = ", ".join(f"{number} {what}" for what, number in self.counts.items())
        print(f"{os.path.basename(self.task['binary'])} {self.action}: {len(known) + len(chosen)} of {len(sites)} sites: {counted}")
        if self.problems:
            raise Failed("\n".join([f"{len(self.problems)} of {len(known) + len(chosen)} failing calls (of {len(sites)} sites) did harm",
                                    *self.problems]))

    def known_failures(self, sites):
        """Returns the failures that the program asks for, because they once did harm."""
        found = []
        for action, error, call, function in self.task["fails"]:
            if action != self.action:
                continue
            made = re.compile(rf"{call} in (.* < )?{re.escape(function)}( <|$)")
            at = [site for site in sites if made.match(self.symbols.describe(site))]
            if not at:
                raise Failed(f"no call site of {call} in {function}")
            found += [call_fail.Failure(site, 1, getattr(errno, error)) for site in at]
        return found

    def chosen(self, sites):
        """Draws sites. Returns the sites that the regular expression $CRIU_TEST_SITES matches instead, if it is set."""
        wanted = os.environ.get("CRIU_TEST_SITES")
        if wanted:
            return [site for site in sites if re.search(wanted, self.symbols.describe(site))]
        tested = self.tested()
        sites = [site for site in sites if f"{self.action} {site}" not in tested]
        sites = [site for site in sites if not ENDS.match(self.symbols.describe(site))]
        self.random.shuffle(sites)
        return sites[:self.task["turns"]]

    def tested(self):
        """Returns the actions and sites that other programs have tested."""
        return set((processes.text(self.task["tested"]) or "").splitlines()) if self.task["tested"] else set()

    def turn(self, failure):
        """Lets one call fail."""
        self.count += 1
        name = f"{self.action}-{self.count}"
        when = f"after {errno.errorcode[failure.error]} for call {failure.which} of {self.symbols.describe(failure.site)}"
        trial = None
        try:
            self.prepare()
            self.before = self.surroundings()
            trial = self.attempt(failure, name)
            what = "not reached" if not trial.failed else "tolerated" if trial.code == 0 else "failed"
            self.counts[what] += 1
            if trial.failed and self.task["tested"]:
                with open(self.task["tested"], "a", encoding="ascii") as file:
                    file.write(f"{self.action} {failure.site}\n")
            print(f"{what:12} {failure} {self.symbols.describe(failure.site)} status {trial.code}: "
                  f"{trial.reason() if trial.code else ''}", flush=True)
            self.require_no_crash(trial, failure, when)
            (self.judge_success if trial.code == 0 else self.judge_failed)(trial, when)
            self.remove(trial)
        except (Failed, processes.Timeout, OSError) as reason:
            if trial and trial.code == 0 and trial.warns(failure):
                self.counts["tolerated"] -= 1
                self.counts["warned"] += 1
                self.renew()
                return
            said = f": {trial.reason()}" if trial else ""
            self.problems.append(f"{when} ({name}): {reason}{said}")
            print(f"HARM {self.problems[-1]}", flush=True)
            self.renew()

    def remove(self, trial):
        """Removes the images of a run without harm."""
        shutil.rmtree(os.path.dirname(trial.log), ignore_errors=True)

    def require_no_crash(self, trial, failure, when):
        """Requires criu to have ended by itself, without a crash of one of its processes."""
        if trial.code < 0 or trial.code > 127:
            raise Failed(f"{when}: criu ended with {trial.code}")
        for path in (trial.log, trial.log + ".output"):
            found = CRASH.search(processes.text(path) or "")
            if found:
                raise Failed(f"{when}: {path} contains {found.group()!r}")
        if trial.code == 0 and not trial.failed:
            return
        if crashed := [line for line in criu.error_lines(trial.log) if re.search(r"signal (4|6|7|8|11)\b", line)]:
            raise Failed(f"{when}: a process of criu crashed: {crashed[0]}")
        if trial.code and not criu.error_lines(trial.log):
            raise Failed(f"{when}: no Error line ({trial.log})")
        if trial.code and not trial.names(failure):
            raise Failed(f"{when}: no Error line tells of it ({trial.log})")

    def surroundings(self):
        """Returns what a run without effect must leave: mounts, nftables tables, files and journals."""
        return killing.outside(self.task["network"]) | journals()

    def require_surroundings(self, when):
        """Requires that the run has left no mount, no table and no journal."""
        now = self.surroundings()
        if now != self.before:
            raise Failed(f"{when}: left or missing: {sorted(now ^ self.before)}")

    def renew(self):
        """Ends the tree and starts the program again."""
        self.subject.init.kill_all()
        self.renewals += 1
        work = os.path.join(self.task["work"], f"again-{self.renewals}")
        os.mkdir(work)
        self.subject = Subject(self.subject.init, {**self.task, "work": work})
        self.subject.start()

    def finish(self):
        """Checks the restored tree, and starts the program again."""
        self.subject.check()
        self.renew()


class FailingDumps(FailingCalls):
    """Dumps with failing calls."""

    action = "dump"

    def options(self):
        return ["-t", str(self.subject.root), *self.subject.dump_options]

    def judge_failed(self, trial, when):
        subject = self.subject
        if os.path.exists(os.path.join(os.path.dirname(trial.log), "inventory.img")):
            raise Failed(f"{when}: there is an inventory, though the dump has failed")
        subject.require_running(when)
        subject.require_unchanged(when)
        if rollbacks.sockets_in_repair(subject.root):
            raise Failed(f"{when}: a connection stays in repair mode")
        self.require_surroundings(when)

    def judge_success(self, trial, when):
        subject = self.subject
        subject.require_dumped()
        subject.await_free_ids()
        subject.run_between()
        images = os.path.dirname(trial.log)
        subject.require_success(subject.try_restore(subject.ours, images))
        subject.require_unchanged(f"{when}: after the restore")
        self.finish()


class FailingPreDumps(FailingCalls):
    """Pre-dumps with failing calls. A dump builds on each pre-dump that has ended with status 0."""

    action = "pre-dump"

    def options(self):
        return ["-t", str(self.subject.root)]

    def end_daemon(self):
        """Kills the daemon that tracks written memory."""
        for pid in killing.processes_of(self.subject.ours.binary):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # the process has ended by itself
        self.subject.init.until(lambda: not killing.processes_of(self.subject.ours.binary), processes.PATIENCE,
                                "the end of a daemon")

    def judge_failed(self, trial, when):
        subject = self.subject
        if os.path.exists(os.path.join(os.path.dirname(trial.log), "inventory.img")):
            raise Failed(f"{when}: there is an inventory, though the pre-dump has failed")
        subject.require_running(when)
        subject.require_unchanged(when)
        self.require_surroundings(when)

    def judge_success(self, trial, when):
        subject = self.subject
        subject.require_running(when)
        images = subject.images(f"whole-{self.count}")
        parent = os.path.relpath(os.path.dirname(trial.log), images)
        subject.dump(subject.ours, images, ["--track-mem", "--prev-images-dir", parent])
        subject.require_success(subject.try_restore(subject.ours, images))
        subject.require_unchanged(f"{when}: after the restore")
        self.finish()

    def turn(self, failure):
        super().turn(failure)
        self.end_daemon()


class FailingRestores(FailingCalls):
    """Restores with failing calls."""

    action = "restore"

    def __init__(self, subject, task):
        super().__init__(subject, task)
        self.images = None
        self.known = None
        self.files = None

    def prepare(self):
        """Dumps the tree, if it runs."""
        subject = self.subject
        if self.images:
            return
        self.known = {pid for pid in processes.pids() if pid not in processes.tree(subject.root)}
        self.images = subject.images(f"images-{self.count}")
        subject.dump(subject.ours, self.images)
        if subject.own_users:
            os.chmod(self.images, 0o700)  # users of the namespace must not read images
        self.files = subject.list_files()

    def folder(self, name):
        return self.images

    def options(self):
        options = ["-d", *self.subject.restore_options]
        if self.subject.own_pids:
            path = os.path.join(self.images, "root.pid")
            if os.path.exists(path):
                os.unlink(path)
            options += ["--pidfile", path]
        return options

    def renew(self):
        super().renew()
        self.images = None

    def remove(self, trial):
        pass  # the next run restores the same images

    def judge_failed(self, trial, when):
        subject = self.subject
        try:
            subject.require_nothing_left(when, self.known)
        except Failed as reason:
            raise Failed(f"{reason} ({trial.log})") from None
        files = subject.list_files()
        if files != self.files:
            raise Failed(f"{when}: files are left or missing: {sorted(files ^ self.files)}")
        if os.path.exists(os.path.join(self.images, "root.pid")):
            raise Failed(f"{when}: the pid file is left")
        self.require_surroundings(when)

    def judge_success(self, trial, when):
        subject = self.subject
        if subject.own_pids:
            with open(os.path.join(self.images, "root.pid"), encoding="ascii") as file:
                subject.root = int(file.read())
        warned = "Memory of criu stays" in (processes.text(trial.log) or "")
        subject.require_unchanged(when, leftovers=warned)
        self.finish()

    def run(self):
        super().run()
        self.prepare()
        self.subject.require_success(self.subject.try_restore(self.subject.ours, self.images))
        self.subject.require_unchanged("after the last restore")


def _mode(name, series):
    def run(subject, task):
        calls = series(subject, task)
        calls.run()
        calls.subject.check()
    return modes.Mode(name, run, scenario=True, beyond_42=True)


SCENARIOS = [_mode("calls-fail", FailingDumps), _mode("pre-dump-calls-fail", FailingPreDumps),
             _mode("restore-calls-fail", FailingRestores)]
