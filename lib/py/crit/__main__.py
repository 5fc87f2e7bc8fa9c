# SPDX-License-Identifier: GPL-2.0-only
"""Command line of crit."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import struct
import sys
from collections.abc import Iterator
from typing import BinaryIO, NoReturn, TextIO

from pycriu import images

from . import __version__, gpus, json_stream
from .checkpoint import Checkpoint, CheckpointError
from .explain import explain
from .explore import VIEWS
from .summary import summary, summary_data
from .words import printable


class _Failure(Exception):
    """Ends the program with exit status 1, after its text is printed."""


def _words_of(error: BaseException) -> str:
    """Returns an exception of the interpreter in words. Without this, a KeyError would be only the key."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, KeyError):
        return f"there is no {error.args[0]}"
    return str(error) or type(error).__name__


@contextlib.contextmanager
def _input(name: str | None) -> Iterator[BinaryIO]:
    """Opens a file to read, or standard input."""
    if name:
        with open(name, "rb") as stream:
            yield stream
    else:
        yield sys.stdin.buffer


@contextlib.contextmanager
def _output(name: str | None) -> Iterator[BinaryIO]:
    """Opens a file to write, or standard output."""
    if name:
        with open(name, "wb") as stream:
            yield stream
    else:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()


@contextlib.contextmanager
def _text_output(name: str | None) -> Iterator[TextIO]:
    """Opens a text file to write, or standard output."""
    if name:
        with open(name, "w", encoding="utf-8") as stream:
            yield stream
    else:
        yield sys.stdout


def _no_image(name: str | None, error: images.MagicException) -> _Failure:
    """Returns the failure for a file without an image's magic number. Names files of CRIU 4.3's cuda_plugin."""
    file = os.path.basename(name or "")
    if file == "cuda-gpu-inventory.img":
        return _Failure(f"{name}: the list of GPUs of cuda_plugin of CRIU 4.3. A restore by this criu doesn't need it.")
    if error.magic == int.from_bytes(b"CRIU", "little"):
        return _Failure(f"{name or 'standard input'}: a stream of images. criu stream unpack -D DIR --stream-from FILE makes a "
                        "directory of it, which crit can show.")
    if gpus.STORAGE_OF_PLUGIN.fullmatch(file):
        return _Failure(f"{name}: the contents of GPUs, written by cuda_plugin of CRIU 4.3. crit and criu can't read them.")
    return _Failure(f"{name or 'standard input'}: {error}. An image begins with a number that says its kind. "
                    "Files of raw content (pages-*.img, *.tar.gz.img, iptables, …) have none.")


def _decode(options: argparse.Namespace) -> None:
    with _input(options.input) as stream, _text_output(options.output) as out:
        try:
            json_stream.write(images.ImageReader(stream), options.pretty, options.nopl, out)
        except images.MagicException as error:
            raise _no_image(options.input, error) from error
        if not options.output:
            out.write("\n")


def _encode(options: argparse.Namespace) -> None:
    with _input(options.input) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8")
        try:
            with _output(options.output) as out:
                json_stream.read(text, out)
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise _Failure(f"Cannot read JSON. encode makes images of the output of decode; this is something else: {error}") from error
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError, struct.error) as error:
            raise _Failure(f"The JSON is not that of an image: {_words_of(error)}") from error
        finally:
            text.detach()


def _info(options: argparse.Namespace) -> None:
    with _input(options.input) as stream:
        try:
            print(json.dumps(images.info(stream), indent=4))
        except images.MagicException as error:
            raise _no_image(options.input, error) from error


def _explore(options: argparse.Namespace) -> None:
    lines, data = VIEWS[options.what]
    checkpoint = Checkpoint(options.dir)
    if options.json:
        print(json.dumps(data(checkpoint), indent=4))
    else:
        for line in lines(checkpoint):
            print(line)


def _show(options: argparse.Namespace) -> None:
    if not os.path.isdir(options.input):
        _decode(options)
        return
    checkpoint = Checkpoint(options.input)
    if options.json:
        print(json.dumps(summary_data(checkpoint), indent=4))
        return
    for line in summary(checkpoint):
        print(line)


