# SPDX-License-Identifier: GPL-2.0-only
"""Runs tests on a build with planted mistakes.

First each test runs once without a mistake, and records which mistakes it reaches. Then the tests that reach a mistake
run with it until one fails. A failure counts if the test passes without the mistake right after it, and fails with it
again. Each test runs in namespaces of its own, and with a time limit.
"""

import heapq
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time

import suites

HERE = os.path.dirname(os.path.abspath(__file__))
REACHED_SIZE = 8192
SLICE = 6           # tests that a worker runs in a row for one mistake
SHORTEST_LIMIT = 25  # seconds


class Over(Exception):
    """The time of the run is over before the end of a test."""


class Place:
    """Folder of one worker: hard links to the build, and what selects a mistake for programs in it."""

    def __init__(self, out, number, end):
        self.out = out
        self.end = end  # time of the monotonic clock at which the run ends, or None
        self.path = os.path.join(out, "workers", str(number))
        self.build = os.path.join(self.path, "build")
        self.scratch = os.path.join(self.path, "scratch")
        self.reached = os.path.join(self.path, "reached")
        shutil.rmtree(self.path, ignore_errors=True)
        os.makedirs(self.path)
        shutil.copytree(os.path.join(out, "build"), self.build, symlinks=True, copy_function=os.link)
        with open(self.reached, "wb") as file:
            file.truncate(REACHED_SIZE)
        os.chmod(self.reached, 0o666)

    def run(self, test, number, limit, probe=False):
        """Runs a test with a mistake (0: none). Returns how it ended, its time and its output."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        os.makedirs(self.scratch)
        environment = {**os.environ, "CRIU_MUTANT": str(number),
                       "PYTHONPYCACHEPREFIX": os.path.join(self.out, "compiled")}
        if probe:
            environment["CRIU_MUTANT_REACHED"] = self.reached
            with open(self.reached, "r+b") as file:
                file.write(bytes(REACHED_SIZE))
        with open(os.path.join(self.path, "mutant"), "w", encoding="ascii") as file:
            file.write(f"{number} {self.reached}\n" if probe else f"{number}\n")
        words = [word.format(build=self.build, tree=os.path.join(self.out, "tree"), scratch=self.scratch) for word in test["words"]]
        command = ["unshare", "--pid", "--mount", "--ipc", "--uts", "--net", "--fork", "--kill-child=SIGKILL", "--mount-proc",
                   sys.executable, "-S", "-E", "-B", os.path.join(HERE, "inside.py"), *words]
        began = time.monotonic()
        left = limit if self.end is None else self.end + 15 - began
        with open(os.path.join(self.path, "output"), "w+b") as output:
            process = subprocess.Popen(command, cwd=os.path.join(self.out, "tree"), stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                       env=environment, start_new_session=True)
            try:
                code = process.wait(max(0, min(limit, left)))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                if left < limit:
                    raise Over() from None
                code = "timeout"
            except BaseException:
                process.kill()
                process.wait()
                raise
            output.seek(0)
            text = output.read().decode("utf-8", "replace")
        shutil.rmtree(self.scratch, ignore_errors=True)
        return code, time.monotonic() - began, text

    def numbers(self):
        """Returns the mistakes that the last test reached."""
        with open(self.reached, "rb") as file:
            return [number for number, byte in enumerate(file.read()) if byte]


def state_of(code, text):
    """Returns "passed", "failed", "timeout" or "skipped"."""
    if code == "timeout":
        return code
    if code == 77:
        return "skipped"
    closing = re.findall(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", text, re.MULTILINE)
    if code == 0 and closing and closing[-1][0] == "0":
        return "skipped"
    if "skipped:" in text and code == 0 and "All tests passed (0 " in text:
        return "skipped"
    return "passed" if code == 0 else "failed"


def reason_of(text):
    """Returns the part of a failed test's output that tells most."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for pattern in (r"FAILED:|^failed|^FAIL:", r"Error|error:|fatal|SIG", r""):
        if telling := [line for line in lines if re.search(pattern, line)]:
            return " / ".join(line[:160] for line in telling[:3])
    return ""


class Results:
    """results.json: results so far."""

    def __init__(self, path):
        self.path = path
        self.lock = threading.Lock()
        self.tests = {}    # name: {"state", "seconds", "reaches"}
        self.mutants = {}  # number as text: {"killed by", "how", "reason", "tried"}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                document = json.load(file)
            self.tests, self.mutants = document["tests"], document["mutants"]

    def save(self):
        """Writes the file."""
        with self.lock:
            text = json.dumps({"tests": self.tests, "mutants": self.mutants}, ensure_ascii=False)
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(self.path + ".new", self.path)


def words_of(text):
    """Returns the words of a path or a test's name."""
    return {word.rstrip("s") for word in re.split(r"[^a-z0-9]+", text.lower()) if len(word) > 2} - {"cpp", "hpp", "criu", "once", "the"}


