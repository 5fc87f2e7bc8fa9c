# SPDX-License-Identifier: GPL-2.0-only
"""What the drivers of real services have in common: a server and its clients in one tree, so that both ends of each
connection are dumped. A driver works with its server until SIGTERM and then says whether all was right."""

import os
import shutil
import signal
import subprocess
import sys
import time

ENDING = []


class Wrong(Exception):
    """The service did something that it shouldn't."""


def require(condition, what):
    """Fails the driver."""
    if not condition:
        raise Wrong(what)


def until(condition, seconds, what):
    """Waits for a condition."""
    deadline = time.monotonic() + seconds
    while not condition():
        require(time.monotonic() < deadline, f"no {what} after {seconds} s")
        time.sleep(0.01)


def path_of(program):
    """Where a program is."""
    found = shutil.which(program)
    require(found, f"no {program}")
    return found


def start(argv, log, **how):
    """Starts a server in the foreground, its output in a file."""
    with open(log, "wb") as file:
        return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=file, stderr=file, **how)


def stop(server):
    """Ends a server; it has to end well."""
    server.send_signal(signal.SIGTERM)
    code = server.wait(60)
    require(code in (0, -signal.SIGTERM, 128 + signal.SIGTERM), f"the server ended with {code}")


def work(turn, finish):
    """Calls turn() until SIGTERM, then finish(). Exits the program."""
    signal.signal(signal.SIGTERM, lambda number, frame: ENDING.append(number))
    try:
        print("READY", flush=True)
        while not ENDING:
            turn()
        finish()
    except (Wrong, OSError, AssertionError) as error:
        print(f"FAIL {type(error).__name__}: {error}", flush=True)
        os._exit(1)  # pylint: disable=protected-access
    print("PASS", flush=True)
    sys.exit(0)
