# SPDX-License-Identifier: GPL-2.0-only
"""Compressed pages of CRIU 4.3: pagemaps name no codec, and content may begin at page boundaries. No root."""

import ctypes
import os
import shutil
import tempfile
import unittest

from crit.checkpoint import Checkpoint, CheckpointError
from crit.memory import Memory
from pycriu import images

PAGE = 4096
START = 0x10000
PRESENT, ALIGNED = 4, 8


def compressed(content):
    """Returns the content as one block of LZ4."""
    lz4 = ctypes.CDLL("liblz4.so.1")
    room = ctypes.create_string_buffer(lz4.LZ4_compressBound(len(content)))
    size = lz4.LZ4_compress_default(content, room, len(content), len(room))
    return room.raw[:size]


class LaterPages(unittest.TestCase):
    """A pagemap with an uncompressed run, a compressed run with a block of zeroes, and another uncompressed run."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.content = [os.urandom(PAGE), b"compressible" * 2048, os.urandom(PAGE)]

    def store(self, aligned, **more):
        """Writes both images."""
        first, second, last = self.content
        self.assertEqual(len(second), 6 * PAGE)
        parts = [compressed(second[:4 * PAGE]), compressed(second[4 * PAGE:] + bytes(2 * PAGE))]
        blocks = {"block_sizes": [len(parts[0]), len(parts[1]), 0], "payload_size": sum(map(len, parts)), "pages_per_block": 4}
        entries = [{"pages_id": 1},
                   {"vaddr": START, "compat_nr_pages": 0, "nr_pages": 1, "flags": PRESENT},
                   {"vaddr": START + PAGE, "compat_nr_pages": 0, "nr_pages": 9, "flags": PRESENT, "blocks": blocks | more},
                   {"vaddr": START + 10 * PAGE, "compat_nr_pages": 0, "nr_pages": 1,
                    "flags": PRESENT | ALIGNED if aligned else PRESENT}]
        with open(os.path.join(self.folder, "pagemap-7.img"), "wb") as out:
            out.write(images.dumps({"magic": "PAGEMAP", "entries": entries}))
        stored = first + b"".join(parts)
        if aligned:
            stored += bytes(-len(stored) % PAGE)
        with open(os.path.join(self.folder, "pages-1.img"), "wb") as out:
            out.write(stored + last)

    def memory(self):
        """Reads all pages."""
        with Memory(Checkpoint(self.folder), "pagemap-7.img") as memory:
            return memory.read(START, 11 * PAGE)

    def test_content(self):
        """Pages have their content, with and without alignment."""
        for aligned in False, True:
            with self.subTest(aligned=aligned):
                self.store(aligned)
                self.assertEqual(self.memory(), self.content[0] + self.content[1] + bytes(3 * PAGE) + self.content[2])

    def test_flag(self):
        """crit names the flag, and encodes it again."""
        self.store(True)
        with open(os.path.join(self.folder, "pagemap-7.img"), "rb") as stream:
            data = stream.read()
        image = images.loads(data, True)
        self.assertIn("PE_PAYLOAD_ALIGNED", image["entries"][-1]["flags"])
        self.assertEqual(images.dumps(image), data)

    def test_wrong_blocks(self):
        """Blocks that don't fit the pages are an error."""
        self.store(False, pages_per_block=2)
        with self.assertRaisesRegex(CheckpointError, "blocks that don't fit"):
            self.memory()


if __name__ == "__main__":
    unittest.main()
