# SPDX-License-Identifier: GPL-2.0-only
"""crit from outside: words, exit statuses, texts, and how much memory it takes."""

import json
import os
import resource
import struct
import subprocess
import tempfile
import unittest

from crit import json_stream
from crit.words import printable, size
from criu_ns.arguments import Arguments, UsageError
from pycriu import images
from pycriu.images.kinds import KINDS
from programs import BUILD, crit, run

TREE = {"magic": "PSTREE", "entries": [{"pid": 7, "ppid": 0, "pgid": 7, "sid": 7, "threads": [7, 8]},
                                       {"pid": 9, "ppid": 7, "pgid": 7, "sid": 7, "threads": [9]}]}
MIB = 1 << 20


class Scratch(unittest.TestCase):
    """Tests with a directory of their own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def file(self, name, data=None):
        """The path of a file in it, which is made if data is given."""
        path = os.path.join(self.folder, name)
        if data is not None:
            with open(path, "wb") as out:
                out.write(data)
        return path


class Conversion(Scratch):
    """decode and encode."""

    def test_files_and_pipes_in_all_combinations(self):
        data = images.dumps(TREE)
        image, text = self.file("image", data), self.file("text", json.dumps(TREE).encode())
        out = self.file("out")
        for command, source, expected in (("decode", image, json.dumps(TREE).encode()), ("encode", text, data)):
            with open(source, "rb") as stream:
                content = stream.read()
            for words, given in ((["-i", source], None), (["--in", source], None), ([source], None), ([], content)):
                result = crit(command, *words, data=given)
                end = b"\n" if command == "decode" else b""
                self.assertEqual((result.returncode, result.stdout, result.stderr), (0, expected + end, b""))
                result = crit(command, *words, "-o", out, data=given)
                self.assertEqual((result.returncode, result.stdout), (0, b""))
                with open(out, "rb") as stream:
                    self.assertEqual(stream.read(), expected)

    def test_pretty(self):
        result = crit("decode", "--pretty", data=images.dumps(TREE))
        self.assertEqual(result.stdout.decode(), json.dumps(TREE, indent=4) + "\n")
        self.assertEqual(crit("show", self.file("image", images.dumps(TREE))).stdout, result.stdout)
        empty = {"magic": "PSTREE", "entries": []}
        self.assertEqual(crit("decode", "--pretty", data=images.dumps(empty)).stdout.decode(), json.dumps(empty, indent=4) + "\n")

    def test_streamed_contents_have_the_same_text(self):
        image = {"magic": "PIPES_DATA", "entries": [
            {"pipe_id": number, "bytes": length, "extra": images.contents.encoded(os.urandom(length))}
            for number, length in enumerate((0, 1, 57, 3 * 57 * 16384, 57 * 16384 + 1))]}
        data = images.dumps(image)
        for words, indent in (([], None), (["--pretty"], 4)):
            self.assertEqual(crit("decode", *words, data=data).stdout.decode(), json.dumps(image, indent=indent) + "\n")
        self.assertEqual(crit("encode", data=json.dumps(image, indent=1).encode()).stdout, data)

    def test_other_order_of_names(self):
        text = json.dumps({"entries": TREE["entries"], "magic": "PSTREE"}).encode()
        self.assertEqual(crit("encode", data=text).stdout, images.dumps(TREE))

    def test_without_content(self):
        data = images.dumps({"magic": "PIPES_DATA", "entries": [{"pipe_id": 1, "bytes": 2048,
                                                                 "extra": images.contents.encoded(bytes(2048))}]})
        shown = json.loads(crit("show", "--nopl", self.file("image", data)).stdout)
        self.assertEqual(shown["entries"][0]["extra"], "... <2KB>")

    def test_info(self):
        result = crit("info", self.file("image", images.dumps(TREE)))
        self.assertEqual(json.loads(result.stdout), {"magic": "PSTREE", "count": 2})


class Refusals(Scratch):
    """What can't be done ends with 1 and a sentence, not with a trace of the interpreter."""

    def refused(self, *words, data=None, says=""):
        """Runs crit, which must fail like that."""
        result = crit(*words, data=data)
        text = result.stderr.decode()
        self.assertEqual(result.returncode, 1, text)
        self.assertIn(says, text)
        self.assertNotIn("Traceback", text)

    def test_encrypted_images(self):
        folder = self.file("images")
        os.mkdir(folder)
        head = {"version": 1, "id": "aWQ=\n", "recipients": [{"share": "c2hhcmU=\n", "wrapped": "a2V5\n"}], "mac": "bWFj\n"}
        magics = struct.pack("<II", images.by_name["IMG_COMMON"], KINDS["ENCRYPTED"].magic)
        self.file("images/inventory.img", images.dumps({"magic": "INVENTORY", "entries": [
            {"img_version": 4200, "fdinfo_per_id": True, "extensions": ["encrypted"]}]}))
        self.file("images/encryption.img", images.dumps({"magic": "ENCRYPTION", "entries": [head]}))
        for number in range(3):
            self.file(f"images/encrypted-{number}.img", magics + os.urandom(100))
        for words in (["x", folder, "ps"], ["x", folder, "fds"], ["x", folder, "mems"], ["explain", folder]):
            result = crit(*words)
            self.assertEqual(result.returncode, 1, words)
            self.assertIn(b"are encrypted, which crit doesn't undo", result.stderr, words)
        shown = crit("show", folder)
        self.assertEqual((shown.returncode, shown.stderr), (0, b""))
        self.assertIn(f"Encrypted checkpoint in {folder}, for 1 recipient\n", shown.stdout.decode())
        self.assertIn(b", 5 files\n", shown.stdout)
        shown = json.loads(crit("show", "--json", folder).stdout)
        self.assertEqual((shown["kind"], shown["recipients"], shown["files_on_disk"]), ("encrypted", 1, 5))
        for words in (["info"], ["show"], ["decode", "-i"]):
            result = crit(*words, self.file("images/encrypted-1.img"))
            self.assertEqual((result.returncode, result.stdout), (1, b""), words)
            self.assertIn(b"The image is encrypted", result.stderr, words)
        self.assertEqual(json.loads(crit("show", self.file("images/encryption.img")).stdout)["entries"], [head])

    def test_texts(self):
        self.refused("decode", data=b"\xef\xbe\xad\xde" * 4, says="Unknown magic 0xdeadbeef")
        self.refused("decode", data=b"", says="Unknown magic")
        self.refused("decode", data=images.dumps(TREE)[:-1], says="The image ends in the middle")
        self.refused("decode", "-i", self.file("missing"), says="No such file")
        self.refused("info", self.file("image", b"1234"), says="Unknown magic")
        self.refused("encode", data=images.dumps(TREE), says="Cannot read JSON.")
        for text in ('{"magic": "PSTREE", "entries": [{]}', '{"magic": "PSTREE", "entries": [', "", "{"):
            self.refused("encode", data=text.encode(), says="Cannot read JSON.")
        for text in ('[]', '{"magic": "NONE", "entries": []}', '{"magic": "IMG_COMMON", "entries": []}',
                     '{"magic": "PSTREE", "entries": [1]}', '{"magic": "PSTREE", "entries": [{"pid": 1}]}',
                     '{"magic": "PSTREE", "entries": []} more'):
            self.refused("encode", data=text.encode(), says="The JSON is not that of an image")
        self.refused("x", self.file("missing"), "ps", says="is no directory")
        self.refused("x", self.folder, "ps", says="has no pstree.img")
        self.refused("show", self.folder, says="inventory.img")
        self.refused("explain", self.folder, says="inventory.img")

    def test_wrong_usage(self):
        self.assertEqual(crit().returncode, 1)
        self.assertIn(b"too few arguments", crit().stderr)
        self.assertEqual(crit("nonsense").returncode, 2)
        self.assertEqual(crit("x", ".", "nonsense").returncode, 2)
        self.assertEqual(crit("--version").stdout, b"4.2\n")

    def test_a_reader_that_has_enough(self):
        data = self.file("image", images.dumps({"magic": "PSTREE", "entries": TREE["entries"] * 20000}))
        result = subprocess.run(f"{BUILD}/bin/crit show {data} | head -n 3", shell=True, capture_output=True, check=False)
        self.assertEqual((result.stdout.count(b"\n"), result.stderr), (3, b""))


