# SPDX-License-Identifier: GPL-2.0-only
"""Restores whose memory comes from an external memory provider (--inherit-fd fd[N]:extmem-provider).

The provider runs in threads of the test. It has the content of the dump's images, in which it then destroys what it
provides, so that a program finds its memory only if the provider was asked."""

import array
import bisect
import errno
import os
import re
import shutil
import socket
import threading

from harness import criu as criu_runs
from harness import processes, rpc
from increments import LAZY, PAGE, PRESENT, decode, encode_numbers, read_records, write_records
from subject import Failed
import modes

PROTO = rpc.Proto(os.path.join(rpc.ROOT, "images", "extmem.proto"))
NAME = "extmem-provider"
NUMBER = 9
GARBAGE = b"\xdb" * PAGE


class Memory:
    """Pages of one process or shared memory object."""

    def __init__(self, images, name):
        with open(os.path.join(images, name), "rb") as file:
            _, records = read_records(file.read())
        self.path = os.path.join(images, f"pages-{decode(records[0])[1]}.img")
        self.places = {}
        at = 0
        for record in records[1:]:
            entry = decode(record)
            for page in range(entry[5]):
                if entry.get(4, PRESENT) & PRESENT:
                    self.places[entry[1] + page * PAGE] = at
                    at += PAGE
        self.addresses = sorted(self.places)
        with open(self.path, "rb") as file:
            self.content = file.read()

    def file(self, start, size):
        """Returns a memfd with the content of a range."""
        made = os.memfd_create("provided", os.MFD_ALLOW_SEALING)
        os.truncate(made, size)
        for address in self.within(start, size):
            at = self.places[address]
            os.pwrite(made, self.content[at:at + PAGE][:start + size - address], address - start)
        return made

    def within(self, start, size):
        """Returns the addresses of the pages of a range."""
        return self.addresses[bisect.bisect_left(self.addresses, start):bisect.bisect_left(self.addresses, start + size)]

    def destroy(self, start, size):
        """Overwrites a range in the images."""
        with open(self.path, "r+b") as file:
            for address in self.within(start, size):
                file.seek(self.places[address])
                file.write(GARBAGE)


class Provider:
    """The other end of criu's socket."""

    def __init__(self, images, declined=(), destroys=True):
        self.images = images
        self.destroys = destroys
        self.declined = declined
        self.client, self.server = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.asked = []
        self.wrong = None
        self.provided = []
        self.memory = {name: Memory(images, name) for name in os.listdir(images)
                       if re.fullmatch(r"pagemap-(shmem-)?\d+\.img", name)}
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        """Answers until criu closes the socket."""
        try:
            while True:
                packet = self.server.recv(8192)
                if not packet:
                    return
                self.answer(PROTO.decode("extmem_req", packet))
        except OSError as error:
            if error.errno not in (errno.EPIPE, errno.ECONNRESET):
                self.wrong = str(error)
        except (KeyError, ValueError) as error:
            self.wrong = f"{type(error).__name__}: {error}"

    def answer(self, request):
        """Answers one request."""
        op = request["op"].removeprefix("EXTMEM_")
        self.asked.append(op)
        status, file = 0, None
        if op in self.declined:
            status = -errno.ENOTSUP
        elif op == "OPEN_IMAGE":
            status, file = self.image(request["open_image"]["name"])
        elif op == "GET_VMA":
            wanted = request["get_vma"]
            file = self.range(f"pagemap-{wanted['pid']}.img", wanted["vaddr"], wanted["length"])
        elif op == "GET_SHARED":
            wanted = request["get_shared"]
            file = self.range(f"pagemap-shmem-{wanted['shmid']}.img", 0, wanted["length"])
            status = 0 if file is not None else -errno.ENOTSUP
        self.reply(op, status, [] if file is None else [file])

    def reply(self, _op, status, files):
        """Sends a reply, and closes the files."""
        self.send(PROTO.encode("extmem_resp", {"status": status}), files)
        for file in files:
            os.close(file)

    def send(self, packet, files):
        """Sends a packet with descriptors."""
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))] if files else []
        self.server.sendmsg([packet], rights)

    def image(self, name):
        """Returns a status and the file of an image, which criu then doesn't find in the directory."""
        if "/" in name or not os.path.exists(os.path.join(self.images, name)) or name.startswith("pages-"):
            return -errno.ENOTSUP, None
        return 0, os.open(os.path.join(self.images, name), os.O_RDONLY)

    def range(self, name, start, size):
        """Returns the file of a range."""
        memory = self.memory.get(name)
        if memory is None:
            return None
        file = memory.file(start, size)
        if self.destroys:
            memory.destroy(start, size)
        self.provided.append((name, start, size))
        return file

    def end(self):
        """Closes criu's end. Returns the requests without repetitions of one after another."""
        self.client.close()
        self.thread.join(10)
        self.server.close()
        if self.wrong:
            raise Failed(f"the provider got {self.wrong}")
        return [op for at, op in enumerate(self.asked) if at == 0 or self.asked[at - 1] != op]


