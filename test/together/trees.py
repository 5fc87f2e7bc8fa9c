# SPDX-License-Identifier: GPL-2.0-only
"""Two network namespaces with a tree in each, and runs of criu-together for them."""

import ctypes
import glob
import json
import os
import shlex
import shutil
import subprocess

from harness import processes

HERE = os.path.dirname(os.path.abspath(__file__))
ADDRESSES = {"left": "10.9.1.1", "right": "10.9.1.2"}
ROLES = {"left": "listen", "right": "connect"}
PYTHON = "/usr/bin/python3"
OTHERS = {"left": "10.9.7.1", "right": "10.9.7.2"}
PROGRESS = 20000  # messages
LIBC = ctypes.CDLL(None, use_errno=True)


class Failed(Exception):
    """Not as it should be."""


def require(condition, message):
    """Throws Failed if the condition is false."""
    if not condition:
        raise Failed(message)


class Ended:
    """End of a run of criu-together."""

    def __init__(self, code, said):
        self.code = code
        self.said = said

    def require(self, code, *parts):
        """Throws Failed unless the run had this exit status and said all this."""
        require(self.code == code, f"exit status {self.code}: {self.said}")
        for part in parts:
            require(part in self.said, f"it didn't say \"{part}\": {self.said}")


class Skipped(Exception):
    """Reason why a case can't run here."""