class LargeImages(Scratch):
    """Images are not loaded whole."""

    def peak(self, *words):
        """Memory that a run of crit took, in bytes."""
        with subprocess.Popen([f"{BUILD}/bin/crit", *words]) as child:
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(child.returncode, 0)
        return usage.ru_maxrss * 1024

    def test_one_large_content_and_many_entries(self):
        baseline = self.peak("info", self.file("small", images.dumps(TREE)))
        big = self.file("big")
        with open(big, "wb") as out:
            writer = images.ImageWriter(out, "GHOST_FILE")
            writer.write({"uid": 0, "gid": 0, "mode": 0o100600, "extra": ""})
            out.truncate(out.tell() + 160 * MIB)
        self.assertLess(self.peak("decode", "-i", big, "-o", os.devnull), baseline + 32 * MIB)
        chunks, text = self.file("chunks"), self.file("text")
        piece = images.contents.encoded(bytes(MIB))
        with open(chunks, "wb") as out:
            writer = images.ImageWriter(out, "GHOST_FILE")
            writer.write({"uid": 0, "gid": 0, "mode": 0o100600, "chunks": True, "size": 96 * MIB})
            for number in range(96):
                writer.write({"len": MIB, "off": number * MIB, "extra": piece})
        self.assertLess(self.peak("decode", "-i", chunks, "-o", text), baseline + 32 * MIB)
        self.assertLess(self.peak("encode", "-i", text, "-o", self.file("again")), baseline + 48 * MIB)
        with open(chunks, "rb") as one, open(self.file("again"), "rb") as other:
            self.assertEqual(one.read(), other.read())
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, 1 << 30)

    def test_time_for_a_long_entry_is_in_proportion(self):
        # A text that arrives in small pieces: each entry is taken apart a few times, not once a piece.
        reads = []

        class Slow:
            """A stream that gives at most 1 MiB at a time."""

            def __init__(self, text):
                self._text, self._at = text, 0

            def read(self, count):
                """The next piece."""
                reads.append(count)
                piece = self._text[self._at:self._at + min(count, 1 << 24)]
                self._at += len(piece)
                return piece

        text = json.dumps({"magic": "GHOST_FILE", "entries": [{"uid": 0, "gid": 0, "mode": 0, "extra": "Q" * (40 * MIB)}]})
        entries = list(json_stream.JsonImage(Slow(text)).entries())
        self.assertEqual(len(entries[0]["extra"]), 40 * MIB)
        self.assertLess(len(reads), 16)


