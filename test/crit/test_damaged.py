# SPDX-License-Identifier: GPL-2.0-only
"""Damaged, foreign and missing images, given to every subcommand: one line of text, exit status 1, no traceback."""

import io
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from crit.__main__ import main
from crit.explore import VIEWS
from pycriu import images
from programs import crit, dump, need_root, run, wait_until

PROGRAM = """
import os, socket, sys, time
one, other = socket.socketpair()
other.send(b"waits")
listening = socket.socket()
listening.bind(("127.0.0.1", 0))
listening.listen()
read, write = os.pipe()
os.write(write, b"waits")
deleted = open(sys.argv[1] + "/deleted", "w+")
deleted.write("content")
deleted.flush()
os.unlink(sys.argv[1] + "/deleted")
if os.fork() == 0:
    open(sys.argv[1] + "/ready", "w").close()
time.sleep(1000)
"""


def commands(folder, file):
    """Yields words of every subcommand, for the directory or for the file."""
    yield from (["show", folder], ["show", "--json", folder], ["explain", folder], ["explain", "--json", folder])
    for view in VIEWS:
        yield ["x", folder, view]
        yield ["x", folder, view, "--json"]
    yield from (["info", file], ["show", file], ["show", "--nopl", file], ["decode", "-i", file], ["decode", "--pretty", "-i", file],
                ["encode", "-i", file])


