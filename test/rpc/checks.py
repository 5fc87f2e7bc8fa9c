# SPDX-License-Identifier: GPL-2.0-only
"""Checks, pipes and a running service, for all cases."""

import os

from harness import processes


class Failed(Exception):
    """Not as it should be."""


class Skipped(Exception):
    """Can't be tried here, and why."""


def require(condition, message):
    """A check."""
    if not condition:
        raise Failed(message)


def pipe_numbers():
    """The ends of a pipe."""
    return os.pipe2(os.O_CLOEXEC)


def start_service(case, *options, env=None):
    """A service that waits for clients; its pid, and the path of its socket."""
    reading, writing = pipe_numbers()
    folder = os.path.join(case.work, "service")
    os.makedirs(folder, exist_ok=True)
    pid = case.init.start([case.criu, "service", "--no-default-config", "-W", folder, "--address", "socket", "-o",
                           "service.log", "-v4", "--status-fd", "9", *options], "/", case.output, env=env,
                          passed={9: writing})
    os.close(writing)
    require(os.read(reading, 1) == b"\0", f"the service isn't ready: {processes.text(case.output)}")
    os.close(reading)
    return pid, os.path.join(folder, "socket")
