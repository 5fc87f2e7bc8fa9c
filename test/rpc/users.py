# SPDX-License-Identifier: GPL-2.0-only
"""Clients of the service with fewer privileges than criu, where an administrator lets users connect."""

import ctypes
import json
import os
import shutil
import signal
import stat
import sys

from checks import Skipped, pipe_numbers, require, start_service
from harness import processes, rpc

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
USER = 12345
GROUP = 4242
SECRET = "what only root may read\n"

CLIENT = """
import json, os, sys
sys.path[:0] = [os.path.join(sys.argv[1], "rpc"), sys.argv[1]]
import users
users.ask_as_told(*sys.argv[2:])
"""


def become(user=USER, group=USER, groups=()):
    """Changes the credentials of the calling process to those of a user."""
    os.setgroups(list(groups))
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)


def become_other():
    """Changes the credentials to those of another user than USER."""
    become(USER + 1, USER + 1)


def become_member():
    """Changes the credentials to those of a user in GROUP."""
    become(groups=[GROUP])


PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWPID = 0x00020000, 0x08000000, 0x20000000
MS_REC, MS_PRIVATE = 1 << 14, 1 << 18
LANDLOCK_CREATE_RULESET, LANDLOCK_RESTRICT_SELF = 444, 446
LANDLOCK_MAKE_DIR = 1 << 7
LIBC = ctypes.CDLL(None, use_errno=True)


def call(result):
    """Returns the result of a call of the C library. Raises an exception for an error."""
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def in_landlock():
    """Restricts the calling process of a user by Landlock: it may not create directories."""
    become()
    call(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    rules = call(LIBC.syscall(LANDLOCK_CREATE_RULESET, ctypes.byref(ctypes.c_uint64(LANDLOCK_MAKE_DIR)), ctypes.c_size_t(8), 0))
    call(LIBC.syscall(LANDLOCK_RESTRICT_SELF, rules, 0))


def under_seccomp():
    """Installs a filter that allows everything in the calling process of a user. Root installs it, without
    no_new_privs.
    """
    class Program(ctypes.Structure):
        """struct sock_fprog."""
        _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
    allow = (ctypes.c_uint64 * 1)(0x7fff000000000006)  # BPF_RET | BPF_K, SECCOMP_RET_ALLOW
    call(LIBC.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(Program(1, ctypes.addressof(allow)))))
    become()


def in_own_pids():
    """Continues in a child, a user's process in a new pid namespace. The parent ends with the child's status."""
    call(LIBC.unshare(CLONE_NEWPID))
    child = os.fork()
    if child:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    become()


def ask_as_told(before, service, requests):
    """Code of the client's process: calls `before`, which drops privileges, then sends requests. Prints a line for each
    reply.
    """
    globals()[before]()
    for folders, kind, opts in json.loads(requests):
        opened = {name: os.open(path, os.O_RDONLY | os.O_DIRECTORY) for name, path in folders.items() if path}
        print(json.dumps(rpc.Connection.to_service(service).ask(kind, {**opened, **opts})), flush=True)


