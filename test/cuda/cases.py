# SPDX-License-Identifier: GPL-2.0-only
"""Cases of a GPU program that is dumped and restored, for the suite with the fake driver and the one on hardware."""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time


class Failed(Exception):
    """Failure of a case."""


class Settings:
    """Paths and settings of a suite."""

    def __init__(self, criu, counter, images, libraries=None, environment=None, machine=None):
        self.criu = criu
        self.counter = counter
        self.images = images
        self.libraries = libraries  # LD_LIBRARY_PATH of criu alone
        self.environment = environment or {}
        self.check = None  # function that checks a run and its log after each successful command
        self.machine = machine  # GPUs and driver that criu sees, for the fake driver
        self.small = None  # folder with small file systems, for cases that need a lack of room


class Run:
    """A program from its start to its end."""

    def __init__(self, settings, command, ready, count=1, environment=None):
        self.settings = settings
        self.work = tempfile.mkdtemp(prefix="criu-cuda-", dir=settings.images)
        self.output = os.path.join(self.work, "out")
        self.images = os.path.join(self.work, "images")
        self.times = {}
        with open(self.output, "wb") as out, open(os.devnull, "rb") as none:
            self.process = subprocess.Popen(  # pylint: disable=consider-using-with
                command, stdin=none, stdout=out, stderr=out, start_new_session=True, cwd=self.work,
                env={**os.environ, **settings.environment, **(environment or {})})
        self.pid = self.process.pid
        self.until(lambda: len(self.lines(ready)) >= count, 120, "the program to be ready")

    def lines(self, start):
        with open(self.output, encoding="utf-8", errors="replace") as file:
            return [line.strip() for line in file if line.startswith(start)]

    def until(self, condition, seconds, what):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise Failed(f"waited {seconds} s for {what}")
            if self.process is not None and self.process.poll() is not None and not condition():
                raise Failed(f"the program ended ({self.process.returncode}) before {what}: {self._tail()}")
            time.sleep(0.01)

    def _tail(self):
        with open(self.output, encoding="utf-8", errors="replace") as file:
            return " | ".join(file.read().strip().splitlines()[-6:])

    def command(self, verb, *options):
        """Returns the command line of criu."""
        words = [self.settings.criu, verb, "-D", self.images, "-o", f"{verb}.log", "-v4", *options]
        return words if self.settings.machine is None else self.settings.machine.seen_by(words)

    def log(self, verb):
        with open(os.path.join(self.images, f"{verb}.log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def why(self, verb):
        """Returns the last error of the log."""
        errors = [line.strip() for line in self.log(verb).splitlines() if "Error" in line]
        return errors[-1] if errors else "nothing"

    def criu(self, verb, *options, environment=None):
        """Runs criu. Returns its exit code and its error messages."""
        os.makedirs(self.images, exist_ok=True)
        variables = {**os.environ, **self.settings.environment, **(environment or {})}
        if self.settings.libraries:
            variables["LD_LIBRARY_PATH"] = ":".join([self.settings.libraries, variables.get("LD_LIBRARY_PATH", "")])
        start = time.monotonic()
        run = subprocess.run(self.command(verb, *options), env=variables, stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, timeout=600, check=False)
        self.times[verb] = time.monotonic() - start
        log = self.log(verb)
        self.times[f"{verb} driver"] = sum(int(ms) for ms in re.findall(r"(?:copied out|done) in (\d+) ms", log)) / 1000
        said = [line.strip() for line in log.splitlines() if "Error" in line or "Warn" in line]
        return run.returncode, f"{run.stderr.strip()} {' | '.join(said)}".strip()

    def must(self, verb, *options):
        code, said = self.criu(verb, *options)
        if code != 0:
            raise Failed(f"criu {verb}: exit code {code}: {said}")
        self.last = options
        if self.settings.check is not None:
            self.settings.check(self, verb)

    def dump(self, *options):
        self.must("dump", "-t", str(self.pid), *options)
        if "--leave-running" not in options and self.process is not None:
            self.process.wait(60)
            self.process = None

    def restore(self, *options):
        self.must("restore", "-d", *options)

    def refused(self, verb, pattern, *options, environment=None):
        """Requires a command to fail with a message."""
        if verb in ("dump", "pre-dump"):
            options = ("-t", str(self.pid), *options)
        code, said = self.criu(verb, *options, environment=environment)
        if code == 0:
            raise Failed(f"criu {verb} ended well")
        if not re.search(pattern, said, re.DOTALL):
            raise Failed(f"criu {verb} didn't say /{pattern}/ but: {said}")

    def alive(self):
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def size(self):
        return sum(os.stat(os.path.join(self.images, name)).st_blocks * 512 for name in os.listdir(self.images))

    def end(self, count):
        os.kill(self.pid, signal.SIGTERM)
        self.until(lambda: len(self.lines("PASS") + self.lines("FAIL")) >= count, 120, "the program's check")
        if self.lines("FAIL"):
            raise Failed("; ".join(self.lines("FAIL")))

    def stop(self):
        """Kills the program at once, as a crash of its machine would."""
        os.killpg(self.pid, signal.SIGKILL)
        self.process.wait()
        self.process = None

    def clean(self):
        try:
            os.killpg(self.pid, signal.SIGKILL)  # the program has its own session
        except ProcessLookupError:
            pass
        if self.process is not None:
            self.process.wait()
        shutil.rmtree(self.work, ignore_errors=True)


def lazy(settings, *words):
    """Restores a program whose host memory comes later, from a lazy-pages daemon."""
    run = Run(settings, [settings.counter, *words], "READY")
    try:
        run.dump()
        size = run.size()
        run.must("lazy-pages", "--daemon", "--pidfile", "lazy.pid")
        run.restore("--lazy-pages")
        run.end(1)
        return run.times, size
    finally:
        run.clean()


def counter(settings, *words, processes=1, times=1, dump=(), restore=()):
    """Dumps and restores a program that fills memory and counts, this many times."""
    command = [settings.counter, *words]
    if processes > 1:
        command += ["processes", str(processes)]
    run = Run(settings, command, "READY", processes)
    try:
        for _ in range(times):
            time.sleep(0.2)
            run.dump(*dump)
            size = run.size()
            if "--leave-running" not in dump:
                run.restore(*restore)
            time.sleep(0.2)
        run.end(processes)
        return run.times, size
    finally:
        run.clean()