class Nonsense(Provider):
    """A provider whose replies to one request are wrong. `tamper` is called with the provider, the correct status and
    files, and sends what it wants."""

    def __init__(self, images, op, tamper):
        self.op = op
        self.tamper = tamper
        super().__init__(images, destroys=False)

    def reply(self, op, status, files):
        if op != self.op or (op == "OPEN_IMAGE" and not files):
            super().reply(op, status, files)
            return
        self.tamper(self, status, files)
        for file in files:
            os.close(file)


def cut(fake, status, files):
    """Makes the file a page shorter."""
    size = os.fstat(files[0]).st_size
    os.truncate(files[0], size - min(size, PAGE))
    fake.send(PROTO.encode("extmem_resp", {"status": status}), files)


def instead(path, flags):
    """Sends another file."""
    def tamper(fake, status, _files):
        file = os.open(path, flags)
        fake.send(PROTO.encode("extmem_resp", {"status": status}), [file])
        os.close(file)
    return tamper


def of_a_pipe(fake, status, _files):
    """Sends a pipe that never has content."""
    ends = os.pipe()
    fake.keeps = ends
    fake.send(PROTO.encode("extmem_resp", {"status": status}), ends[:1])
    os.close(ends[0])


def with_status(status, keeps_files=True):
    """Sends another status."""
    return lambda fake, _, files: fake.send(PROTO.encode("extmem_resp", {"status": status}), files if keeps_files else [])


def with_garbage(fake, _status, files):
    """Changes all bytes of the file."""
    made = os.memfd_create("garbage")
    os.write(made, GARBAGE)
    fake.send(PROTO.encode("extmem_resp", {"status": 0}), [made])
    os.close(made)


def read_only(fake, status, files):
    """Sends the file without the right to write."""
    file = os.open(f"/proc/self/fd/{files[0]}", os.O_RDONLY)
    fake.send(PROTO.encode("extmem_resp", {"status": status}), [file])
    os.close(file)


def write_only(fake, status, files):
    """Sends the file without the right to read."""
    file = os.open(f"/proc/self/fd/{files[0]}", os.O_WRONLY)
    fake.send(PROTO.encode("extmem_resp", {"status": status}), [file])
    os.close(file)


def closes(fake, _status, _files):
    """Vanishes."""
    fake.server.shutdown(socket.SHUT_RDWR)


def twice(fake, status, files):
    """Answers twice, so that the next request has its answer already."""
    for _ in range(2):
        fake.send(PROTO.encode("extmem_resp", {"status": status}), files)


def silent(_fake, _status, _files):
    """Never answers."""


