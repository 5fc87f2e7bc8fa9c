# SPDX-License-Identifier: GPL-2.0-only
"""Releases of Debian other than the one that runs here: their kernels, and trees to boot them with.

They come from the archives that apt has been configured with on this machine. Nothing of them is installed.
"""

import hashlib
import os
import re
import shutil
import subprocess

from machine import Kernel, Missing, require

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# Which release has a kernel series, and the package that depends on the newest one of it.
SERIES = {
    "5.10": ("bullseye", "linux-image-amd64"),
    "6.1": ("bookworm", "linux-image-amd64"),
    "6.12": ("bookworm", "linux-image-6.12-amd64"),
}


def sources(suite):
    """Lines of sources.list for a release and its security updates."""
    listed = subprocess.run(["apt-get", "indextargets", "--format", "$(ORIGIN)|$(LABEL)|$(REPO_URI)",
                             "Created-By: Packages"], capture_output=True, text=True, check=False).stdout
    lines = {}
    for line in listed.splitlines():
        origin, label, uri = line.split("|")
        if origin == "Debian" and label in ("Debian", "Debian-Security"):
            name = suite if label == "Debian" else f"{suite}-security"
            lines[f"deb [signed-by={KEYRING}] {uri} {name} main"] = None
    if not lines:
        raise Missing("apt knows no archive of Debian here (apt-get update)")
    return list(lines)


class Archive:
    """The packages of a release. Lists are kept below `folder`, apart from those of this machine."""

    def __init__(self, folder, suite):
        self.suite = suite
        self.folder = os.path.join(folder, suite)
        self.options = ["-q", "-o", f"Dir::Etc::sourcelist={self.folder}/sources.list", "-o", "Dir::Etc::sourceparts=-",
                        "-o", f"Dir::State={self.folder}", "-o", f"Dir::State::status={self.folder}/status",
                        "-o", f"Dir::Cache={self.folder}", "-o", "APT::Sandbox::User=root",
                        "-o", "APT::Default-Release="]
        if not os.path.exists(os.path.join(self.folder, "complete")):
            self._update()

    def _update(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        for name in ("lists/partial", "archives/partial"):
            os.makedirs(os.path.join(self.folder, name))
        with open(os.path.join(self.folder, "sources.list"), "w", encoding="utf-8") as file:
            file.write("\n".join(sources(self.suite)) + "\n")
        with open(os.path.join(self.folder, "status"), "w", encoding="utf-8"):
            pass
        self._apt("apt-get", "update", what=f"the lists of Debian's {self.suite}")
        with open(os.path.join(self.folder, "complete"), "w", encoding="utf-8"):
            pass

    def _apt(self, program, *words, what, folder=None):
        """Output of one of apt's programs."""
        got = subprocess.run([program, *self.options, *words], cwd=folder, capture_output=True, text=True, check=False)
        if got.returncode != 0:
            reason = (got.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise Missing(f"{what} can't be had: {reason}")
        return got.stdout

    def newest_kernel(self, package):
        """The release of the kernel that a package depends on."""
        listed = self._apt("apt-cache", "depends", package, what=package)
        found = re.search(r"Depends: linux-image-(\d\S*)", listed)
        if not found:
            raise Missing(f"{package} of {self.suite} names no kernel")
        return found.group(1)

    def download(self, package, folder):
        """Puts a package's file into a folder. Lists that are too old are renewed once."""
        try:
            self._apt("apt-get", "download", package, what=f"package {package}", folder=folder)
        except Missing:
            self._update()
            self._apt("apt-get", "download", package, what=f"package {package}", folder=folder)


def kernel_of(series, folder):
    """The newest kernel of a series, below `folder`. One that is there already is taken as it is."""
    for release in sorted(os.listdir(os.path.join(folder, "kernel")) if os.path.isdir(os.path.join(folder, "kernel")) else []):
        if release.startswith(series + ".") and os.path.exists(os.path.join(folder, "kernel", release, "complete")):
            return Kernel(os.path.join(folder, "kernel"), release, None)
    suite, package = SERIES[series]
    archive = Archive(os.path.join(folder, "apt"), suite)
    return Kernel(os.path.join(folder, "kernel"), archive.newest_kernel(package), archive.download)


def image_of(tree, path, size):
    """An ext4 file system with what is in a folder, of `size` MiB at most."""
    subprocess.run([require("mke2fs", "e2fsprogs"), "-q", "-t", "ext4", "-E", "lazy_itable_init=1,root_owner=0:0", "-d",
                    tree, path + ".new", f"{size}M"], check=True, stdout=subprocess.DEVNULL)
    os.rename(path + ".new", path)


def root_image(folder, suite, packages):
    """Image of a root file system with these packages and what they need; it is made once."""
    if os.geteuid() != 0:
        raise Missing("a root file system is made by root only")
    name = hashlib.sha256(" ".join([suite, *sorted(packages)]).encode()).hexdigest()[:16]
    image = os.path.join(folder, f"root-{name}.ext4")
    if os.path.exists(image):
        return image
    tree = os.path.join(folder, f"root-{name}")
    shutil.rmtree(tree, ignore_errors=True)
    try:
        made = subprocess.run([require("mmdebstrap", "mmdebstrap"), "--quiet", "--variant=minbase",
                               f"--include={','.join(packages)}", '--aptopt=APT::Install-Recommends "false"', suite, tree,
                               *sources(suite)], capture_output=True, text=True, check=False)
        if made.returncode != 0:
            raise Missing(f"a root file system can't be made: {made.stderr.strip()[-300:]}")
        image_of(tree, image, 4096)
    finally:
        shutil.rmtree(tree, ignore_errors=True)
    return image
