# SPDX-License-Identifier: GPL-2.0-only
"""Clients of the service that have fewer rights than criu, where an administrator lets users connect."""

import json
import os
import shutil
import stat
import sys

from checks import require, start_service
from harness import processes, rpc

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
USER = 12345

CLIENT = """
import json, os, sys
sys.path[:0] = [os.path.join(sys.argv[1], "rpc"), sys.argv[1]]
import users
users.ask_as_told(*sys.argv[2:])
"""


def become(user=USER, group=USER, groups=()):
    """The calling process has the rights of a user from here on."""
    os.setgroups(list(groups))
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)


def ask_as_told(before, service, requests):
    """The client's process: what is called `before` here takes rights away. A line for each reply."""
    globals()[before]()
    for folders, kind, opts in json.loads(requests):
        opened = {name: os.open(path, os.O_RDONLY | os.O_DIRECTORY) for name, path in folders.items() if path}
        print(json.dumps(rpc.Connection.to_service(service).ask(kind, {**opened, **opts})), flush=True)


class Users:
    """A service that users may connect to, and requests of theirs."""

    def __init__(self, case, env=None):
        self.case = case
        self.daemon, self.path = start_service(case, env=env)
        os.chmod(self.path, 0o666)
        for folder in (case.work, os.path.dirname(case.work), os.path.dirname(self.path)):
            os.chmod(folder, 0o755)
        self.images = self.folder("users", USER)

    def folder(self, name, owner, mode=0o755):
        """The path of a new directory."""
        path = self.case.directory(name).path
        os.chown(path, owner, owner)
        os.chmod(path, mode)
        return path

    def file(self, path, text="secret\n", owner=0, mode=0o600):
        """The path of a file with this content."""
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.chown(path, owner, owner)
        os.chmod(path, mode)
        return path

    def program(self, *argv, **how):
        """A process of the user."""
        return self.case.program(*argv, before_exec=become, **how)

    def ask_all(self, requests, before=become):
        """The replies to requests of a user, each of which is (directories by option, kind, options). They come from one
        process, which has called `before`."""
        output = self.file(os.path.join(self.case.work, "client.output"), "")
        client = self.case.init.start([sys.executable, "-B", "-c", CLIENT, TESTS, before.__name__, self.path,
                                       json.dumps(requests)], "/", output)
        code = self.case.init.wait(client, processes.PATIENCE).code
        said = processes.text(output)
        require(code == 0, f"the client ended with {code}: {said}")
        return [json.loads(line) for line in said.splitlines()]

    def ask(self, kind, images=None, before=become, **opts):
        """The reply to one request."""
        return self.ask_all([({"images_dir_fd": images or self.images}, kind, opts)], before)[0]

    def require_refused(self, text, kind, *folders, **opts):
        """A request that fails for this reason."""
        reply = self.ask(kind, *folders, **opts)
        require(not reply["success"] and text in reply.get("cr_errmsg", ""), f"{kind}: no '{text}' in {reply}")

    def log(self, name):
        """What a log in the user's directory holds."""
        return processes.text(os.path.join(self.images, name)) or ""


def of_user(case):
    """Users have their own processes dumped and nobody else's, into directories that they may write to, with options that
    give them nothing. Plugins, which open images with criu's rights, are the owner's alone."""
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
    """All that can be told of what lies in a directory."""
    found = {}
    for entry in os.scandir(folder):
        about = entry.stat(follow_symlinks=False)
        text = processes.text(entry.path) if stat.S_ISREG(about.st_mode) else None
        found[entry.name] = (about.st_ino, about.st_uid, about.st_mode, about.st_nlink, about.st_mtime_ns, text)
    return found


KINDS = [("CHECK", {}), ("CPUINFO_CHECK", {}), ("CPUINFO_DUMP", {}), ("DUMP", {"leave_running": True}), ("PRE_DUMP", {}),
         ("SINGLE_PRE_DUMP", {}), ("PAGE_SERVER", {}), ("PAGE_SERVER_CHLD", {}), ("RESTORE", {})]
"""Requests with options, by which files could be made."""


def logs_of_user(case):
    """Whatever a user asks for, and whether it can be done or not: files are made with the user's rights. Nothing appears or
    changes in a directory that the user can only look into, nor are files of others replaced where everybody may make some."""
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
    # The last two are requests that are wrong in themselves: the log says so.
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
    """What a request makes is the user's, in place of what the user had put there; a link isn't followed."""
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


CASES = [of_user, logs_of_user, own_logs]
