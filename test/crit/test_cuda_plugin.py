# SPDX-License-Identifier: GPL-2.0-only
"""Files of the cuda_plugin of the branch that becomes CRIU 4.3."""

import os
import tempfile
import unittest

from programs import crit, dump, need_root, program


class CudaPlugin(unittest.TestCase):
    """Files of this cuda_plugin, which have no magic number of an image."""

    FILES = {"gpu-cs-7.img": (b"CUCS\x10\0\0\0" + bytes(40), "contents of GPUs"),
             "cuda-gpu-inventory.img": (b"\x0a\x04\x08\x01\x12\x00", "list of GPUs")}

    def test_named(self):
        """crit names the kind of each file, and the program that wrote it."""
        folder = self.enterContext(tempfile.TemporaryDirectory())
        for name, (data, kind) in self.FILES.items():
            path = os.path.join(folder, name)
            with open(path, "wb") as file:
                file.write(data)
            for words in (["show", path], ["decode", "-i", path], ["info", path]):
                done = crit(*words)
                self.assertEqual(done.returncode, 1, words)
                self.assertIn(f"{path}: the {kind}", done.stderr.decode(), words)
                self.assertIn("cuda_plugin of CRIU 4.3", done.stderr.decode(), words)

    def test_explained(self):
        """crit explain reports contents that a restore refuses, but not the list of GPUs."""
        need_root()
        with program("sleep", "1000") as pid:
            folder = self.enterContext(tempfile.TemporaryDirectory())
            dump(pid, folder, "--leave-running")
        for name, (data, _) in self.FILES.items():
            with open(os.path.join(folder, name.replace("7", str(pid))), "wb") as file:
                file.write(data)
        text = crit("explain", folder).stdout.decode()
        self.assertIn(f"gpu-cs-{pid}.img has contents of GPUs in the form of CRIU 4.3's cuda_plugin", text)
        self.assertNotIn("cuda-gpu-inventory", text)
