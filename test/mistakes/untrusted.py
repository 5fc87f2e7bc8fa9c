# SPDX-License-Identifier: GPL-2.0-only
"""Cases about `criu restore --untrusted`: a container that it restores, and one hostile image or file for each rule."""

import io
import os
import shutil
import signal
import stat
import struct
import subprocess
import tarfile

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
exec /bin/busybox sh -c '/bin/busybox umount -l /old; cd /; exec </data >/out 2>/out; '"$PROGRAM"
"""
IDLE = "echo ready; exec /bin/busybox sleep 1000000"
# Fills memory and a tmpfs, and compares both when the file `go` exists.
CHECKING = """
b=/bin/busybox
$b mount -t tmpfs tmpfs /tmp
$b seq 1 20000 >/tmp/numbers
$b seq 1 3000000 >/tmp/large
$b mkdir /tmp/folder
$b ln -s ../numbers /tmp/folder/link
$b ln /tmp/numbers /tmp/hard
$b mkfifo -m 640 /tmp/fifo
$b truncate -s 9999999 /tmp/holes
memory=$($b cat /tmp/numbers)
look() { echo "$memory" | $b md5sum; $b md5sum /tmp/numbers /tmp/folder/link /tmp/hard /tmp/holes /tmp/large; $b stat -c "%n %a %u %h %s %Y" /tmp/*; }
before=$(look)
echo ready
while [ ! -e /go ]; do $b sleep 0.1; done
if [ "$(look)" = "$before" ]; then echo equal; else echo "$before"; look; fi
exec /bin/busybox sleep 1000000
"""


def protocol(name):
    """The messages of a file of images/."""
    return rpc.Proto(os.path.join(rpc.ROOT, "images", name))


class Container:
    """A process in private namespaces with a small root, and its images."""

    def __init__(self, case, program=IDLE):
        self.case = case
        self.root = os.path.join(case.work, "rootfs")
        busybox = shutil.which("busybox")
        if busybox is None:
            raise Skipped("busybox isn't installed")
        for folder in ("", "bin", "dev", "old", "proc", "tmp"):
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
                                   env={"PATH": os.environ["PATH"], "ROOTFS": self.root, "PROGRAM": program})
        until(lambda: (processes.status(self.pid) or {}).get("Name") == "busybox" and self.says("out") == "ready\n"
              and (program is not IDLE or "sleep" in (processes.text(f"/proc/{self.pid}/cmdline") or "")), "the container runs")
        self.dump(self.pid, case.images)

    def dump(self, pid, images, *words):
        """Dumps the tree, which ends."""
        self.case.criu("dump", "-t", str(pid), "-D", images, "--manage-cgroups=ignore", *words)
        until(lambda: self.init.reap() or pid not in processes.pids(), "the end of the container")

    def says(self, name):
        """The content of a file in the root directory."""
        with open(os.path.join(self.root, name), encoding="ascii") as file:
            return file.read()

    def end(self):
        """Kills the restored container."""
        os.kill(self.pid, signal.SIGKILL)
        until(lambda: self.init.reap() or self.pid not in processes.pids(), "its end")

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
    container.pid = pid
    container.end()


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


def restored_pid(container, images, *words):
    """Restores a container, and returns its pid."""
    pid_file = os.path.join(container.case.work, "pid")
    said = container.restore(images, "-v4", "--pidfile", pid_file, *words)
    says(said, "Stage: unpack")
    with open(pid_file, encoding="ascii") as file:
        pid = int(file.read())
    os.unlink(pid_file)
    return pid


def require_content(container):
    """Lets the program compare its memory and files with those before the first dump."""
    with open(os.path.join(container.root, "go"), "w", encoding="ascii"):
        pass
    until(lambda: container.says("out") != "ready\n", "the program has compared")
    require(container.says("out") == "ready\nequal\n", f"the program says: {container.says('out')}")


def new_key(case):
    """The path of a new secret key; that of its public key ends in .pub."""
    key = os.path.join(case.work, "key")
    for words in (["openssl", "genpkey", "-algorithm", "X25519", "-out", key], ["openssl", "pkey", "-in", key, "-pubout", "-out", key + ".pub"]):
        subprocess.run(words, check=True, capture_output=True)
    return key


def append_to_record(path, more):
    """Appends bytes to the first record of an image, which is its only one."""
    with open(path, "r+b") as file:
        data = file.read()
        size, = struct.unpack_from("<I", data, 8)
        file.seek(8)
        file.write(struct.pack("<I", size + len(more)) + data[12:12 + size] + more)


def untrusted_contents(case):
    """Memory and a tmpfs in each form of storage: confined processes decode compressed images."""
    container = Container(case, CHECKING)
    for prefix in ("tmpfs-dev-", "tmpfs-files-"):  # /tmp/large is outside of the archive
        require(any(name.startswith(prefix) for name in os.listdir(case.images)), f"no image {prefix}")
    key = new_key(case)
    stream = os.path.join(case.work, "stream")
    container.pid = restored_pid(container, case.images)
    for name, dump, restore in (("lz4", ["--compress=lz4"], []),
                                ("zstd", ["--compress=zstd"], ["--image-io-mode", "direct"]),
                                ("checksums", ["--compress=lz4", "--checksum"], []),
                                ("encrypted", ["--compress=zstd", "--encrypt", key + ".pub"], ["--decrypt", key]),
                                ("streamed", ["--compress=lz4", "--stream-to", stream], ["--stream-from", stream])):
        images = os.path.join(case.work, name)
        os.mkdir(images)
        container.dump(container.pid, images, *dump)
        container.pid = restored_pid(container, images, *restore)
    require_content(container)
    container.end()


def untrusted_archives(case):
    """Archives of a tmpfs in the formats of tar programs, with a long name. libarchive converts names of the format pax."""
    container = Container(case, CHECKING)
    for kind, name in ((tarfile.GNU_FORMAT, "n\u00e4me " + "x" * 120), (tarfile.PAX_FORMAT, "name " + "x" * 120)):
        images = container.copy(f"archive-{kind}")
        archive = image(images, "tmpfs-dev-")
        with tarfile.open(image(case.images, "tmpfs-dev-")) as before, tarfile.open(archive, "w:gz", format=kind) as after:
            for member in before:
                content = before.extractfile(member) if member.isreg() else None
                member.pax_headers, member.sparse = {}, None  # the new file has no holes
                after.addfile(member, content)
            new = tarfile.TarInfo("./" + name)
            new.size = 5
            after.addfile(new, io.BytesIO(b"12345"))
        container.pid = restored_pid(container, images)
        with open(f"/proc/{container.pid}/root/tmp/{name}", encoding="ascii") as file:
            require(file.read() == "12345", "another content")
        container.end()


def untrusted_damage(case):
    """Archives, compressed pages and records that only a broken or hostile program writes."""
    container = Container(case, CHECKING)
    images = container.copy("archive")
    archive = image(images, "tmpfs-dev-")
    with open(archive, "r+b") as file:
        file.write(b"no archive")
    container.refused(images, rf"unpack .*{os.path.basename(archive)}: read an archive")
    images = container.copy("memory")
    archive = image(images, "tmpfs-dev-")
    # A list of 20,000,000 parts of a file with holes: 80 KB of the archive, and 960 MB of libarchive's memory.
    parts = 20_000_000
    content = f"{parts}\n".encode() + b"0\n0\n" * parts
    member = tarfile.TarInfo("./GNUSparseFile.0/name")
    member.size = len(content)
    member.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "./name", "GNU.sparse.realsize": "1"}
    with tarfile.open(archive, "w:gz", format=tarfile.PAX_FORMAT) as file:
        file.addfile(member, io.BytesIO(content))
    container.refused(images, rf"unpack .*{os.path.basename(archive)}: .*memory")
    images = container.copy("record")
    # Adds another user map at the end. Protobuf merges lists, but encoders write fields in ascending order.
    append_to_record(image(images, "userns-"), b"\x0a\x06\x08\x00\x10\x00\x18\x01")
    container.refused(images, r"userns-\d+\.img: .*userns_entry isn't in canonical form at field 1, which --untrusted requires")
    container.pid = restored_pid(container, case.images)
    images = os.path.join(case.work, "pages")
    os.mkdir(images)
    container.dump(container.pid, images, "--compress=zstd")
    whole = os.path.join(case.work, "whole")
    shutil.copytree(images, whole)
    for name in os.listdir(images):
        if name.startswith("pages-"):
            path = os.path.join(images, name)
            with open(path, "r+b") as file:
                file.write(b"\xff" * min(os.path.getsize(path), 64))
    container.refused(images, r"decompress .*pages-\d+\.img: block of \d+ bytes at offset 0x[0-9a-f]+: .*it is damaged")
    says(container.restore(whole, "--max-memory", "64K", status=1), r"decompress .*No space left on device.*raise --max-memory")


def untrusted_encryption(case):
    """The head of encrypted images, in a directory and in a stream. criu decodes it before all other images."""
    container = Container(case, CHECKING)
    container.pid = restored_pid(container, case.images)
    key = new_key(case)
    images = os.path.join(case.work, "encrypted")
    os.mkdir(images)
    container.dump(container.pid, images, "--encrypt", key + ".pub")
    head = os.path.join(images, "encryption.img")
    with open(head, "rb") as file:
        version = file.read()[12:14]
    append_to_record(head, version)  # only the encoding is wrong: the version comes twice
    stream = os.path.join(case.work, "stream")
    with open(stream, "wb") as file:
        subprocess.run([case.binary, "stream", "pack", "--no-default-config", "-D", images], stdout=file, check=True)
    empty = os.path.join(case.work, "empty")
    os.mkdir(empty)
    for place, words in ((images, []), (empty, ["--stream-from", stream])):
        says(container.restore(place, "--decrypt", key, *words, status=1), r"encryption\.img: .*isn't in canonical form at field 1")


def untrusted_request(case):
    """The field of requests."""
    container = Container(case, CHECKING)
    opts = {"log_file": "restore.log", "log_level": 4, "untrusted": RANGE, "root": container.root, "rst_sibling": False}

    def ask(images, **more):
        images_dir = os.open(images, os.O_RDONLY | os.O_DIRECTORY)
        client = rpc.Swrk(container.init, case.binary, os.path.join(case.work, "criu.out"))
        reply = client.ask("RESTORE", {**opts, "images_dir_fd": images_dir, **more})
        client.end()
        os.close(images_dir)
        return reply

    reply = ask(case.images, untrusted="200000-265535")
    require(not reply["success"] and "but the range is 200000-265535" in reply["cr_errmsg"], f"reply: {reply}")
    images = container.copy("archive")
    with open(image(images, "tmpfs-dev-"), "r+b") as file:
        file.write(b"no archive")
    reply = ask(images)
    require(not reply["success"] and "read an archive" in reply["cr_errmsg"], f"reply: {reply}")
    reply = ask(case.images)
    require(reply["success"], f"reply: {reply}")
    container.pid = reply["restore"]["pid"]
    require_content(container)
    container.end()


def untrusted_later_images(case):
    """Images that would come during the restore."""
    for words in (["--stream"], ["--provider-socket", "socket"]):
        says(case.restore("--untrusted", RANGE, *words, status=1), "--untrusted excludes --stream and an external memory provider")


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
         untrusted_links, untrusted_device, untrusted_contents, untrusted_archives, untrusted_damage, untrusted_encryption, untrusted_request,
         untrusted_later_images]
