# SPDX-License-Identifier: GPL-2.0-only
"""Checks, pipes and a running service, for all cases."""

import os

from harness import processes


class Failed(Exception):
    """Error for a failed check."""


class Skipped(Exception):
    """Error for a case that can't run here, with the reason."""


def require(condition, message):
    """Raises Failed unless the condition is true."""
    if not condition:
        raise Failed(message)


def pipe_numbers():
    """Returns the ends of a pipe."""
    return os.pipe2(os.O_CLOEXEC)


def start_service(case, *options, env=None):
    """Starts a service. Returns its pid and the path of its socket."""
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