class Users:
    """Service that users may connect to, and their requests."""

    def __init__(self, case, *options, env=None):
        self.case = case
        self.daemon, self.path = start_service(case, *options, env=env)
        os.chmod(self.path, 0o666)
        for folder in (case.work, os.path.dirname(case.work), os.path.dirname(self.path)):
            os.chmod(folder, 0o755)
        self.images = self.folder("users", USER)

    def folder(self, name, owner, mode=0o755):
        """Returns the path of a new directory."""
        path = self.case.directory(name).path
        os.chown(path, owner, owner)
        os.chmod(path, mode)
        return path

    def file(self, path, text=SECRET, owner=0, mode=0o600):
        """Returns the path of a new file with this content."""
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.chown(path, owner, owner)
        os.chmod(path, mode)
        return path

    def program(self, *argv, **how):
        """Starts a process of the user."""
        return self.case.program(*argv, before_exec=become, **how)

    def ask_all(self, requests, before=become):
        """Returns the replies to requests of a user. Each request is (directories by option, kind, options). One
        process sends all requests, after calling `before`.
        """
        output = self.file(os.path.join(self.case.work, "client.output"), "")
        client = self.case.init.start([sys.executable, "-B", "-c", CLIENT, TESTS, before.__name__, self.path,
                                       json.dumps(requests)], "/", output)
        code = self.case.init.wait(client, processes.PATIENCE).code
        said = processes.text(output)
        require(code == 0, f"the client ended with {code}: {said}")
        return [json.loads(line) for line in said.splitlines()]

    def ask(self, kind, images=None, before=become, **opts):
        """Returns the reply to one request."""
        return self.ask_all([({"images_dir_fd": images or self.images}, kind, opts)], before)[0]

    def copy_of_sleep(self, name, mode, group=0):
        """Returns the path of a root-owned program that sleeps."""
        path = os.path.join(self.case.work, name)
        shutil.copy("/bin/sleep", path)
        os.chown(path, 0, group)
        os.chmod(path, mode)
        return path

    def require_nothing_told(self):
        """Checks that no file in the user's directory contains the secret."""
        for entry in os.scandir(self.images):
            with open(entry.path, "rb") as file:
                require(SECRET.encode() not in file.read(), f"{entry.name} has what only root may read")

    def require_refused(self, text, kind, *folders, **opts):
        """Checks that a request fails for this reason."""
        reply = self.ask(kind, *folders, **opts)
        require(not reply["success"] and text in reply.get("cr_errmsg", ""), f"{kind}: no '{text}' in {reply}")

    def log(self, name):
        """Returns the text of a log in the user's directory."""
        return processes.text(os.path.join(self.images, name)) or ""


def of_user(case):
    """Users can only dump their own processes, into directories that they may write to, with options that give them no
    privileges. Only the owner of criu can use plugins, which open images with criu's privileges.
    """
    plugins = case.directory("plugins")
    shutil.copy(os.path.join(os.path.dirname(case.criu), "..", "test", "plugin", "plugins", "example.so"), plugins.path)
    users = Users(case, env={"PATH": os.environ["PATH"], "CRIU_LIBS_DIR": plugins.path})
    own, roots = users.program(), case.program()
    users.require_refused("runs as user 0", "DUMP", pid=roots)
    require(case.alive(roots), "a process of root was dumped")
    users.require_refused("write to this directory", "DUMP", case.images.path, pid=own)
    require(case.alive(own) and not os.listdir(case.images.path), "files in a directory of root")
    users.require_refused("config_file", "DUMP", pid=own, config_file="/etc/hostname")
    users.require_refused("external", "DUMP", pid=own, external=["mnt[]"])
    reply = users.ask("DUMP", pid=own, log_file="plain.log", log_level=4)
    require(reply["success"], f"its own: {reply}")
    case.gone(own)
    said = users.log("plain.log")
    require("No plugins are used" in said and "Plugin example" not in said, "a plugin for a user")
    reply = rpc.Connection.to_service(users.path).ask("DUMP", case.opts("plain.log", pid=roots, leave_running=True))
    require(reply["success"] and "Plugin example" in case.log("plain.log"), f"no plugin for root: {reply}")
    users.require_refused("may restore", "RESTORE")
    require(own not in processes.pids(), "a restore")


def contents(folder):
    """Returns all state of a directory's content."""
    found = {}
    for entry in os.scandir(folder):
        about = entry.stat(follow_symlinks=False)
        text = processes.text(entry.path) if stat.S_ISREG(about.st_mode) else None
        found[entry.name] = (about.st_ino, about.st_uid, about.st_mode, about.st_nlink, about.st_mtime_ns, text)
    return found


KINDS = [("CHECK", {}), ("CPUINFO_CHECK", {}), ("CPUINFO_DUMP", {}), ("DUMP", {"leave_running": True}), ("PRE_DUMP", {}),
         ("SINGLE_PRE_DUMP", {}), ("PAGE_SERVER", {}), ("PAGE_SERVER_CHLD", {}), ("RESTORE", {})]
"""Requests with options that could make criu create files."""


