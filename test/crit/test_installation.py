# SPDX-License-Identifier: GPL-2.0-only
"""The packages as pip installs them, of the tree and of a source distribution."""

import glob
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from programs import ROOT


class WithoutProtobuf(unittest.TestCase):
    """The error names the package that is missing."""

    def test_message(self):
        """Hides protobuf from the interpreter."""
        run = subprocess.run([sys.executable, "-c", "import sys; sys.modules['google'] = None; import pycriu"], text=True,
                             capture_output=True, check=False, env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "lib", "py")})
        self.assertEqual(run.returncode, 1)
        self.assertIn("install python3-protobuf", run.stderr)


class Source(unittest.TestCase):
    """The source folder can't be imported before a build, and says so."""

    def test_message(self):
        """Imports a copy of the folder without the file that the build makes."""
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(os.path.join(ROOT, "lib", "py", "pycriu"), os.path.join(folder, "pycriu"),
                            ignore=shutil.ignore_patterns("messages.desc"))
            run = subprocess.run([sys.executable, "-c", "import pycriu"], text=True, capture_output=True, check=False,
                                 env={**os.environ, "PYTHONPATH": folder})
        self.assertEqual(run.returncode, 1)
        self.assertIn("ImportError: pycriu has no ", run.stderr)
        self.assertIn("import pycriu from build/lib/py", run.stderr)


@unittest.skipUnless(importlib.util.find_spec("pip") and importlib.util.find_spec("setuptools"), "pip and setuptools are needed")
class Pip(unittest.TestCase):
    """In a copy, because pip leaves folders behind."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.source = os.path.join(self.folder, "tree", "lib", "py")
        shutil.copytree(os.path.join(ROOT, "lib", "py"), self.source, ignore=shutil.ignore_patterns("build", "*.egg-info"))
        for proto in glob.glob(os.path.join(ROOT, "images", "*.proto")) + glob.glob(os.path.join(ROOT, "plugins", "*", "*.proto")):
            target = os.path.join(self.folder, "tree", os.path.relpath(proto, ROOT))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy(proto, target)

    def run_python(self, *words, cwd=None, **environment):
        """Runs the interpreter; its output."""
        result = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, timeout=300, cwd=cwd,
                                env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment})
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def install(self, what):
        """Installs it into a folder of its own, and tries it from there."""
        target = tempfile.mkdtemp(dir=self.folder)
        self.run_python("-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "--no-index", "--target", target,
                        what)
        out = self.run_python("-c", "import pycriu, crit; print(pycriu.__file__, pycriu.rpc.DUMP, pycriu.images.core_entry())",
                              cwd=self.folder, PYTHONPATH=target)
        self.assertIn(f"{target}/pycriu/__init__.py 1", out)
        for program in ("crit", "criu-coredump"):
            self.assertEqual(self.run_python(os.path.join(target, "bin", program), "--version", PYTHONPATH=target), "4.2\n")

    def test_of_the_tree(self):
        self.install(self.source)

    def test_of_a_source_distribution(self):
        self.run_python("-c", f"import setuptools.build_meta as build; build.build_sdist({self.folder!r})", cwd=self.source)
        self.install(os.path.join(self.folder, "pycriu-4.2.tar.gz"))
