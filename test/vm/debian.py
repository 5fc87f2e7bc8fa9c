# SPDX-License-Identifier: GPL-2.0-only
"""Releases of Debian other than the one that runs here: their kernels, and trees to boot them with.

They come from the archives that apt has been configured with on this machine. Nothing of them is installed.
"""

import compileall
import hashlib
import os
import py_compile
import re
import shutil
import subprocess
import sys
import tempfile

from machine import Kernel, Missing, require
from processors import AMD64

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# Release with a kernel series, and the package that depends on the newest one of it.
SERIES = {
    "5.10": ("bullseye", "linux-image-{}"),
    "6.1": ("bookworm", "linux-image-{}"),
    "6.12": ("bookworm", "linux-image-6.12-{}"),
}
# Kernels with larger pages: those of arm64 only. What follows the "-" is how their releases end.
LARGE_PAGES = {"6.12-16k": ("bookworm", "linux-image-6.12-{}-16k")}


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

    def __init__(self, folder, suite, processor):
        self.suite = suite
        self.folder = os.path.join(folder, suite)
        self.options = ["-q", "-o", f"Dir::Etc::sourcelist={self.folder}/sources.list", "-o", "Dir::Etc::sourceparts=-",
                        "-o", f"Dir::State={self.folder}", "-o", f"Dir::State::status={self.folder}/status",
                        "-o", f"APT::Architecture={processor.debian}", "-o", f"APT::Architectures={processor.debian}",
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


def kernel_of(series, folder, processor=AMD64):
    """The newest kernel of a series, below `folder`. One that is there already is taken as it is."""
    number, _, pages = series.partition("-")
    ending = f"{processor.kernel}-{pages}" if pages else processor.kernel
    for release in sorted(os.listdir(os.path.join(folder, "kernel")) if os.path.isdir(os.path.join(folder, "kernel")) else []):
        if release.startswith(number + ".") and release.endswith(ending) and os.path.exists(os.path.join(folder, "kernel", release, "complete")):
            return Kernel(os.path.join(folder, "kernel"), release, None)
    if pages and processor is AMD64:
        raise Missing(f"there is no kernel {series} for {processor.debian}")
    suite, package = {**SERIES, **LARGE_PAGES}[series]
    archive = Archive(os.path.join(folder, "apt"), suite, processor)
    return Kernel(os.path.join(folder, "kernel"), archive.newest_kernel(package.format(processor.debian)), archive.download)


def image_of(tree, path, size):
    """An ext4 file system with what is in a folder, of `size` MiB at most."""
    subprocess.run([require("mke2fs", "e2fsprogs"), "-q", "-t", "ext4", "-E", "lazy_itable_init=1,root_owner=0:0", "-d",
                    tree, path + ".new", f"{size}M"], check=True, stdout=subprocess.DEVNULL)
    os.rename(path + ".new", path)


def _install(tree, suite, packages):
    """Installs packages of this machine's architecture."""
    made = subprocess.run([require("mmdebstrap", "mmdebstrap"), "--quiet", "--variant=minbase",
                           f"--include={','.join(packages)}", '--aptopt=APT::Install-Recommends "false"', suite, tree,
                           *sources(suite)], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise Missing(f"a root file system can't be made: {made.stderr.strip()[-300:]}")


def unpack(tree, suite, packages, architecture):
    """Unpacks packages of another architecture and what they need, and runs nothing of them."""
    made = subprocess.run([require("mmdebstrap", "mmdebstrap"), "--quiet", "--variant=extract", f"--architectures={architecture}",
                           "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr", f"--include={','.join(packages)}",
                           '--aptopt=APT::Install-Recommends "false"', suite, tree, *sources(suite)],
                          capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise Missing(f"a root file system can't be made: {made.stderr.strip()[-300:]}")
    # The scripts of the packages would do these steps. Without compiled modules, each start of Python takes seconds in an
    # emulated machine. Only a Python of the same version can compile them.
    modules = os.path.join(tree, "usr", "lib", f"python{sys.version_info.major}.{sys.version_info.minor}")
    if os.path.isdir(modules):
        compileall.compile_dir(modules, quiet=2, stripdir=tree, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    for name in ("passwd", "group"):
        if os.path.exists(master := os.path.join(tree, f"usr/share/base-passwd/{name}.master")):
            shutil.copy(master, os.path.join(tree, "etc", name))
    for link, target in {"usr/bin/awk": "mawk", "usr/sbin/iptables": "xtables-nft-multi",
                         "usr/sbin/ip6tables": "xtables-nft-multi", "usr/sbin/iptables-restore": "xtables-nft-multi",
                         "usr/sbin/ip6tables-restore": "xtables-nft-multi", "usr/sbin/iptables-save": "xtables-nft-multi",
                         "usr/sbin/ip6tables-save": "xtables-nft-multi"}.items():
        path = os.path.join(tree, link)
        if os.path.exists(os.path.join(os.path.dirname(path), target)) and not os.path.lexists(path):
            os.symlink(target, path)
    for name in ("proc", "sys", "dev", "root", "run", "tmp", "mnt", "media", "opt", "srv", "home"):
        os.makedirs(os.path.join(tree, name), exist_ok=True)


def root_image(folder, suite, packages, processor=AMD64):
    """Image of a root file system with these packages and what they need; it is made once."""
    if os.geteuid() != 0:
        raise Missing("a root file system is made by root only")
    other = [] if processor is AMD64 else [processor.debian, "compiled", "folders"]
    name = hashlib.sha256(" ".join([suite, *sorted(packages), *other]).encode()).hexdigest()[:16]
    image = os.path.join(folder, f"root-{name}.ext4")
    if os.path.exists(image):
        return image
    tree = os.path.join(folder, f"root-{name}")
    shutil.rmtree(tree, ignore_errors=True)
    try:
        if other:
            unpack(tree, suite, packages, processor.debian)
        else:
            _install(tree, suite, packages)
        image_of(tree, image, 4096)
    finally:
        shutil.rmtree(tree, ignore_errors=True)
    return image


def busybox_of(folder, suite, processor):
    """The static busybox of another processor; it is unpacked once."""
    tree = os.path.join(folder, f"busybox-{processor.debian}")
    program = os.path.join(tree, "bin", "busybox")
    if not os.path.exists(program):
        archive = Archive(os.path.join(folder, "apt"), suite, processor)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            archive.download("busybox-static", scratch)
            (package,) = os.listdir(scratch)
            subprocess.run(["dpkg-deb", "-x", os.path.join(scratch, package), tree], check=True)
    return program
