# SPDX-License-Identifier: GPL-2.0-only
"""Threads, a lock, a queue, 100 MB in one bytearray, and objects in cycles; on SIGTERM it says whether all is right."""

import gc
import hashlib
import queue
import signal
import sys
import threading
import time

ENDING = threading.Event()
JOBS = queue.Queue(maxsize=10)
RESULTS = {}
LOCK = threading.Lock()


def chain(number, rounds=200):
    """A hash of a hash of a hash …"""
    value = str(number).encode()
    for _ in range(rounds):
        value = hashlib.sha256(value).digest()
    return value


def produce():
    """Numbers for the others, for as long as the program runs."""
    number = 0
    while not ENDING.is_set():
        JOBS.put(number % 100)
        number += 1
    for _ in range(4):
        JOBS.put(None)


def consume():
    """Each number has to give the same result whenever it comes."""
    while True:
        number = JOBS.get()
        if number is None:
            return
        value = chain(number)
        with LOCK:
            if RESULTS.setdefault(number, value) != value:
                print(f"FAIL number {number} gave another result", flush=True)


def ring(length):
    """Objects that only the garbage collector can free."""
    first = node = {"name": 0}
    for name in range(1, length):
        node["next"] = {"name": name}
        node = node["next"]
    node["next"] = first
    return first


def main():
    """Starts it all, waits for SIGTERM, checks."""
    signal.signal(signal.SIGTERM, lambda number, frame: ENDING.set())
    block = hashlib.shake_128(b"block").digest(1_000_000)
    data = bytearray(block * 100)
    digest = hashlib.sha256(data).hexdigest()
    objects = ring(10_000)
    threads = [threading.Thread(target=produce)] + [threading.Thread(target=consume) for _ in range(4)]
    for thread in threads:
        thread.start()
    while len(RESULTS) < 100:
        time.sleep(0.01)
    print("READY", flush=True)
    while not ENDING.is_set():
        time.sleep(0.05)
    for thread in threads:
        thread.join()
    problems = []
    if hashlib.sha256(data).hexdigest() != digest or data[:1_000_000] != block:
        problems.append("the data changed")
    if any(RESULTS[number] != chain(number) for number in range(100)):
        problems.append("a result changed")
    node = objects
    for _ in range(10_000):
        node = node["next"]
    if node is not objects:
        problems.append("the ring broke")
    del node, objects
    if gc.collect() < 10_000:
        problems.append("the garbage collector lost objects")
    print("FAIL " + ", ".join(problems) if problems else "PASS", flush=True)
    return 1 if problems else 0


sys.exit(main())