def logs_of_user(case):
    """criu creates files with the user's credentials, for any request and result. Nothing appears or changes in a
    directory that the user can only read. Files of others in a sticky directory aren't replaced.
    """
    users = Users(case)
    own = users.program()
    readable = users.folder("readable", 0)
    sticky = users.folder("sticky", 0, 0o1777)
    for folder in (readable, sticky):
        users.file(os.path.join(folder, "victim"), mode=0o644)
        os.symlink("victim", os.path.join(folder, "link"))
        os.mkfifo(os.path.join(folder, "fifo"), 0o600)
    before = {folder: contents(folder) for folder in (readable, sticky)}
    places = [(readable, None), (users.images, readable), (readable, users.images), (sticky, None), (users.images, sticky)]
    # The last two requests are invalid, which the log says.
    for kind, opts in [*KINDS, ("DUMP", {"external": ["mnt[]"]}), ("DUMP", {"empty_ns": 1})]:
        users.ask_all([({"images_dir_fd": images, "work_dir_fd": work}, kind, {"pid": own, "log_file": name, "log_level": 4, **opts})
                       for images, work in places for name in ("victim", "link", "fifo", "new")])
        require(contents(readable) == before[readable], f"{kind} {opts}: {contents(readable)}")
        now = contents(sticky)
        changed = {name: now.get(name) for name, was in before[sticky].items() if now.get(name) != was}
        require(not changed, f"{kind} {opts} changed {changed}")
        strange = {name: about for name, about in now.items() if name not in before[sticky] and about[1] != USER}
        require(not strange, f"{kind} {opts}: {strange}")
    require(case.alive(own), "its process has ended")


def own_logs(case):
    """Files of a request belong to the user, and replace the user's files of that name. Links aren't followed."""
    users = Users(case)
    own = users.program()
    aim = users.file(os.path.join(case.work, "aim"), mode=0o666)
    before = contents(case.work)["aim"]
    for number, kind in enumerate(("CHECK", "CPUINFO_DUMP", "CPUINFO_CHECK", "SINGLE_PRE_DUMP", "DUMP")):
        name = f"{number}.log"
        os.symlink(aim, os.path.join(users.images, name))
        reply = users.ask(kind, pid=own, log_file=name, log_level=4)
        require(reply["success"] or kind == "CHECK", f"{kind}: {reply}")
        require("Version: 4.2" in users.log(name), f"{kind}: nothing in the log")
    case.gone(own)
    require(contents(case.work)["aim"] == before, "a link was followed")
    strange = {name: about for name, about in contents(users.images).items()
               if about[1] != USER or stat.S_IMODE(about[2]) != 0o600}
    require(not strange, f"not the user's: {strange}")
    require({"stats-dump", "pages-1.img"} <= set(contents(users.images)), "images and statistics")
    os.mkfifo(os.path.join(users.images, "fifo"))
    users.require_refused("no file has that name", "CPUINFO_DUMP", log_file="fifo")


DAEMON = """
import os, sys, time
sys.path[:0] = [os.path.join(sys.argv[1], "rpc"), sys.argv[1]]
import users
with open(sys.argv[2], encoding="ascii") as file:
    secret = file.read()
users.become()
os.close(int(sys.argv[3]))
time.sleep(1000)
"""
"""Program of a daemon that has read a file of root, and has dropped root's credentials since."""


def started_as_root(users):
    """Starts a daemon that was root. Returns its pid."""
    secret = users.file(os.path.join(users.case.work, "secret"))
    reading, writing = pipe_numbers()
    pid = users.case.init.start([sys.executable, "-B", "-c", DAEMON, TESTS, secret, "7"], "/", "/dev/null", session=True,
                                passed={7: writing})
    os.close(writing)
    require(os.read(reading, 1) == b"", "the daemon isn't ready")
    os.close(reading)
    return pid