class Run:
    """One run of the tests, with some workers."""

    def __init__(self, arguments):
        self.out = arguments.out
        self.arguments = arguments
        with open(os.path.join(self.out, "mutants.json"), encoding="utf-8") as file:
            self.mutants = {mutant["number"]: mutant for mutant in json.load(file)["mutants"] if mutant["planted"]}
        with open(os.path.join(self.out, "tests.json"), encoding="utf-8") as file:
            self.tests = {test["name"]: test for test in json.load(file)
                          if not arguments.suites or test["suite"] in arguments.suites.split(",")}
        if arguments.only:
            wanted = [int(number) for number in arguments.only.split(",")]
            self.mutants = {number: self.mutants[number] for number in wanted}
        self.results = Results(arguments.results)
        self.end = time.monotonic() + 60 * arguments.minutes if arguments.minutes else None
        self.queue = []
        self.running = 0
        self.condition = threading.Condition()
        self.places = [Place(self.out, number, self.end) for number in range(arguments.jobs)]

    def over(self):
        """Returns whether the time is over."""
        return self.end is not None and time.monotonic() > self.end

    def in_parallel(self, tasks, work):
        """Calls work(place, task) for each task, which are taken in their order."""
        tasks = list(tasks)
        heapq.heapify(tasks)
        lock = threading.Lock()
        broken = []

        def worker(place):
            while not self.over() and not broken:
                with lock:
                    if not tasks:
                        return
                    task = heapq.heappop(tasks)
                try:
                    work(place, task)
                except Over:
                    return
                except BaseException as error:  # pylint: disable=broad-except
                    broken.append(error)
                    raise

        threads = [threading.Thread(target=worker, args=(place,), daemon=True) for place in self.places]
        for thread in threads:
            thread.start()
        saved = time.monotonic()
        while any(thread.is_alive() for thread in threads):
            time.sleep(0.2)
            if time.monotonic() - saved > 10:
                self.results.save()
                saved = time.monotonic()
        self.results.save()
        if broken:
            sys.exit(f"stopped by: {broken[0]!r}")

    def probe(self):
        """Records which mistakes each test reaches."""
        missing = [name for name in self.tests if name not in self.results.tests]
        done = 0

        def work(place, task):
            nonlocal done
            test = self.tests[task[1]]
            code, seconds, text = place.run(test, 0, 300, probe=True)
            state, reached = state_of(code, text), place.numbers()
            if state in ("failed", "timeout"):
                # Only a test that fails without the probe, too, fails for its own reasons.
                code, seconds, text = place.run(test, 0, 300)
                state = state_of(code, text)
            entry = {"state": state, "seconds": round(seconds, 2), "reaches": reached if state == "passed" else []}
            if state in ("failed", "timeout"):
                entry["reason"] = reason_of(text)
            with self.results.lock:
                self.results.tests[test["name"]] = entry
            done += 1
            if done % 50 == 0:
                print(f"{done} of {len(missing)} tests probed", flush=True)

        # Long suites first.
        self.in_parallel([(-suites.ORDER.index(self.tests[name]["suite"]), name) for name in missing], work)

    def tests_of(self, mutant):
        """Returns the names of the tests that reach a mistake, in the order in which they are tried."""
        subject = words_of(mutant["file"])

        def rank(name):
            entry = self.results.tests[name]
            suite = self.tests[name]["suite"]
            quick = suite in ("unit", "compel", "memory")
            return (not quick, -len(subject & words_of(name)), len(entry["reaches"]) * (1 + entry["seconds"] / 4), entry["seconds"], name)

        return sorted((name for name in self.tests if mutant["number"] in self.results.tests.get(name, {}).get("reaches", ())), key=rank)

    def limit_of(self, name):
        return SHORTEST_LIMIT + 6 * self.results.tests[name]["seconds"]

    def kill(self):
        """Runs tests with each mistake until one fails."""
        tasks = []
        for number, mutant in self.mutants.items():
            entry = self.results.mutants.setdefault(str(number), {"killed by": None, "tried": []})
            if entry["killed by"]:
                continue
            tried = set(entry["tried"])
            names = [name for name in self.tests_of(mutant)[:self.arguments.most or None] if name not in tried]
            for first in range(0, len(names), SLICE):
                tasks.append((first // SLICE, number, names[first:first + SLICE]))

        def work(place, task):
            _, number, names = task
            entry = self.results.mutants[str(number)]
            for name in names:
                if entry["killed by"] or self.over():
                    return
                self.attempt(place, number, name, entry)

        self.in_parallel(tasks, work)

    def attempt(self, place, number, name, entry):
        """Runs one test with a mistake, and records the result."""
        test, limit = self.tests[name], self.limit_of(name)
        code, _, text = place.run(test, number, limit)
        state = state_of(code, text)
        # A test that skips itself because of a mistake hides it.
        if state in ("failed", "timeout"):
            without = state_of(*place.run(test, 0, limit)[::2])
            again = state_of(*place.run(test, number, limit)[::2])
            if without == "passed" and again in ("failed", "timeout"):
                with self.results.lock:
                    if not entry["killed by"]:
                        entry.update({"killed by": name, "how": state, "reason": "" if state == "timeout" else reason_of(text)})
                mutant = self.mutants[number]
                print(f"killed   {number:4} {mutant['file']}:{mutant['line']} by {name} ({state})", flush=True)
                return
            with self.results.lock:
                entry.setdefault("doubtful", []).append([name, state, without, again])
        with self.results.lock:
            entry["tried"].append(name)

    def run(self):
        """Both steps."""
        began = time.monotonic()
        self.probe()
        print(f"tests probed after {time.monotonic() - began:.0f} s", flush=True)
        if all(name in self.results.tests for name in self.tests) and not self.arguments.probe:
            self.kill()
        report(self.out, self.results)
        if self.over():
            print("\nnot finished; the same command goes on")
        shutil.rmtree(os.path.join(self.out, "workers"), ignore_errors=True)


def report(out, results):
    """Prints the table."""
    with open(os.path.join(out, "mutants.json"), encoding="utf-8") as file:
        document = json.load(file)
    with open(os.path.join(HERE, "equivalent"), encoding="utf-8") as file:
        judged = [line for line in file if not line.startswith("#")]
    reached = {}
    for name, test in results.tests.items():
        for number in test["reaches"]:
            reached.setdefault(number, []).append(name)
    planted = [mutant for mutant in document["mutants"] if mutant["planted"]]
    kinds = {"not reached by any test": [], "survived": [], "equivalent": [], "not tried yet": []}
    by_suite = {}
    folders = {}
    for mutant in planted:
        entry = results.mutants.get(str(mutant["number"]), {"killed by": None, "tried": []})
        counts = folders.setdefault(mutant["folder"], [0, 0])
        counts[0] += 1
        if entry["killed by"]:
            suite = entry["killed by"].split(" ")[0]
            by_suite[suite] = by_suite.get(suite, 0) + 1
            counts[1] += 1
        elif is_judged(mutant, judged):
            kinds["equivalent"].append(mutant)
        elif mutant["number"] not in reached:
            kinds["not reached by any test"].append(mutant)
        elif not entry["tried"]:
            kinds["not tried yet"].append(mutant)
        else:
            kinds["survived"].append(mutant)
    states = {}
    for test in results.tests.values():
        states[test["state"]] = states.get(test["state"], 0) + 1
    print("\ntests: " + ", ".join(f"{count} {state}" for state, count in sorted(states.items())))
    for name, test in results.tests.items():
        if test["state"] in ("failed", "timeout"):
            print(f"    {test['state']} without a mistake: {name}: {test.get('reason', '')[:150]}")
    for kind, mutants in kinds.items():
        if not mutants:
            continue
        print(f"\n{kind}:")
        for mutant in mutants:
            entry = results.mutants.get(str(mutant["number"]), {"tried": []})
            print(f"    {mutant['number']:4} {mutant['file']}:{mutant['line']}: {mutant['operator']}: {shorten(mutant['change'])}")
            print(f"         in: {mutant['code']}")
            reaching = reached.get(mutant["number"], [])
            if reaching:
                print(f"         {len(entry['tried'])} of {len(reaching)} tests tried, such as {', '.join((entry['tried'] or reaching)[:3])}")
            for line in entry.get("doubtful", [])[:2]:
                print(f"         doubtful: {line}")
    print("\nfolder                    planted   killed")
    for folder, (count, killed) in sorted(folders.items()):
        print(f"{folder:24} {count:8} {killed:8}")
    killed = sum(by_suite.values())
    equivalent = len(kinds["equivalent"])
    print("\nkilled by: " + ", ".join(f"{suite} {count}" for suite, count in sorted(by_suite.items(), key=lambda item: -item[1])))
    print(f"{len(planted)} planted, {killed} killed, {equivalent} equivalent, {len(kinds['not reached by any test'])} not reached, "
          f"{len(kinds['survived'])} survived, {len(kinds['not tried yet'])} not tried: "
          f"{100 * killed / max(1, len(planted) - equivalent):.1f} % killed")
    outside = [mutant for mutant in document["mutants"] if mutant["not planted"]]
    reasons = {}
    for mutant in outside:
        reasons[mutant["not planted"]] = reasons.get(mutant["not planted"], 0) + 1
    print("drawn, but not planted: " + (", ".join(f"{count} ({reason})" for reason, count in sorted(reasons.items())) or "none"))


def is_judged(mutant, judged):
    """Returns whether lines of the file `equivalent` name a mistake. Code may contain the separator."""
    head = " | ".join((mutant["file"], mutant["operator"], shorten(mutant["change"]), mutant["code"], ""))
    return any(line.startswith(head) for line in judged)


def shorten(change):
    """Returns one short line for a change."""
    return change if len(change) <= 140 else change[:68] + " … " + change[-68:]
