# SPDX-License-Identifier: GPL-2.0-only
"""Cases about `criu restore --untrusted`: a container that it restores, and one hostile image or file for each rule."""

import os
import shutil
import signal
import stat
import struct

from case import Skipped, require, says, until
from harness import processes, rpc

BUSYBOX = "/bin/busybox"
RANGE = f"{processes.USERS}-{processes.USERS + processes.USER_COUNT - 1}"
# Runs as root of a new user namespace, in a new pid namespace. The last command is a process with no file of the host.
ENTER = """
set -e
mount --bind "$ROOTFS" "$ROOTFS"
cd "$ROOTFS"
mount -t proc proc proc
pivot_root . old
exec /bin/busybox sh -c '/bin/busybox umount -l /old; cd /; exec </data >/out 2>/out; echo ready; exec /bin/busybox sleep 1000000'
"""


def protocol(name):
    """The messages of a file of images/."""
    return rpc.Proto(os.path.join(rpc.ROOT, "images", name))


class Container:
    """A process in private namespaces with a small root, and its images."""

    def __init__(self, case):
        self.case = case
        self.root = os.path.join(case.work, "rootfs")
        busybox = shutil.which("busybox")
        if busybox is None:
            raise Skipped("busybox isn't installed")
        for folder in ("", "bin", "old", "proc"):
            os.mkdir(os.path.join(self.root, folder))
        shutil.copy(busybox, self.root + BUSYBOX)
        for name in ("data", "out"):
            with open(os.path.join(self.root, name), "w", encoding="ascii"):
                pass
        for folder, _, files in os.walk(self.root):
            for name in ("", *files):
                os.chown(os.path.join(folder, name), processes.USERS, processes.USERS)
        self.init = processes.Init()
        self.pid = self.init.start(["/usr/bin/unshare", "--mount", "--net", "--ipc", "--propagation", "private", "/bin/sh", "-c", ENTER],
                                   "/", os.path.join(self.root, "log"), session=True, own_users="yes",
                                   env={"PATH": os.environ["PATH"], "ROOTFS": self.root})
        until(lambda: (processes.status(self.pid) or {}).get("Name") == "busybox" and self.says("out") == "ready\n"
              and "sleep" in (processes.text(f"/proc/{self.pid}/cmdline") or ""), "the container runs")
        case.criu("dump", "-t", str(self.pid), "-D", case.images, "--manage-cgroups=ignore")
        self.init.wait(self.pid, processes.PATIENCE, "the end of the container")

    def says(self, name):
        """The content of a file in the root directory."""
        with open(os.path.join(self.root, name), encoding="ascii") as file:
            return file.read()

    def restore(self, images, *words, root=True, ids=RANGE, status=0):
        """Runs criu restore, and returns what it says."""
        given = ["--root", self.root] if root else []
        return self.case.criu("restore", "-D", images, "-d", "--untrusted", ids, *given, *words, status=status)

    def copy(self, name):
        """A copy of the images."""
        images = os.path.join(self.case.work, name)
        shutil.copytree(self.case.images, images)
        return images

    def refused(self, images, *patterns, **more):
        """Requires a refusal that leaves no process."""
        before = set(processes.pids())
        said = self.restore(images, status=1, **more)
        says(said, *patterns)
        require("Stage: birth" not in said, f"processes existed: {said}")
        self.init.reap()
        left = set(processes.pids()) - before
        require(not left, f"processes are left: {left}")


def change(path, proto, message, edit):
    """Changes each record of an image by edit(values)."""
    with open(path, "rb") as file:
        data = file.read()
    out, at = data[:8], 8
    while at < len(data):
        size, = struct.unpack_from("<I", data, at)
        values = proto.decode(message, data[at + 4:at + 4 + size])
        edit(values)
        record = proto.encode(message, values)
        out += struct.pack("<I", len(record)) + record
        at += 4 + size
    with open(path, "wb") as file:
        file.write(out)


def append(path, record):
    """Adds a record to an image."""
    with open(path, "ab") as file:
        file.write(struct.pack("<I", len(record)) + record)


def image(images, prefix):
    """The only image with this prefix."""
    found = [name for name in os.listdir(images) if name.startswith(prefix)]
    require(len(found) == 1, f"images {prefix}*: {found}")
    return os.path.join(images, found[0])