def untraceable(case):
    """A user gets no data of a process that the user may not trace, though all its ids are the user's: a daemon that
    was root, a program that may be executed and not read, and one with a group's privileges (set-group-id). The same
    holds for a tree with such a process. criu doesn't even stop it.
    """
    users = Users(case)
    unreadable = users.copy_of_sleep("unreadable", 0o711)
    of_group = users.copy_of_sleep("of_group", 0o2755, GROUP)
    parent = users.program("/bin/sh", "-c", f"{unreadable} 1000 & wait")
    case.init.until(lambda: case.first_child(parent, unreadable.encode()), processes.PATIENCE, "the child")
    for pid, before in ((started_as_root(users), become), (users.program(unreadable, "1000"), become), (parent, become),
                        (case.program(of_group, "1000", before_exec=become_member), become_member)):
        for kind in ("DUMP", "SINGLE_PRE_DUMP"):
            users.require_refused("may not trace", kind, before=before, pid=pid, log_file="log", log_level=4)
            require("Stage: freeze" not in users.log("log"), f"{kind} has stopped process {pid}")
            require(case.alive(pid), f"process {pid} has ended")
            users.require_nothing_told()
    own = users.program(users.copy_of_sleep("readable", 0o755), "1000")
    require(users.ask("DUMP", pid=own)["success"], "a process that the user may trace")


def nameless(kind, path, how):
    """Opens an unnamed file of root that contains the secret; `how` has the flags."""
    if kind == "memfd":
        made = os.memfd_create("secret", os.MFD_CLOEXEC)
    else:
        made = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(made, SECRET.encode())
    os.fchmod(made, 0o600)
    opened = os.open(f"/proc/self/fd/{made}", how)
    if kind != "memfd":
        os.unlink(path)
    os.close(made)
    return opened


class BpfMap(ctypes.Structure):
    """Start of union bpf_attr of bpf(2), for BPF_MAP_CREATE."""
    _fields_ = [(name, ctypes.c_uint32) for name in ("type", "key_size", "value_size", "max_entries", "flags")]


class BpfElement(ctypes.Structure):
    """Start of union bpf_attr for BPF_MAP_UPDATE_ELEM."""
    _fields_ = [("map", ctypes.c_uint64), ("key", ctypes.c_void_p), ("value", ctypes.c_void_p), ("flags", ctypes.c_uint64)]


def map_for_writing():
    """Returns a write-only descriptor of a BPF map that contains the secret; None if the kernel has no BPF maps."""
    bpf, create, update, array, write_only = 321, 0, 2, 2, 1 << 4
    text = ctypes.create_string_buffer(SECRET.encode(), 32)
    made = LIBC.syscall(bpf, create, ctypes.byref(BpfMap(array, 4, len(text), 1, write_only)), ctypes.sizeof(BpfMap))
    if made < 0:
        return None
    element = BpfElement(made, ctypes.addressof(ctypes.c_uint32(0)), ctypes.addressof(text), 0)
    call(LIBC.syscall(bpf, update, ctypes.byref(element), ctypes.sizeof(element)))
    return made


def unreadable_files(case):
    """Images for a user don't contain data that the process can't read by its descriptors: deleted files and memfds of
    root that are open for writing only, or with O_PATH.
    """
    users = Users(case)
    path = os.path.join(case.work, "log")
    for kind in ("file", "memfd"):
        for how in (os.O_WRONLY, os.O_PATH):
            held = nameless(kind, path, how)
            pid = users.program(passed={7: held})
            users.require_refused("can't be read by the client", "DUMP", pid=pid)
            users.require_nothing_told()
            require(case.alive(pid), "the process has ended")
            os.close(held)
        for how, owner in ((os.O_RDONLY, 0), (os.O_RDWR, 0), (os.O_WRONLY, USER), (os.O_PATH, USER)):
            held = nameless(kind, path, how)
            os.chown(f"/proc/self/fd/{held}", owner, owner)
            pid = users.program(passed={7: held})
            reply = users.ask("DUMP", pid=pid)
            require(reply["success"], f"a {kind} of {owner} that is open with {how:#x}: {reply}")
            case.gone(pid)
            os.close(held)
    held = map_for_writing()
    if held is not None:
        users.require_refused("can't be read by the client", "DUMP", pid=users.program(passed={7: held}))
        users.require_nothing_told()
        os.close(held)


