# SPDX-License-Identifier: GPL-2.0-only
"""The virtual machine: a distribution's kernel, and QEMU without KVM.

The kernel comes from a package of Debian's. It is unpacked, not installed: this machine's own boot files stay as they are.
"""

import glob
import lzma
import os
import re
import shutil
import subprocess
import tarfile
import tempfile

from processors import AMD64

XZ = b"\xfd7zXZ\x00"
ZSTD = b"\x28\xb5\x2f\xfd"
ARM64_MAGIC = (0x38, b"ARM\x64")  # offset and value (Documentation/arm64/booting.rst)
STATUS = re.compile(r"::status (\d+)")
RESULTS_SIZE = 256 << 20


class Missing(Exception):
    """Something this machine would need to run the tests, and doesn't have."""


class Crashed(Exception):
    """The virtual machine ended without an exit status, or did not end in time."""


def require(program, package):
    """The path of a program of a package."""
    path = shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin")
    if not path:
        raise Missing(f"{program} is not installed (package {package})")
    return path


class Kernel:
    """A kernel to boot. Everything made is below `folder`; `download(package, folder)` puts a package's file there."""

    def __init__(self, folder, release, download, headers=None):
        self.release = release
        self.headers = headers  # a folder, to build modules with
        self.folder = os.path.join(folder, release)
        self.image = os.path.join(self.folder, "vmlinux")
        self.modules = os.path.join(self.folder, "modules")
        if not os.path.exists(os.path.join(self.folder, "complete")):
            self._unpack(download)

    @classmethod
    def of_installed_headers(cls, folder):
        """The one that the newest installed headers belong to: modules can be built for it."""
        release, headers = _newest_headers()
        return cls(folder, release, _download_as_headers, headers)

    def _unpack(self, download):
        """Gets the package, keeps its uncompressed kernel and its modules."""
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            package = f"linux-image-{self.release}"
            download(package, scratch)
            files = glob.glob(os.path.join(scratch, "*.deb"))
            if not files:
                raise Missing(f"package {package} can't be had: nothing was downloaded")
            subprocess.run(["dpkg-deb", "-x", files[0], scratch], check=True)
            with open(os.path.join(scratch, "boot", f"vmlinuz-{self.release}"), "rb") as file:
                _write(self.image, _uncompressed(file.read()))
            tree = os.path.join(scratch, "lib", "modules", self.release, "kernel")
            if not os.path.isdir(tree):  # a merged /usr
                tree = os.path.join(scratch, "usr", tree[len(scratch) + 1:])
            os.rename(tree, self.modules)
        _write(os.path.join(self.folder, "complete"), b"")

    def _module_paths(self):
        """Path of each module by its name. Packed ones have been packed by xz."""
        paths = {}
        for folder, _, files in os.walk(self.modules):
            for file in files:
                for ending in (".ko.xz", ".ko"):
                    if file.endswith(ending):
                        paths.setdefault(file[:-len(ending)].replace("-", "_"), os.path.join(folder, file))
                        break
        return paths

    def with_dependencies(self, names):
        """Paths of modules and of what they depend on, in the order in which they have to be loaded."""
        paths = self._module_paths()
        ordered = []

        def visit(name):
            if name not in paths:
                return  # built into the kernel
            path = _unpacked_module(paths[name])
            if path in ordered:
                return
            with open(path, "rb") as file:
                found = re.search(rb"\0depends=([^\0]*)\0", file.read())
            for needed in filter(None, (found.group(1).decode() if found else "").split(",")):
                visit(needed.replace("-", "_"))
            ordered.append(path)

        for name in names:
            visit(name)
        return ordered

    def build_module(self, sources, output):
        """Builds the module in `sources` in a copy of that folder; returns the module's path."""
        require("make", "make")
        os.makedirs(output, exist_ok=True)
        kept = set()
        for name in os.listdir(sources):
            kept.add(name)
            source, copy = os.path.join(sources, name), os.path.join(output, name)
            with open(source, "rb") as file:
                content = file.read()
            if not os.path.exists(copy) or _read(copy) != content:
                _write(copy, content)
        for name in os.listdir(output):
            if name.endswith((".c", ".h")) and name not in kept:
                os.unlink(os.path.join(output, name))
        made = subprocess.run(["make", "-C", self.headers, f"M={output}", "W=1", "modules"], capture_output=True, text=True,
                              check=False, env={**os.environ, "MAKEFLAGS": ""})
        log = made.stdout + made.stderr
        _write(os.path.join(output, "build.log"), log.encode())
        # W=1 warns of nothing that this module does; a warning is a mistake.
        if made.returncode != 0 or "warning:" in log:
            raise RuntimeError(f"the module can't be built without warnings:\n{log}")
        return glob.glob(os.path.join(output, "*.ko"))[0]


def _read(path):
    with open(path, "rb") as file:
        return file.read()


def _write(path, content):
    with open(path, "wb") as file:
        file.write(content)


def _unpacked_module(path):
    """A module as the kernel takes it from insmod; unpacked beside the packed one."""
    plain = path.removesuffix(".xz")
    if not os.path.exists(plain):
        with lzma.open(path) as file:
            _write(plain, file.read())
    return plain


