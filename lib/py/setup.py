# SPDX-License-Identifier: GPL-2.0-only
"""Build step that pyproject.toml can't express: protoc describes the messages (messages.desc) when the package is
built. The .proto files are those of the tree; a source distribution contains copies.
"""

import pathlib
import shutil
import subprocess

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = pathlib.Path(__file__).resolve().parent
COPIES = HERE / "proto"
ORIGINALS = [HERE.parents[1] / folder for folder in ("images", "plugins/amdgpu", "plugins/cuda")]


def proto_files():
    """Returns all .proto files."""
    folders = [COPIES] if COPIES.is_dir() else ORIGINALS
    return sorted(file for folder in folders for file in folder.glob("*.proto"))


class BuildWithMessages(build_py):
    """Builds the package with the description of the messages."""

    def run(self):
        """Builds both. An editable installation has the description in the tree."""
        super().run()
        target = HERE if self.editable_mode else pathlib.Path(self.build_lib)
        files = proto_files()
        folders = sorted({str(file.parent) for file in files})
        subprocess.run(["protoc", *(f"--proto_path={folder}" for folder in folders), "--include_imports",
                        f"--descriptor_set_out={target / 'pycriu' / 'messages.desc'}", *map(str, files)], check=True)


class SourcesWithMessages(sdist):
    """Adds the .proto files to a source distribution."""

    def make_release_tree(self, base_dir, files):
        """Copies package and .proto files."""
        super().make_release_tree(base_dir, files)
        copies = pathlib.Path(base_dir) / COPIES.name
        copies.mkdir(exist_ok=True)
        for file in proto_files():
            shutil.copy(file, copies)


setup(cmdclass={"build_py": BuildWithMessages, "sdist": SourcesWithMessages})