def untrusted_container(case):
    """A container of an author who isn't trusted."""
    container = Container(case)
    pid_file = os.path.join(case.work, "pid")
    container.restore(case.images, "--pidfile", pid_file)
    with open(pid_file, encoding="ascii") as file:
        pid = int(file.read())
    status = processes.status(pid)
    require(status["Uid"].split() == [str(processes.USERS)] * 4, f"it is of user {status['Uid']}")
    for kind in ("user", "mnt", "net", "ipc", "pid"):
        require(os.readlink(f"/proc/{pid}/ns/{kind}") != os.readlink(f"/proc/self/ns/{kind}"), f"it is in criu's {kind} namespace")
    os.kill(pid, signal.SIGKILL)
    until(lambda: container.init.reap() or pid not in processes.pids(), "its end")


def untrusted_tree(case):
    """A process of the host."""
    process = case.start("sleep", "1000")
    case.dump(process.pid)
    says(case.restore("--untrusted", RANGE, status=1), r"ids-\d+\.img: the process is in criu's user namespace, which --untrusted forbids.*private user")


def untrusted_ids(case):
    """Ids outside of the range, in a map, and of the host's root."""
    container = Container(case)
    container.refused(case.images, r"userns-\d+\.img: users 100000 to 165535 of the host are in use, but the range is 200000-265535", ids="200000-265535")
    users = protocol("userns.proto")
    for field in ("uid_map", "gid_map"):
        images = container.copy(field)

        def to_root(values, field=field):
            values[field][0]["lower_first"] = 0

        change(image(images, "userns-"), users, "userns_entry", to_root)
        container.refused(images, r"userns-\d+\.img: (users|groups) 0 to 65535 of the host")


def untrusted_namespaces(case):
    """A process that the images put into the host's namespaces."""
    container = Container(case)
    core = protocol("core.proto")
    order = ("pid", "net", "ipc", None, None, "mnt", "user")  # the numbers of criu's namespaces, from 1 on
    for number, kind in enumerate(order, 1):
        if kind is None:
            continue
        images = container.copy(kind)
        change(image(images, "ids-"), core, "task_kobj_ids_entry", lambda values, kind=kind, number=number: values.update({f"{kind}_ns_id": number}))
        container.refused(images, rf"the process is in criu's {kind} namespace")


def untrusted_files(case):
    """Open files that the tree's namespaces don't confine."""
    container = Container(case)
    files = protocol("fdinfo.proto")
    for kind in ("EXT", "TUNF", "BPFMAP", "FANOTIFY", "VSOCKSK"):
        images = container.copy(kind)
        append(os.path.join(images, "files.img"), files.encode("file_entry", {"type": kind, "id": 999}))
        container.refused(images, rf"files.img: file 999: it is of kind {kind}, which --untrusted forbids")


def untrusted_mounts(case):
    """Mounts of the host, and no root directory."""
    container = Container(case)
    container.refused(case.images, r"mountpoints-\d+\.img: / .*it would be criu's root directory.*--root", root=False)
    mounts = protocol("mnt.proto")

    def on_proc(edit):
        return lambda values: edit(values) if values["mountpoint"].endswith("proc") else None

    for name, edit, text in (("devices", lambda values: values.update(fstype=3, fsname="devtmpfs"), "devtmpfs, mount .*it shows objects of the host"),
                             ("terminals", lambda values: values.update(fstype=6, fsname="devpts"), "it shows terminals of the host"),
                             ("found", lambda values: values.update(ext_key="CRIU:AUTOGENERATED", source="/etc"), "the images choose its source, /etc")):
        images = container.copy(name)
        change(image(images, "mountpoints-"), mounts, "mnt_entry", on_proc(edit))
        container.refused(images, text)


def untrusted_links(case):
    """Links in the images directory."""
    container = Container(case)
    images = container.copy("parent-of")
    os.symlink("/", os.path.join(images, "parent"))
    container.refused(images, "have a parent directory, which --untrusted forbids")
    images = container.copy("linked")
    core = image(images, "core-")
    os.rename(core, core + ".moved")
    os.symlink(core + ".moved", core)
    container.refused(images, rf"open {os.path.basename(core)} ")


def untrusted_device(case):
    """A device node in place of an open file."""
    container = Container(case)
    data = os.path.join(container.root, "data")
    os.unlink(data)
    os.mknod(data, stat.S_IFCHR | 0o666, os.makedev(1, 1))
    said = container.restore(case.images, status=1)
    says(said, r"/data is device 1:1, which --untrusted forbids to open")
    container.init.reap()


CASES = [untrusted_container, untrusted_tree, untrusted_ids, untrusted_namespaces, untrusted_files, untrusted_mounts,
         untrusted_links, untrusted_device]