# Request, wrong reply, and words of criu's error.
NONSENSE = [
    *[(op, tamper, words) for op in ("INIT", "OPEN_IMAGE", "GET_VMA", "WAIT_READY") for tamper, words in (
        (closes, "has closed its socket"),
        (silent, "doesn't answer for 1 s"),
        (lambda fake, status, files: fake.send(b"", []), "has closed its socket"),
        (lambda fake, status, files: fake.send(b"\xff" * 100, files), op),
        (lambda fake, status, files: fake.send(bytes(8193), files), "too large"),
        (lambda fake, status, files: fake.send(PROTO.encode("extmem_resp", {"status": 0}), [0, 1]), "several descriptors"),
        (with_status(1, False), "no negative errno"),
        (with_status(-5000, False), "no negative errno"),
        (with_status(-(1 << 31), False), "no negative errno"),
        (with_status(-errno.EIO, False), "Input/output error"),
    )],
    *[(op, with_status(-errno.ENOTSUP), "has a descriptor") for op in ("OPEN_IMAGE", "GET_VMA")],
    *[(op, with_status(0, False), "lacks a descriptor") for op in ("OPEN_IMAGE", "GET_VMA")],
    *[(op, instead("/", os.O_RDONLY), "isn't a regular file") for op in ("OPEN_IMAGE", "GET_VMA")],
    *[(op, instead("/dev/zero", os.O_RDWR), "isn't a regular file") for op in ("OPEN_IMAGE", "GET_VMA")],
    *[(op, of_a_pipe, "isn't a regular file") for op in ("OPEN_IMAGE", "GET_VMA")],
    ("OPEN_IMAGE", with_garbage, ""),
    ("OPEN_IMAGE", instead("/dev/shm", os.O_TMPFILE | os.O_RDWR), ""),
    ("INIT", twice, "lacks a descriptor"),
    ("GET_VMA", cut, "bytes instead of"),
    ("GET_VMA", write_only, "Bad file descriptor"),
]
NONSENSE_SHARED = [
    ("GET_SHARED", cut, "bytes instead of"),
    ("GET_SHARED", lambda fake, status, files: (os.truncate(files[0], 1 << 40), fake.send(PROTO.encode("extmem_resp", {"status": 0}), files)), "bytes instead of"),
    ("GET_SHARED", read_only, "isn't open for reading and writing"),
    ("GET_SHARED", closes, "has closed its socket"),
    ("GET_SHARED", silent, "doesn't answer for 1 s"),
]


def provider_nonsense(subject, _task):
    """Requires a failed restore that leaves nothing, for each wrong reply, and then a restore without the provider."""
    subject.dump(subject.ours, "images")
    images = subject.images("images")
    shares = any(name.startswith("pagemap-shmem-") for name in os.listdir(images))
    for op, tamper, words in NONSENSE + (NONSENSE_SHARED if shares else []):
        fake = Nonsense(images, op, tamper)
        run = restore(subject, fake, "--timeout", "1")
        fake.end()
        said = " ".join(criu_runs.error_lines(run.log))
        if run.code in (0, None) or words not in said:
            raise Failed(f"{op}, {tamper.__doc__ or tamper}: {run.describe()}\nexpected: {words}")
        if op != "INIT" and tamper is not closes and fake.asked[-1] != "ABORT":
            raise Failed(f"{op}: the provider got {fake.asked[-1]} last")
        subject.await_free_ids()
    # The tree already runs when the provider learns of the success.
    fake = Nonsense(images, "COMMIT", silent)
    subject.require_success(restore(subject, fake, "--timeout", "1"))
    fake.end()
    await_tree(subject)
    subject.check()


def restore(subject, provider, *options):
    """Restores with a provider. Returns the run."""
    before = subject.restore_options
    subject.restore_options = [*before, "--inherit-fd", f"fd[{NUMBER}]:{NAME}", *options]
    subject.ours.passed = {NUMBER: provider.client.fileno()}
    run = subject.try_restore(subject.ours, subject.images("images"))
    subject.ours.passed = None
    subject.restore_options = before
    return run


def await_tree(subject):
    """Waits for the restored tree."""
    subject.init.until(lambda: processes.tree(subject.root), processes.PATIENCE, "the tree")


def forbid_lazy(images):
    """Clears the flag of lazy pages in every second entry. Dumps of CRIU 4.2 without --lazy-pages have no such flags."""
    for name in os.listdir(images):
        if not re.fullmatch(r"pagemap-\d+\.img", name):
            continue
        path = os.path.join(images, name)
        with open(path, "rb") as file:
            magics, records = read_records(file.read())
        for at in range(1, len(records), 2):
            fields = decode(records[at])
            if fields.get(4, 0) & LAZY:
                records[at] = encode_numbers({**fields, 4: fields[4] & ~LAZY})
        write_records(path, magics, records)


