# SPDX-License-Identifier: GPL-2.0-only
"""Cluster of Slurm with two nodes in the namespaces of a test. All state is in the folder of the test."""

import os
import pwd
import re
import shutil
import subprocess
import time

from harness import namespace, processes

USER, USER_ID = "slurmuser", 4321
ADDRESS = "10.77.0.1"
NODES = ("node1", "node2")

CONFIGURATION = """\
ClusterName=test
SlurmctldHost=localhost({address})
AuthInfo=socket={folder}/munge.socket,cred_expire=5
SlurmUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
KillWait=10
SchedulerParameters=batch_sched_delay=0,sched_interval=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=node1 NodeHostname=localhost NodeAddr={address} Port=17001 State=UNKNOWN
NodeName=node2 NodeHostname=localhost NodeAddr={address} Port=17002 State=UNKNOWN
PartitionName=normal Nodes=node1,node2 Default=YES PriorityTier=1
PartitionName=urgent Nodes=node1,node2 PriorityTier=2
"""


class Failed(Exception):
    """Error for a result that differs from the expected one."""


def require(condition, message):
    """Throws Failed if the condition is false."""
    if not condition:
        raise Failed(message)


def until(condition, what):
    """Waits until condition() is true, and returns its value."""
    end = time.monotonic() + processes.PATIENCE
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise Failed(f"no {what} after {processes.PATIENCE} s")


def text(path):
    """Returns the content of a file; an empty string if it doesn't exist."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


class Cluster:
    """slurmctld, and a slurmd in private pid, mount and UTS namespaces for each node."""

    def __init__(self, folder):
        self._folder = folder
        self._environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "SLURM_CONF": self._path("slurm.conf")}
        os.mkdir(folder)
        os.mkdir(self._path("state"))
        with open(self._path("slurm.conf"), "w", encoding="ascii") as file:
            file.write(CONFIGURATION.format(folder=folder, address=ADDRESS))
        namespace.bring_up_loopback()
        # Slurm's getaddrinfo(3) ignores loopback addresses (AI_ADDRCONFIG).
        for words in ("link add cluster type veth peer name other", f"addr add {ADDRESS}/24 dev cluster",
                      "link set cluster up", "link set other up"):
            subprocess.run(["ip", *words.split()], check=True)
        self._add_user("/etc/passwd", f"{USER}:x:{USER_ID}:{USER_ID}::/:/bin/bash\n")
        self._add_user("/etc/group", f"{USER}:x:{USER_ID}:\n")
        self._start_munge()
        self._start("slurmctld", ["slurmctld", "-D"])
        for node in NODES:
            self._start_node(node)
        until(lambda: set(self.run("sinfo", "--noheader", "--Node", "--format=%T").split()) == {"idle"}, "idle nodes")

    def _path(self, name):
        return os.path.join(self._folder, name)

    def _add_user(self, path, line):
        """Mounts a copy of the file with one more line over it, in this mount namespace."""
        copy = self._path(os.path.basename(path))
        shutil.copy(path, copy)
        with open(copy, "a", encoding="ascii") as file:
            file.write(line)
        subprocess.run(["mount", "--bind", copy, path], check=True)

    def _start(self, name, argv):
        """Starts a daemon that stays in the foreground."""
        with open(self._path(f"{name}.out"), "wb") as output:
            return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=self._environment)

    def _start_munge(self):
        key = self._path("munge.key")
        with open(key, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(os.urandom(1024))
        files = [f"--{option}-file={self._path(f'munge.{option}')}" for option in ("key", "pid", "log", "seed")]
        self._start("munged", ["munged", "--foreground", "--force", f"--socket={self._path('munge.socket')}", *files])
        until(lambda: os.path.exists(self._path("munge.socket")), "socket of munged")

    def _start_node(self, node):
        script = f"hostname {node}; exec slurmd -D -N {node}"
        self._start(node, ["unshare", "--pid", "--mount", "--uts", "--fork", "--mount-proc", "--kill-child", "sh", "-c", script])

    def run(self, *words):
        """Runs a command of Slurm, and returns its output."""
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              env=self._environment, timeout=2 * processes.PATIENCE)
        if done.returncode != 0 and words[0] != "sinfo":
            raise Failed(f"{' '.join(words)}: status {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def submit(self, folder, script, user, *options):
        """Submits a batch script with `folder`/bin in $PATH. Returns the number of the job."""
        path = os.path.join(folder, "job.sh")
        with open(path, "w", encoding="utf-8") as file:
            file.write(script)
        environment = {**self._environment, "PATH": os.path.join(folder, "bin") + ":/usr/bin:/bin", "USER": user}
        entry = pwd.getpwnam(user)
        done = subprocess.run(["sbatch", "--parsable", "--nodes=1", "--output=output", *options, path], cwd=folder,
                              user=entry.pw_uid, group=entry.pw_gid, extra_groups=[], env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False, timeout=processes.PATIENCE)
        require(done.returncode == 0, f"sbatch: {done.stderr}")
        return int(done.stdout)

    def job(self, number):
        """Returns what Slurm says about a job."""
        return dict(word.split("=", 1) for word in self.run("scontrol", "--oneliner", "show", "job", str(number)).split()
                    if "=" in word)

    def await_job(self, number, **wanted):
        """Waits until the job has these properties. Returns all of them."""
        last = {}

        def found():
            last.update(self.job(number))
            return all(re.fullmatch(value, last[name]) for name, value in wanted.items())

        try:
            until(found, "")
        except Failed:
            raise Failed(f"job {number}: expected {wanted}, found { {name: last[name] for name in wanted} },"
                         f" reason {last['Reason']}") from None
        return last
