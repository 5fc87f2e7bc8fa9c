# SPDX-License-Identifier: GPL-2.0-only
"""Pseudoterminal with a session, controlled from its master."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time


class Silent(AssertionError):
    """Error for missing output."""


class Terminal:
    """Pseudoterminal. `seen` has the output of programs."""

    ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C", "TERM": "xterm", "PS1": "$ ", "HOME": "/"}

    def __init__(self, rows=24, columns=200):
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.seen = ""
        self.mark = 0

    def resize(self, rows, columns):
        """Changes the window's size."""
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def start(self, argv, cwd, inherit=()):
        """Starts a program that leads a session with this terminal. Returns its pid. `inherit`: (fd here, fd there)."""
        pid = os.fork()
        if pid:
            return pid
        try:
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
            copies = [(fcntl.fcntl(here, fcntl.F_DUPFD, 100), there) for here, there in inherit]
            for standard in range(3):
                os.dup2(self.slave, standard)
            os.closerange(3, 100)
            for copy, there in copies:
                os.dup2(copy, there)
            os.closerange(100, 200)
            os.chdir(cwd)
            for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, set())
            os.execve(argv[0], argv, self.ENVIRONMENT)
        except BaseException as error:  # pylint: disable=broad-except
            os.write(2, f"exec {argv[0]}: {error}\n".encode())
        finally:
            os._exit(127)

    def close_slave(self):
        """Closes the slave, which only the session then has."""
        os.close(self.slave)
        self.slave = -1

    def type(self, text):
        """Types a text. expect() checks only output after this call."""
        self.collect(0)
        self.mark = len(self.seen)
        os.write(self.master, text.encode())

    def collect(self, seconds):
        """Reads the available output; waits for up to `seconds` for some."""
        while select.select([self.master], [], [], seconds)[0]:
            try:
                block = os.read(self.master, 65536)
            except OSError:
                return  # no process has the slave open
            self.seen += block.decode(errors="replace")
            seconds = 0

    def expect(self, text, seconds=60):
        """Waits until the text has appeared since the last type()."""
        self.expect_match(re.escape(text), seconds)

    def expect_match(self, pattern, seconds=60):
        """Waits for a match of a regular expression, and returns it."""
        deadline = time.monotonic() + seconds
        while True:
            found = re.search(pattern, self.seen[self.mark:])
            left = deadline - time.monotonic()
            if found:
                return found
            if left <= 0:
                raise Silent(f"{pattern} did not appear, but {self.seen[self.mark:]!r}")
            self.collect(min(left, 0.1))