def provided(subject, _task):
    """Requires the program to find memory that only the provider has, and the conversation to be complete."""
    subject.dump(subject.ours, "images")
    restore_provided(subject)
    subject.check()


def provided_again(subject, _task):
    """Dumps a tree that has the provider's memory. Requires complete images, from which a restore without the provider
    works."""
    subject.dump(subject.ours, "images")
    restore_provided(subject)
    subject.require_success(subject.ours.run("dump", subject.images("again"), "dump.log",
                                             ["-t", str(subject.root), *subject.dump_options]))
    shutil.rmtree(subject.images("images"))
    subject.await_free_ids()
    subject.require_success(subject.try_restore(subject.ours, subject.images("again")))
    await_tree(subject)
    subject.check()


def restore_provided(subject):
    """Restores from a provider, and checks the conversation."""
    forbid_lazy(subject.images("images"))
    provider = Provider(subject.images("images"))
    subject.require_success(restore(subject, provider))
    asked = provider.end()
    order = [op for op in asked if op != "OPEN_IMAGE"]
    if order not in (["INIT", "GET_VMA", "WAIT_READY", "COMMIT"], ["INIT", "GET_VMA", "GET_SHARED", "WAIT_READY", "COMMIT"]) \
            or "OPEN_IMAGE" not in asked:
        raise Failed(f"criu asked for {asked}")
    if not any(name.startswith("pagemap-") and size for name, _, size in provider.provided):
        raise Failed("the provider has provided nothing")
    if any(name.startswith("pagemap-shmem-") for name, _, _ in provider.provided):
        await_tree(subject)  # /proc shows the names of the provider's files
    else:
        subject.require_unchanged("after the restore with a provider")


def provided_nothing(subject, _task):
    """Requires a restore from the directory if the provider declines each request, or to begin at all."""
    for number, declined in enumerate((("INIT",), ("OPEN_IMAGE", "GET_VMA", "GET_SHARED"))):
        if number == 1:
            subject.dump(subject.ours, "images-2")
            os.rename(subject.images("images"), subject.images("images-1"))
            os.rename(subject.images("images-2"), subject.images("images"))
        else:
            subject.dump(subject.ours, "images")
        provider = Provider(subject.images("images"), declined)
        subject.require_success(restore(subject, provider))
        asked = provider.end()
        if asked != ["INIT"] and [op for op in asked if op != "OPEN_IMAGE"][-2:] != ["WAIT_READY", "COMMIT"]:
            raise Failed(f"criu asked for {asked}")
    subject.check()


def provider_fails(subject, _task):
    """Requires a failed restore, an ABORT and no process if the provider can't wait, or vanishes."""
    subject.dump(subject.ours, "images")
    provider = Provider(subject.images("images"), ("WAIT_READY",))
    run = restore(subject, provider)
    if run.code == 0 or "hasn't filled the memory" not in " ".join(criu_runs.error_lines(run.log)):
        raise Failed(run.describe())
    asked = provider.end()
    if asked[-2:] != ["WAIT_READY", "ABORT"]:
        raise Failed(f"criu asked for {asked}")
    subject.await_free_ids()
    gone = Provider(subject.images("images"))
    gone.server.shutdown(socket.SHUT_RDWR)
    run = restore(subject, gone)
    if run.code == 0 or "provider" not in " ".join(criu_runs.error_lines(run.log)):
        raise Failed(run.describe())
    subject.await_free_ids()


MODES = [
    modes.Mode("provided", provided, beyond_42=True, of_memory=True),
    modes.Mode("provided-again", provided_again, scenario=True, beyond_42=True),
    modes.Mode("provided-nothing", provided_nothing, scenario=True, beyond_42=True),
    modes.Mode("provider-fails", provider_fails, scenario=True, beyond_42=True),
    modes.Mode("provider-nonsense", provider_nonsense, scenario=True, beyond_42=True),
]
