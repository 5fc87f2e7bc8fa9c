# SPDX-License-Identifier: GPL-2.0-only
"""Program of the test jobs: three processes compute a chain of checksums. usage: worker.py STEPS STATUS [FILE]

The last process writes a line for each step. After half of the steps, it waits until the file `go` exists. It locks
FILE. Each process has a new pipe to the next one.
"""

import fcntl
import hashlib
import os
import sys
import time


def next_link(value, process):
    """Returns the next checksum of a process."""
    return hashlib.sha256(value + bytes([process])).digest()


def lines(steps):
    """Returns the lines that a complete run writes."""
    value = b"\0" * 32
    result = []
    for step in range(steps):
        for process in range(3):
            value = next_link(value, process)
        result.append(f"step {step} {value.hex()}")
    return result


def forward(source, target, process):
    """Reads checksums, and writes the next ones, until the end of the source."""
    while len(value := os.read(source, 32)) == 32:
        os.write(target, next_link(value, process))
    os._exit(0)


def main():
    """Computes all steps."""
    steps, status = int(sys.argv[1]), int(sys.argv[2])
    if len(sys.argv) > 3:
        lock = open(sys.argv[3], "w", encoding="ascii")  # pylint: disable=consider-using-with
        fcntl.lockf(lock, fcntl.LOCK_EX)
    print(f"begin {os.getpid()}", flush=True)
    source, first = os.pipe()
    for process in range(2):
        following = os.pipe()
        if os.fork() == 0:
            os.close(following[0])
            os.close(first)
            forward(source, following[1], process)
        os.close(source)
        os.close(following[1])
        source = following[0]
    value = b"\0" * 32
    for step in range(steps):
        os.write(first, value)
        value = next_link(os.read(source, 32), 2)
        print(f"step {step} {value.hex()}", flush=True)
        while step == steps // 2 and not os.path.exists("go"):
            time.sleep(0.05)
    os.close(first)
    for _ in range(2):
        os.wait()
    sys.exit(status)


if __name__ == "__main__":
    main()
