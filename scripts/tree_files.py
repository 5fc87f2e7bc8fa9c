# SPDX-License-Identifier: GPL-2.0-only
"""Files of this tree."""

import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def names():
    """Returns the files' paths relative to the root, without files that git ignores."""
    listed = subprocess.run(["git", "-c", f"safe.directory={ROOT}", "ls-files", "-co", "--exclude-standard"], cwd=ROOT,
                            capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        found = listed.stdout.splitlines()
    else:  # the tree was unpacked from an archive
        found = []
        for folder, folders, files in os.walk(ROOT):
            folders[:] = [name for name in folders if not name.startswith((".git", "build"))]
            found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in files]
    return sorted(name for name in found if os.path.isfile(os.path.join(ROOT, name)))


if __name__ == "__main__":
    print("\n".join(names()))
