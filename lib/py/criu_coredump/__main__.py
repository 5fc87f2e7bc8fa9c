# SPDX-License-Identifier: GPL-2.0-only
"""Command line of criu-coredump."""

from __future__ import annotations

import argparse
import os
import struct
import sys
import tempfile

from crit.checkpoint import Checkpoint, CheckpointError
from pycriu import __version__
from pycriu.images import ImageError

from .core_file import CoreFile


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="criu-coredump", description="Makes core files, core.PID, of dumped processes.")
    parser.add_argument("-i", "--in", dest="input", default=".", metavar="DIR", help="where the images are (default: here)")
    parser.add_argument("-o", "--out", dest="output", default=".", metavar="DIR", help="where core files go (default: here)")
    parser.add_argument("-p", "--pid", type=int, help="of this process only")
    parser.add_argument("--version", action="version", version=__version__)
    return parser


def _write_new(core: CoreFile, name: str) -> None:
    """Writes the core into a new file, which then replaces a file or link of this name. Other users of the directory may
    have made that one. Only the owner may read the file, because it may contain memory of other users' processes.
    """
    descriptor, temporary = tempfile.mkstemp(prefix=os.path.basename(name) + ".", dir=os.path.dirname(name) or ".")
    try:
        with open(descriptor, "wb") as out:
            core.write(out)
        os.replace(temporary, name)
    except BaseException:
        os.unlink(temporary)
        raise


def main() -> int:
    """Writes the core files. Returns the exit status: 0, or 1 for any failure."""
    options = _parser().parse_args()
    try:
        checkpoint = Checkpoint(options.input)
        chosen = [process for process in checkpoint.processes
                  if options.pid == process.pid or options.pid is None and not process.is_zombie]
        if not chosen:
            raise CheckpointError(f"{options.input} has no process {options.pid}")
        for process in chosen:
            if process.is_zombie:
                raise CheckpointError(f"process {process.pid} had ended when it was dumped; it has no memory")
            _write_new(CoreFile(checkpoint, process), os.path.join(options.output, f"core.{process.pid}"))
    except (CheckpointError, ImageError, OSError) as error:
        print(f"criu-coredump: {error}", file=sys.stderr)
        return 1
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError, MemoryError, struct.error) as error:
        # The program only reads images, so the cause is a value that no criu writes.
        print(f"criu-coredump: {options.input}: an image is damaged, or contradicts another one: "
              f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