class Words(unittest.TestCase):
    """Values for people, and criu-ns' command line."""

    def test_sizes_and_names(self):
        self.assertEqual([size(0), size(1023), size(1536), size(5 << 30)], ["0 B", "1023 B", "1.5 KiB", "5.0 GiB"])
        self.assertEqual(printable("a\x1b[31mb\n\udcffé"), "a\\x1b[31mb\\n\\udcffé")

    def test_arguments(self):
        for words, pid in ((["-t", "5"], "5"), (["-t5"], "5"), (["--tree", "5"], "5"), (["--tree=5"], "5"),
                           (["-vjt5"], "5"), (["-D", "-t", "-t", "5"], "5"), (["-o", "-t7"], None), (["--", "-t", "5"], None),
                           (["-Dt"], None)):
            self.assertEqual(Arguments(words).value("--tree", "t"), pid, words)
        with self.assertRaises(UsageError):
            Arguments(["-t"]).value("--tree", "t")
        arguments = Arguments(["-jdv4", "--pidfile=a", "-Dd", "--restore-detached"])
        self.assertEqual(arguments.take("--pidfile"), "a")
        self.assertTrue(arguments.remove("--restore-detached", "d"))
        self.assertTrue(arguments.remove("--restore-detached", "d"))
        self.assertEqual(arguments.words, ["-jv4", "-Dd"])

    def test_wrong_usage_of_criu_ns(self):
        for words, says in (([], "Usage"), (["nonsense"], "no command"), (["restore", "-S"], "restore-sibling"),
                            (["dump", "-t", "1", "--criu-binary", "/nowhere"], "run /nowhere: No such file"),
                            (["dump", "-t", "1", "--criu-binary"], "--criu-binary needs a value")):
            result = run("criu-ns", *words)
            self.assertEqual(result.returncode, 1, words)
            self.assertIn(says, result.stderr.decode(), words)