def confined(case):
    """The service refuses a user's process with fewer privileges than the user: in a Landlock domain, under seccomp, or
    in a private pid namespace.
    """
    users = Users(case)
    own = users.program()
    if LIBC.syscall(LANDLOCK_CREATE_RULESET, None, 0, 1) < 1:
        raise Skipped("the kernel has no Landlock")
    for before, text in ((in_landlock, "Landlock"), (under_seccomp, "seccomp"), (in_own_pids, "pid namespace")):
        for kind in ("DUMP", "CPUINFO_DUMP"):
            users.require_refused(text, kind, before=before, pid=own)
            require(case.alive(own) and not os.listdir(users.images), f"{kind} was done {before.__name__}")


def in_namespace(flag, prepare):
    """Returns a function that enters a new namespace, calls `prepare` as root there, and becomes the user."""
    def enter():
        call(LIBC.unshare(flag))
        prepare()
        become()
    return enter


def hide_in_mount():
    """Creates a file of root in a tmpfs that the calling process mounts for itself."""
    call(LIBC.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None))
    call(LIBC.mount(b"none", b"/mnt", b"tmpfs", 0, None))
    file = os.open("/mnt/secret", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(file, SECRET.encode())
    os.close(file)


def hide_in_queue():
    """Creates a message of root in a queue that others may not read."""
    ipc_private = 0
    queue = call(LIBC.msgget(ipc_private, 0o600))
    message = ctypes.create_string_buffer(ctypes.string_at(ctypes.byref(ctypes.c_long(1)), 8) + SECRET.encode())
    call(LIBC.msgsnd(queue, message, len(SECRET), 0))


def foreign_namespaces(case):
    """Images of the user don't contain root's files and queues in namespaces that root has created for a user's
    process.
    """
    users = Users(case)
    for flag, prepare, kind in ((CLONE_NEWNS, hide_in_mount, "mnt"), (CLONE_NEWIPC, hide_in_queue, "ipc")):
        own = case.program(before_exec=in_namespace(flag, prepare))
        users.require_refused(f"in a {kind} namespace of its own", "DUMP", pid=own, log_file="log", log_level=4)
        require("Stage: freeze" not in users.log("log"), "it has been stopped")
        users.require_nothing_told()
        require(case.alive(own), "it has ended")


CONNECT = """
import os, socket, sys, time
user = int(sys.argv[4])
os.setgroups([]); os.setresgid(user, user, user); os.setresuid(user, user, user)
held = []
for _ in range(int(sys.argv[2])):
    end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    end.connect(sys.argv[1])
    if sys.argv[3] == "silent":
        held.append(end)
    else:
        try:
            end.send(b"\\xff" * 100)
            end.recv(4096)
        except OSError:
            pass
print("connected", flush=True)
time.sleep(1000 if held else 0)
"""


def connect(users, count, how, user=USER):
    """Opens connections of a user to the service, and returns the pid of the user's process. "silent" keeps them open
    without a request, "noisy" sends an invalid request on each.
    """
    output = users.file(os.path.join(users.case.work, f"connect-{how}-{user}"), "")
    pid = users.case.init.start([sys.executable, "-B", "-c", CONNECT, users.path, str(count), how, str(user)], "/", output)
    users.case.init.until(lambda: "connected" in (processes.text(output) or ""), processes.PATIENCE, "the connections")
    return pid


def workers(users):
    """Returns the pids of processes that serve clients."""
    return (processes.text(f"/proc/{users.daemon}/task/{users.daemon}/children") or "").split()


def many_clients(case):
    """Users can't make the service create many processes or write a long log. Root and other users are served."""
    users = Users(case)
    connect(users, 100, "silent")
    version = rpc.Connection.to_service(users.path).ask("VERSION")
    require(version["success"], "root isn't served")
    require(len(workers(users)) <= 17, f"{len(workers(users))} processes for clients of one user")
    require(users.ask_all([({}, "VERSION", {})], become_other)[0]["success"], "another user isn't served")
    for user in range(5):
        connect(users, 20, "silent", USER + 2 + user)
    require(rpc.Connection.to_service(users.path).ask("VERSION")["success"], "root isn't served after many users")
    require(len(workers(users)) <= 65, f"{len(workers(users))} processes for clients of users")
    log = os.path.join(case.work, "service", "service.log")
    require(len(processes.text(log).splitlines()) < 60, "a line in the log for each connection")


def idle_clients(case):
    """The service closes a user's connection on which no request comes. Failed requests write few lines to the log."""
    users = Users(case, "--timeout", "1")
    connect(users, 10, "silent")
    silent = rpc.Connection.to_service(users.path)
    case.init.until(lambda: len(workers(users)) == 1, processes.PATIENCE, "the end of connections without a request")
    connect(users, 100, "noisy")
    log = os.path.join(case.work, "service", "service.log")
    require(len(processes.text(log).splitlines()) < 100, "lines in the log for each connection")
    require(silent.ask("VERSION")["success"], "root's connection was closed")


def nothing_left(case):
    """A refused dump leaves neither content of deleted files nor temporary links."""
    users = Users(case)
    path = os.path.join(case.work, "log")
    folder = users.folder("own", USER)
    deleted = nameless("file", os.path.join(folder, "deleted"), os.O_RDWR)
    os.chown(f"/proc/self/fd/{deleted}", USER, USER)
    other = os.path.join(folder, "other")
    linked = os.open(users.file(os.path.join(folder, "linked"), owner=USER), os.O_RDWR)
    os.link(os.path.join(folder, "linked"), other)
    os.unlink(os.path.join(folder, "linked"))
    refused = nameless("file", path, os.O_WRONLY)
    pid = users.program(passed={7: deleted, 8: linked, 9: refused})
    users.require_refused("can't be read by the client", "DUMP", pid=pid, log_file="log", log_level=4)
    require(os.listdir(folder) == ["other"], f"links are left: {os.listdir(folder)}")
    require(os.listdir(users.images) == ["log"], f"images are left: {os.listdir(users.images)}")
    require(case.alive(pid), "the process has ended")


def stay_root():
    """Keeps the credentials of the calling process."""


def lazy_left(case):
    """A dump with lazy_pages listens at the loopback device. It ends, and the tree runs on, if no daemon connects before
    the timeout, or if the client ends.
    """
    users = Users(case)
    pid = case.program()
    for end in ("timeout", "client"):
        log = os.path.join(users.folder(end, 0), "log")
        opts = {"pid": pid, "lazy_pages": True, "log_file": "log", "log_level": 4, **({"timeout": 1} if end == "timeout" else {})}
        client = case.init.start([sys.executable, "-B", "-c", CLIENT, TESTS, "stay_root", users.path,
                                  json.dumps([({"images_dir_fd": os.path.dirname(log)}, "DUMP", opts)])], "/", case.output)
        case.init.until(lambda log=log: "Waiting for requests for pages" in (processes.text(log) or ""), processes.PATIENCE, "the wait")
        sockets = processes.text("/proc/net/tcp") + processes.text("/proc/net/tcp6")
        inodes = {os.stat(f"/proc/{each}/fd/{fd}").st_ino for each in descendants(users.daemon) for fd in os.listdir(f"/proc/{each}/fd")}
        local = {fields[1].split(":")[0] for fields in map(str.split, sockets.splitlines()) if fields[9].isdigit() and int(fields[9]) in inodes}
        require(local == {"0100007F"}, f"it listens at {local}")
        if end == "client":
            os.kill(client, signal.SIGKILL)
        text = "no lazy-pages daemon connects" if end == "timeout" else "has ended before a lazy-pages daemon connects"
        case.init.until(lambda log=log, text=text: text in (processes.text(log) or ""), processes.PATIENCE, text)
        case.init.until(lambda: case.alive(pid), processes.PATIENCE, "the tree to run on")
        require(not os.path.exists(os.path.join(os.path.dirname(log), "inventory.img")), "an inventory is left")


def descendants(pid):
    """Returns the pids of all descendants of a process."""
    children = [int(child) for child in (processes.text(f"/proc/{pid}/task/{pid}/children") or "").split()]
    return children + [each for child in children for each in descendants(child)]


CASES = [lazy_left, nothing_left, many_clients, idle_clients, of_user, logs_of_user, own_logs, untraceable, unreadable_files, confined, foreign_namespaces]
