# SPDX-License-Identifier: GPL-2.0-only
"""Results of a suite: one line for each test, failures with the command that repeats them, and the closing count."""

import concurrent.futures
import time


class Outcome:
    """Result of one run of a test."""

    def __init__(self, state, details=()):
        self.state = state  # "passed", "failed" or "skipped"
        self.details = list(details)


def show(title, failures, rerun):
    """Prints the reasons of failures, and how to repeat them."""
    if not failures:
        return
    print(f"\n{title}")
    for name, outcome in sorted(failures, key=lambda item: item[0]):
        print(f"  {name}")
        for line in outcome.details:
            print(f"      {line}")
        print(f"      again: {rerun(name)}")


def run_all(names, run, rerun, jobs, tried_again=None):
    """Runs run(name) -> Outcome for each name, several at once, and prints results. Returns the exit code.

    With a list `tried_again`, tests that failed run again alone, because a busy machine disturbs tests that depend
    on time. The list gets the names of tests that passed then. The closing lines show them with their first failure.
    """
    began = time.monotonic()
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    failures = []
    with concurrent.futures.ThreadPoolExecutor(max_workers=jobs) as pool:
        pending = {pool.submit(run, name): name for name in names}
        try:
            for future in concurrent.futures.as_completed(pending):
                name = pending[future]
                outcome = future.result()
                counts[outcome.state] += 1
                if outcome.state == "failed":
                    failures.append((name, outcome))
                reason = f": {outcome.details[0]}" if outcome.details else ""
                print(f"{outcome.state:8}{name}{reason}", flush=True)
        except KeyboardInterrupt:
            for future in pending:
                future.cancel()
            raise
    if tried_again is not None:
        first = failures
        failures = []
        for name, before in first:
            outcome = run(name)
            print(f"{outcome.state:8}{name}, the second time", flush=True)
            if outcome.state == "passed":
                counts["failed"] -= 1
                counts["passed"] += 1
                tried_again.append(name)
            else:
                outcome.details += ["the first time:", *before.details]
                failures.append((name, outcome))
        first = [item for item in first if item[0] in tried_again]
        show("Failed the first time:", first, rerun)
    show("Failures:", failures, rerun)
    print(f"\n{time.monotonic() - began:.0f} s")
    if tried_again:
        print("passed only when tried again: " + ", ".join(f"{name} ({outcome.details[0]})" for name, outcome in first))
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or not names else 0
