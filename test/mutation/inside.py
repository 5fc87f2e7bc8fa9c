# SPDX-License-Identifier: GPL-2.0-only
"""Init of the namespaces of one test: runs the command of its arguments, and ends with its exit status."""

import fcntl
import os
import signal
import socket
import struct
import sys


def bring_up_loopback():
    """Enables the loopback device of this network namespace."""
    get, put, up = 0x8913, 0x8914, 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        name, flags = struct.unpack("16sH", fcntl.ioctl(any_socket, get, struct.pack("16sH14x", b"lo", 0))[:18])
        fcntl.ioctl(any_socket, put, struct.pack("16sH14x", name, flags | up))


def main():
    """Starts the command and reaps all processes until it ends."""
    bring_up_loopback()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.execvp(sys.argv[1], sys.argv[1:])
    while True:
        ended, status = os.wait()
        if ended == pid:
            code = os.waitstatus_to_exitcode(status)
            # Not os._exit(): the kernel ends all processes of the namespace with init.
            sys.exit(code if code >= 0 else 128 - code)


main()