class Case:
    """Two namespaces with a talker in each."""

    def __init__(self, init, task):
        self.init = init
        self.work = task["work"]
        self.script = task["script"]
        self.criu = task["criu"]
        self.page = task["page"]
        self.images = self.path("images")
        self.networks = {}  # pids of processes that hold the network namespaces
        self.roots = {}     # pids of the trees
        self.runs = 0
        # criu-together and criu have their folders in /run.
        if LIBC.mount(b"run", b"/run", b"tmpfs", 0, None) != 0:
            raise OSError(ctypes.get_errno(), "mount /run")

    def path(self, name):
        """Returns the path of a file of this case."""
        return os.path.join(self.work, name)

    def text(self, name):
        """Returns the content of a file of this case; empty if it doesn't exist."""
        return processes.text(self.path(name)) or ""

    def in_network(self, name, *words):
        """Runs a command in a network namespace and returns its output."""
        done = subprocess.run(["nsenter", f"--net=/proc/{self.networks[name]}/ns/net", *words], check=False, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        require(done.returncode == 0, f"{' '.join(words)}: {done.stdout}")
        return done.stdout

    def set_addresses(self, addresses):
        """Gives both namespaces other addresses."""
        for name, address in addresses.items():
            self.in_network(name, "ip", "address", "flush", "dev", name)
            self.in_network(name, "ip", "address", "add", f"{address}/24", "dev", name)

    def build_network(self):
        """Makes two network namespaces with a link between them."""
        own = os.readlink("/proc/self/ns/net")
        for name in ADDRESSES:
            pid = self.init.start(["/usr/bin/unshare", "--net", "/bin/sleep", "infinity"], "/", self.path("holders"), session=True)
            self.init.until(lambda pid=pid: os.readlink(f"/proc/{pid}/ns/net") != own, processes.PATIENCE, "network namespace")
            self.networks[name] = pid
        self.in_network("left", "ip", "link", "add", "left", "type", "veth", "peer", "name", "right", "netns",
                        str(self.networks["right"]))
        for name in ADDRESSES:
            self.in_network(name, "ip", "link", "set", name, "up")
        self.set_addresses(ADDRESSES)

    def talker(self, name):
        """Returns the command line of a talker."""
        return [PYTHON, "-B", os.path.join(HERE, "talker.py"), self.work, name, ROLES[name], ADDRESSES["left"]]

    def build(self, **more):
        """Starts a talker in each namespace."""
        self.build_network()
        for name in ADDRESSES:
            words = ["/usr/bin/nsenter", f"--net=/proc/{self.networks[name]}/ns/net", *self.talker(name), *more.get(name, [])]
            self.roots[name] = self.init.start(words, "/", self.path(f"{name}.output"), session=True)
        self.progress()

    def count(self, name):
        """Returns how many messages a talker has received."""
        return int((self.text(name) or "0").split()[0])

    def progress(self):
        """Waits until both talkers have received more messages."""
        for name in ADDRESSES:
            goal = self.count(name) + PROGRESS
            self.init.until(lambda name=name, goal=goal: self.count(name) >= goal, processes.PATIENCE, f"messages to {name}")

    def finish(self):
        """Lets both talkers finish, and checks that they have."""
        self.progress()
        with open(self.path("finish"), "w", encoding="ascii"):
            pass
        for name, pid in self.roots.items():
            self.init.until(lambda pid=pid: pid not in processes.pids(), processes.PATIENCE, f"end of {name}")
            require(self.text(name).endswith(" end"), f"{name} has failed: {self.text(f'{name}.output')}")

    def words(self, name, command, *options):
        """Returns the argument of criu-together for a tree."""
        own = ["-t", str(self.roots[name])] if command == "dump" else ["-d"]
        words = ["nsenter", f"--net=/proc/{self.networks[name]}/ns/net", self.criu, command, "-D", "{}", "-o", f"{command}.log",
                 "-v4", "--no-default-config", "--tcp-established", "--network-lock", "nftables", *own, *options]
        return f"{name}={' '.join(words)}"

    def start(self, command, *options, **more):
        """Starts criu-together. `options` are its own, `more` those of criu for one tree. Returns its pid."""
        trees = [self.words(name, command, *more.get("both", []), *more.get(name, [])) for name in ADDRESSES]
        self.runs += 1
        return self.init.start([self.script, command, *options, self.images, *trees], "/", self.path(f"run{self.runs}"))

    def wait(self, pid):
        """Waits for the end of criu-together."""
        code = self.init.wait(pid, processes.PATIENCE, "end of criu-together").code
        return Ended(code, self.text(f"run{self.runs}"))

    def run(self, command, *options, **more):
        """Runs criu-together to its end."""
        return self.wait(self.start(command, *options, **more))

    def dump(self, **more):
        """Dumps both trees."""
        self.run("dump", **more).require(0)
        self.require_gone()

    def require_gone(self):
        """Checks that no process of the trees exists."""
        left = [name for name, pid in self.roots.items() if processes.status(pid)]
        require(not left, f"still there: {left}")

    def require_untouched(self):
        """Checks that a failed dump has left nothing, and that the talkers finish."""
        require(not os.path.exists(self.images), f"left: {glob.glob(self.images + '/*')}")
        self.require_running()
        self.finish()

    def require_running(self):
        """Checks that both trees run without network lock, and that no folder of criu-together exists."""
        for name, pid in self.roots.items():
            state = processes.status(pid)
            require(state and state["State"][0] in "RS" and state["TracerPid"] == "0", f"{name}: {state}")
            rules = self.in_network(name, "nft", "list", "ruleset")
            require("drop" not in rules, f"{name} has rules: {rules}")
        require(not glob.glob("/run/criu-together-*"), "a folder is left in /run")

    def waiting_script(self, stage, *, fails=False):
        """Writes an action script that waits at a stage for the file `proceed`, or fails. Returns criu's option."""
        script = self.path("wait")
        end = "exit 1" if fails else f"touch {self.path('waits')}; until [ -e {self.path('proceed')} ]; do sleep 0.05; done"
        with open(script, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\n[ $CRTOOLS_SCRIPT_ACTION = {stage} ] || exit 0\n{end}\n")
        os.chmod(script, 0o755)
        return ["--action-script", script]

    def proceed(self):
        """Lets the script of waiting_script() end."""
        with open(self.path("proceed"), "w", encoding="ascii"):
            pass

    def await_scripts(self, command, *names):
        """Waits until the action scripts of these trees wait for the last stage."""
        last = {"dump": "post-dump", "restore": "pre-resume"}[command]
        for name in names:
            wanted = f"Running {last} action scripts"
            self.init.until(lambda name=name: wanted in self.text(f"images/{name}/{command}.log"), processes.PATIENCE, f"{last} of {name}")

    def await_criu(self):
        """Waits until no criu runs. A stopped coordinator doesn't reap its children."""
        def running():
            states = [processes.status(pid) for pid in processes.pids()]
            return [state for state in states if state and state["Name"].startswith("criu") and state["State"][0] != "Z"]
        self.init.until(lambda: not running(), processes.PATIENCE, "end of criu")


class Containers:
    """A container of runc in each network namespace, with a talker as its init."""

    def __init__(self, case):
        self.case = case
        case.build_network()
        for name in ADDRESSES:
            self._make_bundle(name)
            run = case.init.start([*self.runc(), "run", "--detach", "--pid-file", case.path(f"{name}.pid"), name],
                                  case.path(f"{name}.bundle"), "/dev/null")
            ended = case.init.wait(run, processes.PATIENCE, "end of runc run")
            require(ended.code == 0, case.text("runc.log"))
        self.find_roots()
        case.progress()

    def find_roots(self):
        """Reads the pids of the talkers, which runc has written."""
        self.case.roots = {name: int(self.case.text(f"{name}.pid")) for name in ADDRESSES}

    def remove(self):
        """Removes the containers with their cgroups, which dumps of other tests would find."""
        for name in ("left", "right"):
            subprocess.run([*self.runc(), "delete", "--force", name], check=False, capture_output=True)

    def runc(self):
        """Returns the first words of runc's command lines."""
        return [shutil.which("runc"), "--root", self.case.path("runc"), "--log", self.case.path("runc.log"), "--criu", self.case.criu]

    def _make_bundle(self, name):
        """Writes a bundle whose files are those of this machine."""
        case = self.case
        bundle = case.path(f"{name}.bundle")
        os.makedirs(os.path.join(bundle, "rootfs"))
        for link in ("bin", "lib", "lib64", "sbin"):
            os.symlink(f"usr/{link}", os.path.join(bundle, "rootfs", link))
        subprocess.run([*self.runc(), "spec", "--bundle", bundle], check=True)
        path = os.path.join(bundle, "config.json")
        with open(path, encoding="utf-8") as file:
            config = json.load(file)
        config["process"].update(terminal=False, args=[*case.talker(name), *(["lock"] if name == "right" else [])])
        config["root"]["readonly"] = False
        config["mounts"] += [{"destination": each, "source": each, "type": "bind", "options": ["rbind", "rw"]}
                             for each in ("/usr", HERE, case.work)]
        for each in config["linux"]["namespaces"]:
            if each["type"] == "network":
                each["path"] = f"/proc/{case.networks[name]}/ns/net"
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file)

    def run(self, command, *options, **more):
        """Runs criu-together with a command of runc for each container."""
        case = self.case
        trees = []
        for name in ADDRESSES:
            words = [*self.runc(), *(["restore", "--detach", "--bundle", case.path(f"{name}.bundle"), "--pid-file", case.path(f"{name}.pid")]
                                     if command == "restore" else ["checkpoint"])]
            words += ["--image-path", "{}", "--work-path", "{}", "--tcp-established", *options, *more.get(name, []), name]
            trees.append(f"{name}={shlex.join(words)}")
        case.runs += 1
        pid = case.init.start([case.script, command, case.images, *trees], "/", case.path(f"run{case.runs}"))
        return case.wait(pid)