def inside(*words):
    """Runs crit in this process, which is faster than a process for each run. Returns exit status and standard error."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with mock.patch.object(sys, "argv", ["crit", *words]), mock.patch.object(sys, "stdout", out), mock.patch.object(sys, "stderr", err):
        status = main()
    return subprocess.CompletedProcess(words, status, b"", err.getvalue().encode(errors="replace"))


class Damaged(unittest.TestCase):
    """A dump, of which copies are damaged."""

    @classmethod
    def setUpClass(cls):
        need_root()
        folder = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.images = os.path.join(folder.name, "images")
        with subprocess.Popen([sys.executable, "-c", PROGRAM, folder.name], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, start_new_session=True) as child:
            wait_until(lambda: os.path.exists(os.path.join(folder.name, "ready")))
            dump(child.pid, cls.images)
        cls.names = sorted(name for name in os.listdir(cls.images) if not name.startswith("pages-"))

    def words_only(self, result, words):
        """Requires success, or exit status 1 and one line."""
        said = result.stderr.decode(errors="replace")
        self.assertNotIn("Traceback", said, words)
        self.assertIn(result.returncode, (0, 1), f"{words}: {said}")
        if result.returncode == 1:
            self.assertEqual(said.count("\n"), 1, f"{words}: {said!r}")
            self.assertRegex(said, "[A-Za-z]{2,}", words)

    def tried(self, change, names, seed):
        """Damages each file of a copy, and gives the copy to every subcommand."""
        copy = os.path.join(self.folder, "copy")
        for name in names:
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(self.images, copy, symlinks=True)
            change(os.path.join(copy, name), seed)
            for words in commands(copy, os.path.join(copy, name)):
                self.words_only(inside(*words), [name, *words])
        self.words_only(crit("x", copy, "ps"), [name, "x"])
        self.words_only(run("criu-coredump", "-i", copy, "-o", self.folder), [name, "coredump"])

    def test_flipped_bits(self):
        def flip(path, seed):
            with open(path, "r+b") as file:
                data = bytearray(file.read())
                for _ in range(3):
                    data[seed.randrange(len(data))] ^= 1 << seed.randrange(8)
                file.seek(0)
                file.write(data)
        self.tried(flip, self.names, random.Random(1))

    def test_cut_images(self):
        def cut(path, seed):
            os.truncate(path, seed.randrange(os.path.getsize(path)))
        self.tried(cut, self.names, random.Random(2))

    def test_records_without_fields(self):
        def empty(path, seed):
            with open(path, "rb") as file:
                data = file.read()
            with open(path, "wb") as file:
                file.write(data[:8] + struct.pack("<I", 0) * seed.randrange(1, 3))
        self.tried(empty, self.names, random.Random(3))

    def test_missing_images_and_directories_in_their_place(self):
        def replace(path, seed):
            os.unlink(path)
            if seed.random() < 0.5:
                os.mkdir(path)
        self.tried(replace, self.names, random.Random(4))

    def test_foreign_files(self):
        foreign = [b"", b"\0", os.urandom(100), b"#!/bin/sh\n", b"\x7fELF" + bytes(60)]

        def replace(path, seed):
            data = seed.choice(foreign + [None] * 5)
            if data is None:  # another image of the same dump
                other = seed.choice(self.names)
                with open(os.path.join(self.images, other), "rb") as file:
                    data = file.read()
            with open(path, "wb") as file:
                file.write(data)
        self.tried(replace, self.names, random.Random(5))

    def test_a_field_that_is_missing_is_named_with_its_image(self):
        copy = os.path.join(self.folder, "named")
        shutil.copytree(self.images, copy)
        self.addCleanup(shutil.rmtree, copy)
        name = next(name for name in self.names if name.startswith("core-"))
        with open(os.path.join(copy, name), "rb") as file:
            image = images.load(file)
        del image["entries"][0]["tc"]
        with open(os.path.join(copy, name), "wb") as file:
            images.dump(image, file)
        result = crit("x", copy, "ps")
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"{copy}/{name} lacks the field tc", result.stderr.decode())

    def test_changed_json(self):
        seed = random.Random(6)
        for name in self.names:
            text = crit("decode", "-i", os.path.join(self.images, name)).stdout
            if not text:
                continue
            for value in (b"null", b"[]", b'"x"', b"-1", b"1e400", b"{}"):
                fields = [at for at in range(len(text)) if text[at:at + 2] == b": "]
                at = seed.choice(fields) + 2
                end = min(found for found in (text.find(end, at) for end in (b",", b"}", b"]")) if found > 0)
                changed = os.path.join(self.folder, "changed")
                with open(changed, "wb") as file:
                    file.write(text[:at] + value + text[end:])
                self.words_only(inside("encode", "-i", changed), [name, value, text[at - 30:at]])

    def test_what_is_not_there(self):
        for words in (["x", "/no/such", "ps"], ["show", "/no/such"], ["show", "--json", "/no/such"], ["explain", "/no/such"],
                      ["info", "/no/such"], ["info", self.images], ["decode", "-i", "/no/such"], ["decode", "-i", self.images],
                      ["encode", "-i", "/no/such"], ["decode", "-i", os.path.join(self.images, self.names[0]), "-o", "/no/such/file"]):
            result = crit(*words)
            self.assertEqual(result.returncode, 1, words)
            self.words_only(result, words)
            self.assertNotIn("Errno", result.stderr.decode(), words)


class Documents(Damaged):
    """--json of show and explain."""

    test_flipped_bits = test_cut_images = test_records_without_fields = test_foreign_files = test_changed_json = None
    test_missing_images_and_directories_in_their_place = test_a_field_that_is_missing_is_named_with_its_image = None
    test_what_is_not_there = None

    def test_show(self):
        result = crit("show", "--json", self.images)
        self.assertEqual(result.returncode, 0, result.stderr)
        shown = json.loads(result.stdout)
        self.assertEqual((shown["kind"], shown["path"], shown["parent"], shown["gpus"]), ("dump", self.images, None, []))
        self.assertEqual([process["state"] for process in shown["processes"]], ["Alive", "Alive"])
        self.assertIn("time.sleep", shown["processes"][0]["command"])
        self.assertEqual(shown["processes"][1]["ppid"], shown["processes"][0]["pid"])
        self.assertEqual(sum(shown["memory"]["places"].values()), sum(shown["memory"]["kinds"].values()))
        self.assertGreater(shown["statistics"]["frozen_time"], 0)
        self.assertEqual(shown["files"]["deleted"], [os.path.join(self.folder, "deleted")])
        self.assertTrue(any(each.get("state") == "LISTEN" for each in shown["sockets"]))

    def test_show_of_one_image(self):
        name = os.path.join(self.images, "stats-dump")
        self.assertEqual(crit("show", "--json", name).stdout, crit("show", name).stdout)
        self.assertIn("frozen_time", json.loads(crit("show", name).stdout)["entries"][0]["dump"])

    def test_explain(self):
        shown = json.loads(crit("explain", "--json", self.images).stdout)
        self.assertEqual(shown["command"], "explain")
        empty = os.path.join(self.folder, "increment")
        shutil.copytree(self.images, empty)
        os.symlink("/no/such", os.path.join(empty, "parent"))
        result = crit("explain", "--json", empty)
        shown = json.loads(result.stdout)
        self.assertEqual((result.returncode, shown["possible"]), (1, False))
        self.assertTrue(any("/no/such" in each["reason"] and each["certain"] for each in shown["obstacles"]))