def _explain(options: argparse.Namespace) -> None:
    if options.json:
        findings = list(explain(Checkpoint(options.dir), options.root))
        possible = not any(finding.prevents for finding in findings)
        print(json.dumps({"command": "explain", "possible": possible, "obstacles": [
            {"reason": finding.text, "remedy": finding.hint, "certain": finding.prevents} for finding in findings]}, indent=4))
        if not possible:
            raise _Failure(f"The images in {options.dir} can't be restored here as things stand.")
        return
    reasons = 0
    for finding in explain(Checkpoint(options.dir), options.root):
        print(finding)
        reasons += finding.prevents
    if reasons:
        raise _Failure(f"The images in {options.dir} can't be restored here as things stand.")
    print(f"Nothing was found that prevents a restore of {options.dir} here.")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="crit", description="Shows, converts and changes images of criu.")
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument("--list-options", action=_ListOptions, nargs=0, help=argparse.SUPPRESS)
    commands = parser.add_subparsers(metavar="COMMAND", help="crit COMMAND --help says more")

    def command(name: str, text: str, function: object, **defaults: object) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        made.add_argument("--list-options", action=_ListOptions, nargs=0, help=argparse.SUPPRESS)
        made.set_defaults(function=function, **defaults)
        return made

    decode = command("decode", "makes JSON of an image", _decode, nopl=False)
    decode.add_argument("--pretty", action="store_true", help="on many lines, with flags, addresses and the like in words")
    encode = command("encode", "makes an image of JSON", _encode)
    for made in (decode, encode):
        source = made.add_mutually_exclusive_group()
        source.add_argument("file", nargs="?", metavar="FILE", help="the same as --in FILE")
        source.add_argument("-i", "--in", dest="input", metavar="FILE", help="instead of standard input")
        made.add_argument("-o", "--out", dest="output", metavar="FILE", help="instead of standard output")
    command("info", "says an image's kind and number of entries", _info).add_argument("input", metavar="FILE")
    show = command("show", "shows an image, or a summary of a directory of images, to people", _show, pretty=True, output=None)
    show.add_argument("input", metavar="FILE|DIR")
    show.add_argument("--json", action="store_true", help="as data for programs; an image is shown as JSON in any case")
    show.add_argument("--nopl", action="store_true", help="of content behind entries only its size")
    explore = command("x", "explores a directory of images", _explore)
    explore.add_argument("dir", metavar="DIR")
    explore.add_argument("what", choices=list(VIEWS), help="processes, descriptors, mappings, dumped memory, sockets")
    explore.add_argument("--json", action="store_true", help="as data for programs")
    why = command("explain", "says why a directory of images can't be restored on this machine", _explain)
    why.add_argument("dir", metavar="DIR")
    why.add_argument("--root", default="/", metavar="PATH", help="root directory of the restored tree (default: /)")
    why.add_argument("--json", action="store_true", help="as data for programs")
    return parser


class _ListOptions(argparse.Action):
    """Prints commands, options and views for shell completions, one per line, and ends the program.

    A command line without a command lists the commands. Otherwise, a line has name, letter, name of the argument and help of an
    option, with the byte 0x1f between them. A view, which isn't an option, stands alone on its line."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        for action in parser._actions:
            names = action.option_strings
            long = [name[2:] for name in names if name.startswith("--")]
            if isinstance(action, argparse._SubParsersAction) or not names and action.choices:
                print("\n".join(action.choices))
            elif long and action.help is not argparse.SUPPRESS:
                letter = "".join(name[1] for name in names if name[1] != "-")
                print(long[0], letter, action.metavar or "", action.help or "", sep="\x1f")
        parser.exit()


def main() -> int:
    """Runs the command. Returns the exit status: 0, or 1 for any failure. argparse exits with 2 for wrong usage."""
    parser = _parser()
    options = parser.parse_args()
    if getattr(options, "file", None):  # decode and encode
        options.input = options.file
    if not hasattr(options, "function"):
        parser.print_usage(sys.stderr)
        print("crit: error: too few arguments", file=sys.stderr)
        return 1
    # File names may not be UTF-8, and a terminal may lack characters.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        options.function(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has closed the pipe. Without this the interpreter would fail again when it closes standard output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (_Failure, CheckpointError, images.ImageError, OSError) as error:
        print(printable(_words_of(error)), file=sys.stderr)
        return 1
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError, MemoryError, struct.error) as error:
        # The commands only read images, so the cause is a value that no criu writes.
        where = getattr(options, "dir", None) or getattr(options, "input", None) or "standard input"
        print(printable(f"{where}: an image is damaged, or contradicts another one: {_words_of(error)}"), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