def _download_as_headers(package, folder):
    """In the version that the installed headers have."""
    headers = package.replace("linux-image-", "linux-headers-", 1)
    version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", headers], capture_output=True, text=True,
                             check=False).stdout
    got = subprocess.run(["apt-get", "-q", "download", f"{package}={version}" if version else package], cwd=folder,
                         capture_output=True, text=True, check=False)
    if got.returncode != 0:
        reason = (got.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise Missing(f"package {package} can't be had: {reason}")


def _newest_headers():
    """Release and folder of the newest installed headers of a stock kernel."""
    found = {}
    for path in glob.glob("/usr/src/linux-headers-*-amd64"):
        release = os.path.basename(path)[len("linux-headers-"):]
        if re.fullmatch(r"[\d.]+-\d+-amd64", release) and os.path.exists(os.path.join(path, "Module.symvers")):
            found[tuple(int(number) for number in re.findall(r"\d+", release)[:-1])] = (release, path)
    if not found:
        raise Missing("no headers of a Debian kernel are installed (package linux-headers-amd64)")
    return found[max(found)]


def _uncompressed(image):
    """The ELF file in a bzImage: QEMU boots it at once, and decompressing without KVM takes seconds. The image as it is
    where this machine can't unpack it, and for arm64, whose image isn't packed."""
    offset, magic = ARM64_MAGIC
    if image[offset:offset + len(magic)] == magic:
        return image
    for begin in _places(image, XZ):
        try:
            content = lzma.LZMADecompressor().decompress(image[begin:])
        except lzma.LZMAError:
            continue
        if content.startswith(b"\x7fELF"):
            return content
    for begin in _places(image, ZSTD):
        if not shutil.which("zstd"):
            break
        # What follows the packed kernel makes zstd fail in the end.
        content = subprocess.run(["zstd", "-dc"], input=image[begin:], capture_output=True, check=False).stdout
        if content.startswith(b"\x7fELF"):
            return content
    return image


def _places(content, pattern):
    """Where a pattern stands."""
    begin = content.find(pattern)
    while begin >= 0:
        yield begin
        begin = content.find(pattern, begin + 1)


class Machine:
    """One boot."""

    def __init__(self, kernel, archive, *, memory=2048, cpus=2, work, disks=(), processor=AMD64):
        """`disks`: paths of images in the order in which the guest is to see them, behind that for results. What it
        writes to them is forgotten."""
        self.kernel = kernel
        self.disks = disks
        self.archive = archive
        self.memory = memory  # MiB
        self.cpus = cpus
        self.results = os.path.join(work, "results.tar")
        self.processor = processor
        self.process = None
        self.status = None  # exit status that the guest has written to its console

    def argv(self):
        """QEMU's command line: a serial console, a disk for results, further disks, nothing else."""
        words = [require(self.processor.qemu, self.processor.package), "-accel", "tcg,thread=multi", *self.processor.words,
                "-smp", str(self.cpus), "-m", str(self.memory), "-nodefaults", "-no-user-config",
                "-display", "none", "-no-reboot", "-serial", "stdio",
                "-drive", f"file={self.results},format=raw,if=none,id=results",
                "-device", "virtio-blk-pci,drive=results",
                "-kernel", self.kernel.image, "-initrd", self.archive,
                "-append", f"console={self.processor.console} quiet loglevel=4 panic=-1 oops=panic rdinit=/init mitigations=off "
                           f"nokaslr {self.processor.options}"]
        for number, disk in enumerate(self.disks):
            words += ["-drive", f"file={disk},format=raw,if=none,id=disk{number},snapshot=on",
                      "-device", f"virtio-blk-pci,drive=disk{number}"]
        return words

    def boot(self, on_line, limit):
        """Boots, hands each line of the console to on_line, and returns the guest's exit status (0 to 127).

        Raises Crashed when the kernel died or `limit` seconds have passed.
        """
        with open(self.results, "wb") as disk:
            disk.truncate(RESULTS_SIZE)
        process = self.process = subprocess.Popen(["timeout", "--kill-after=5", str(limit), *self.argv()], stdin=subprocess.DEVNULL,
                                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            with process.stdout as console:
                for line in console:
                    text = line.decode(errors="replace").rstrip("\r\n")
                    if found := STATUS.match(text):
                        self.status = int(found.group(1))
                    on_line(text)
            status = process.wait()
        except BaseException:
            process.terminate()
            process.wait()
            raise
        if status in (124, 137):
            raise Crashed(f"not done after {limit} s")
        if not self.processor.has_exit_port:
            if status != 0 or self.status is None:
                raise Crashed(f"the guest's kernel or QEMU ended (QEMU's exit status {status})")
            return self.status
        if status % 2 == 0:
            raise Crashed(f"the guest's kernel or QEMU ended (QEMU's exit status {status})")
        return status // 2

    def end(self):
        """Ends a boot that another thread waits for."""
        if self.process:
            self.process.terminate()

    def shell(self):
        """Boots with this terminal as the guest's console."""
        with open(self.results, "wb") as disk:
            disk.truncate(RESULTS_SIZE)
        return subprocess.run(self.argv(), check=False).returncode // 2

    def unpack_results(self, folder):
        """What the guest wrote to its disk, a tar archive; False if there is none."""
        try:
            with tarfile.open(self.results) as archive:
                archive.extractall(folder)
        except tarfile.TarError:
            return False
        finally:
            os.unlink(self.results)
        return True
