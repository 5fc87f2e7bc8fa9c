# SPDX-License-Identifier: GPL-2.0-only
"""The programs under test, and trees for them to work on."""

import contextlib
import os
import subprocess
import time
import unittest

BUILD = os.environ["CRIU_BUILD"]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CRIU = os.path.join(BUILD, "bin", "criu")


def run(program, *words, data=None, **options):
    """Runs a program of the build; its bytes of output are in stdout and stderr."""
    return subprocess.run([os.path.join(BUILD, "bin", program), *words], input=data, capture_output=True, check=False,
                          timeout=120, **options)


def crit(*words, data=None, **options):
    """Runs crit."""
    return run("crit", *words, data=data, **options)


def need_root():
    """Skips a test that must dump something."""
    if os.geteuid() != 0:
        raise unittest.SkipTest("not root")


@contextlib.contextmanager
def program(*words):
    """A program in a session of its own, which is gone afterwards; yields its pid."""
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          start_new_session=True) as child:
        try:
            wait_until(lambda: os.readlink(f"/proc/{child.pid}/exe") != os.path.realpath("/proc/self/exe"))
            yield child.pid
        finally:
            child.kill()


def wait_until(condition, seconds=20):
    """Waits for something to become true; fails if it doesn't."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("waited in vain")
        time.sleep(0.02)


def dump(pid, images, *words):
    """Dumps a tree."""
    os.makedirs(images, exist_ok=True)
    result = run("criu", "dump", "--tree", str(pid), "--images-dir", images, *words)
    if result.returncode != 0:
        raise AssertionError(result.stderr.decode(errors="replace"))
