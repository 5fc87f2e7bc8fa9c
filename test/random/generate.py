# SPDX-License-Identifier: GPL-2.0-only
"""Draws specifications of process trees. tree/builder.hpp describes their text.

A specification is a list of processes. A process is a list of steps, and a step is one line of text. A comment below lists
features that are never drawn, with reasons.
"""

import random
import re
import signal

# Features that are never drawn, because criu refuses them (Documentation/status.md):
# - processes that share their working directory (CLONE_FS)
# - data that were sent over a connection which isn't accepted yet
# - a process that is in a namespace of criu, if the root of the tree isn't
# - sockets in several network namespaces, if the root isn't in one of its own
# - POSIX message queues if processes are in several IPC namespaces
# - pidfds, and files of a process in /proc, that a process of a nested pid namespace has inherited
# - a process group that a nested pid namespace doesn't see
#
# Features that are never drawn, because criu loses them: the name and the ECONNRESET that a Unix socket keeps of a peer which has closed.

SIGNALS = [signal.SIGUSR1, signal.SIGWINCH, signal.SIGALRM, signal.SIGPIPE, 35, 40, 50, 60]
PAGE = 4096


class Limits:
    """Size of a tree: numbers of processes and of steps for each process."""

    def __init__(self, processes=7, steps=14):
        self.processes = processes
        self.steps = steps


class Drawer:
    """Draws one specification. Names of objects in a process are also names in its later children."""

    def __init__(self, seed, limits):
        self.random = random.Random(seed)
        self.limits = limits
        self.count = 0
        self.processes = {}
        self.names = 0
        self.own_ipc = False  # all processes are in one IPC namespace of the tree

    def draw(self):
        """Returns the specification: a list of (process, steps)."""
        self.count = 1
        wanted = self.random.randint(1, self.limits.processes)
        self._process(0, Scope(), wanted - 1, 0)
        return sorted(self.processes.items())

    def name(self, prefix):
        """Returns a new name."""
        self.names += 1
        return f"{prefix}{self.names}"

    def chance(self, share):
        """Returns true with this probability."""
        return self.random.random() < share

    def _process(self, number, scope, descendants, depth):
        steps = []
        self.processes[number] = steps
        if number == 0:
            scope.is_root = scope.leads = True  # the runner has made it the leader of a session
            if self.chance(0.5):
                steps.append("control subreaper value=1")
                scope.subreaper = True
            if self.chance(0.3):
                steps += self._private(scope)
        children = self._shares(descendants)
        actions = ["step"] * self.random.randint(1, self.limits.steps) + [("child", count) for count in children]
        self.random.shuffle(actions)
        for action in actions:
            if action == "step":
                steps += self._step(scope) if number else without_death_signals(self._step(scope))
            else:
                steps += self._child(scope, action[1], depth)
        steps += self._final(scope, number)

    def _shares(self, descendants):
        """Splits a number of descendants into children with their own descendants."""
        shares = []
        while descendants > 0:
            own = self.random.randint(1, descendants)
            shares.append(own - 1)
            descendants -= own
        return shares

    def _private(self, scope):
        """Steps that give the root namespaces of its own. Later processes are in them, too."""
        steps = []
        for kind in ("mnt", "uts", "ipc", "net"):
            if self.chance(0.4):
                self.own_ipc = self.own_ipc or kind == "ipc"
                steps.append(f"unshare {kind}" + (f" host=host-{self.random.randint(1, 99)}" if kind == "uts" else ""))
                scope.spaces.add(kind)
        return steps

    def _child(self, scope, descendants, depth):
        number = self.count
        self.count += 1
        inner = scope.copy()
        step = f"child {number}"
        draw = self.random.random()
        if scope.subreaper and draw < 0.12:
            step = f"orphan {number} {self.random.choice(['session', 'group', 'plain'])}"
        elif draw < 0.2:
            step = f"child-in-new-pids {number}"
            inner.subreaper = True  # init adopts orphans
        elif draw < 0.28:
            step += " files"
            scope.shares_files = inner.shares_files = True
        elif draw < 0.38 and depth > 0 and not scope.is_init:
            step += " parent"
        if not step.startswith("orphan") and "parent" not in step and "files" not in step:
            scope.children.append(number)
        inner.children = []
        inner.threads = inner.leads = inner.is_root = False
        inner.is_init = "new-pids" in step
        if inner.is_init:
            inner.leads = True
        self._process(number, inner, descendants, depth + 1)
        if inner.leads:
            # A group outside of the pid namespace couldn't be restored.
            self.processes[number].insert(0, "session")
        if "new-pids" in step:
            self.processes[number][:0] = [f"close {name}" for name in scope.pidfds]
        return [step]

    def _step(self, scope):
        drawn = self.random.choices([kind for kind, _ in KINDS], [weight for _, weight in KINDS])[0]
        return [step for step in drawn(self, scope) if step]

    def flags(self, **shares):
        """Draws options: each name with its probability."""
        return "".join(" " + name for name, share in shares.items() if self.chance(share))

    def seed(self):
        """Returns an option that decides about contents."""
        return f"seed={self.random.randint(1, 999)}"

    def _final(self, scope, number):
        """Steps at the end of a process: its credentials, and whether it is stopped."""
        steps = []
        if self.chance(0.35):
            steps += self._credentials(scope)
        if self.chance(0.1):
            steps.append("control no-new-privs")
        if self.chance(0.08):
            steps += [f"filter call={self.random.randint(2000, 9000)}" for _ in range(self.random.randint(1, 2))]
        if number and self.chance(0.06):
            steps.append("stopped")
        return steps

    def _credentials(self, _scope):
        steps = []
        pick = self.random
        if self.chance(0.4):
            steps.append(f"groups count={pick.randint(0, 4)} first={pick.randint(0, 3000)}")
        if self.chance(0.3):
            steps += [f"bounding capability={pick.randint(1, 39)}" for _ in range(pick.randint(1, 3))]
        if self.chance(0.3):
            steps.append("control secure-bits value=" + str(pick.choice([1, 2, 3, 4, 8, 16, 20, 32, 64, 0x2f])))
        if self.chance(0.3):
            steps.append(f"capabilities dropped={pick.getrandbits(31) & pick.getrandbits(31)} disabled={pick.getrandbits(31)} "
                         f"inherited={pick.getrandbits(31)} ambient={pick.getrandbits(31) & pick.getrandbits(31)}")
        if self.chance(0.2):
            steps.append(f"control keepcaps value={pick.randint(0, 1)}")
        if self.chance(0.5):
            uid = pick.choice([0, 1000, 65534, 33])
            steps.append(f"users uid={uid} effective={pick.choice([uid, uid, 0, 1000])} saved={pick.choice([uid, uid, 0])} "
                         f"gid={pick.choice([0, 1000, 65534])} saved-gid={pick.choice([0, 1000])}")
        if self.chance(0.1):
            steps.append(f"fs-user uid={pick.choice([0, 1000])} gid={pick.choice([0, 1000])}")
        if self.chance(0.3):
            steps.append(f"control dumpable value={pick.randint(0, 1)}")
        return steps


def without_death_signals(steps):
    """Omits parent-death signals. A restore in the background doesn't keep that of the root."""
    return [re.sub(r"death-signal (value)=\d+|death-signal=\d+", "death-signal value=0", step)
            if step.startswith("control") else re.sub(r"death-signal=\d+", "death-signal=0", step) for step in steps]


class Scope:
    """Objects that a process knows. They include the objects that its parent knew when it created the process."""

    def __init__(self):
        self.fds = []
        self.lockable = []    # regular files
        self.watchable = []   # files and directories with a name
        self.polled = []      # descriptors that epoll accepts
        self.epolls = []
        self.watches = []
        self.regions = {}     # name: (pages, private)
        self.children = []
        self.spaces = set()
        self.subreaper = False
        self.shares_files = False
        self.threads = False
        self.changes = set()  # regions whose pages may be inaccessible
        self.leads = False    # the process leads a session or a group
        self.is_root = False
        self.is_init = False  # the process is the first one of a pid namespace
        self.pidfds = []      # descriptors that refer to a process

    def copy(self):
        """Returns the scope of a new child."""
        made = Scope()
        for name, value in vars(self).items():
            setattr(made, name, value.copy() if hasattr(value, "copy") else value)
        return made

    def own(self, *names):
        """Adds descriptors."""
        self.fds += names


def regular_file(d, scope):
    """A regular file."""
    name = d.name("f")
    size = d.random.choice([0, 1, 100, 5000, 20000])
    scope.own(name)
    mode = d.random.choice(["r", "w", "rw"])
    if mode == "rw":
        scope.lockable.append(name)
    state = d.random.choice(["", "", "", " deleted", " deleted", " linked deleted", " renamed"])
    if "deleted" not in state:
        scope.watchable.append(name)
    return [f"file {name} size={size} position={d.random.randint(0, size + 10)} mode={mode} "
            f"{d.seed()}{state}" + d.flags(append=0.2, nonblock=0.1, cloexec=0.2, noatime=0.1, sync=0.1)]


def other_file(d, scope):
    """A directory, an unnamed file, or a descriptor for a path only."""
    kind = d.random.choice(["directory", "path", "unnamed", "device", "proc"])
    name = d.name("o")
    scope.own(name)
    if kind == "directory":
        scope.watchable.append(name)
        return [f"directory {name}"]
    if kind == "device":
        return [f"device {name} which={d.random.choice(['null', 'zero', 'full', 'random', 'urandom'])} "
                f"mode={d.random.choice(['r', 'rw'])}" + d.flags(nonblock=0.2)]
    if kind == "proc":
        scope.pidfds.append(name)
        return [f"proc {name} which={d.random.choice(['self/status', 'self/stat', 'version', 'self/fd', 'self/maps'])}"]
    return [f"{kind} {name} size={d.random.randint(1, 9000)} position={d.random.randint(0, 900)} {d.seed()}"]


def pipe(d, scope):
    """A pipe or a fifo."""
    name = d.name("p")
    scope.own(name + ".r", name + ".w")
    scope.polled += [name + ".r", name + ".w"]
    size = d.random.choice([0, 0, 1, 500, 4096, 9000, 40000])
    if d.chance(0.3):
        return [f"fifo {name} bytes={size} {d.seed()}" + d.flags(deleted=0.2)]
    capacity = d.random.choice([0, 0, 4096, 65536, 262144])
    if 0 < capacity < 2 * size or size > 40000:
        capacity = 65536
    part = d.random.choice([100, 1000, 4096, 8192])
    if size / part > 14:
        part = 4096
    packets = " packets" if d.chance(0.2) else ""
    # A packet takes a whole slot of the pipe.
    capacity = max(capacity, 65536) if packets else capacity
    return [f"pipe {name} bytes={size} part={part} capacity={capacity} {d.seed()}{packets}" + d.flags(nonblock=0.2)]


def memfd(d, scope):
    """A memfd."""
    name = d.name("m")
    scope.own(name)
    scope.lockable.append(name)
    return [f"memfd {name} size={d.random.choice([1, 4096, 30000])} position={d.random.randint(0, 4096)} "
            f"seals={d.random.choice([0, 0, 2, 4, 6, 8, 15])} {d.seed()}" + d.flags(cloexec=0.3)]


def terminal(d, scope):
    """A pseudoterminal."""
    name = d.name("t")
    scope.own(name + ".master")
    scope.polled.append(name + ".master")
    hung = d.chance(0.1)
    if not hung:
        scope.own(name + ".slave")
    return [f"terminal {name} rows={d.random.randint(1, 90)} columns={d.random.randint(1, 200)} {d.seed()} "
            f"input={d.random.choice([0, 0, 5, 100])} output={d.random.choice([0, 0, 5, 100])}"
            + d.flags(raw=0.4, nonblock=0.2) + (" hung" if hung else "")]


def event(d, scope):
    """A descriptor of events."""
    name = d.name("e")
    kind = d.random.choice(["eventfd", "timerfd", "signalfd", "epoll", "inotify", "pidfd"])
    scope.own(name)
    if kind == "eventfd":
        scope.polled.append(name)
        return [f"eventfd {name} value={d.random.choice([0, 1, 7, 4294967296, 18446744073709551])}"
                + d.flags(semaphore=0.3, nonblock=0.3)]
    if kind == "timerfd":
        scope.polled.append(name)
        return [f"timerfd {name} clock={d.random.choice([0, 1, 7])} value={d.random.choice([0, 5000, 90000])} "
                f"interval={d.random.choice([0, 0, 600])} nanoseconds={d.random.choice([0, 5])}"
                + d.flags(absolute=0.3, nonblock=0.3)]
    if kind == "signalfd":
        scope.polled.append(name)
        return [f"signalfd {name} mask={d.random.getrandbits(50) & ~(1 << 15)}" + d.flags(nonblock=0.3)]
    if kind == "epoll":
        scope.epolls.append(name)
        targets = d.random.sample(scope.polled, min(len(scope.polled), d.random.randint(0, 4)))
        return [f"epoll {name}" + d.flags(cloexec=0.3)] + [
            f"target {name} {target} events={d.random.choice([1, 4, 5, 0x80000001, 0x40000005, 0x2001])} "
            f"data={d.random.getrandbits(60)}" for target in targets]
    if kind == "inotify":
        objects = d.random.sample(scope.watchable, min(len(scope.watchable), d.random.randint(0, 3)))
        scope.watches.append(name)
        return [f"inotify {name}" + d.flags(nonblock=0.4)] + [
            f"watch {name} {target} mask={d.random.choice([0x80, 0x200, 0x800, 0x400])}" for target in objects]
    scope.pidfds.append(name)
    targets = ["self", *map(str, scope.children)]
    return [f"pidfd {name} of={d.random.choice(targets)}"]


def unix_socket(d, scope):
    """Unix sockets."""
    name = d.name("u")
    draw = d.random.random()
    passable = [fd for fd in scope.fds if fd not in scope.pidfds]
    passes = f" passes={d.random.choice(passable)}" if passable and d.chance(0.3) else ""
    count = d.random.choice([0, 1, 3, 8])
    if draw < 0.5:
        orphan = d.chance(0.1)
        scope.own(name + ".b", *([] if orphan else [name + ".a"]))
        scope.polled.append(name + ".b")
        return [f"unix {name} type={d.random.choice(['stream', 'dgram', 'seqpacket'])} messages={count} "
                f"answers={0 if orphan else d.random.choice([0, 0, 2])} size={d.random.choice([1, 60, 3000])} {d.seed()}{passes}"
                + d.flags(nonblock=0.2, credentials=0.15, shutdown=0.1) + (" orphan" if orphan else "")
                + d.random.choice(["", f" sndbuf={d.random.randint(60000, 90000)}", " timeout=7"])]
    kind = "unix-listener" if draw < 0.8 else "unix-datagrams"
    scope.own(name)
    scope.polled.append(name)
    where = d.random.choice(["", " abstract", " deleted"])
    if kind == "unix-datagrams":
        scope.own(name + ".client")
        where = "" if "deleted" in where else where
        return [f"unix-datagrams {name} messages={count} {d.seed()}{where}{passes}" + d.flags(nonblock=0.2)]
    accepted = d.chance(0.4)
    if accepted:
        scope.own(name + ".a", name + ".b")
    waiting = d.random.choice([0, 0, 1, 3])
    return [f"unix-listener {name} type={d.random.choice(['stream', 'seqpacket'])} backlog={d.random.randint(4, 20)} "
            f"waiting={waiting} messages=0 {d.seed()}{where}" + (" accepted" if accepted else "")]


def network_socket(d, scope):
    """TCP, UDP and netlink sockets."""
    name = d.name("n")
    v6 = " v6" if d.chance(0.3) else ""
    kind = d.random.choice(["tcp", "tcp", "udp", "netlink"])
    if kind == "netlink":
        scope.own(name)
        return [f"netlink {name} protocol={d.random.choice([0, 15])}" + d.flags(bound=0.5)]
    if kind == "udp":
        connected = d.chance(0.5)
        scope.own(name, *([name + ".peer"] if connected else []))
        scope.polled.append(name)
        return [f"udp {name}{v6}" + (" connected" if connected else "") + d.flags(reuse=0.2, nonblock=0.2)]
    if d.chance(0.4):
        scope.own(name)
        scope.polled.append(name)
        return [f"tcp {name} listening backlog={d.random.randint(1, 200)}{v6}" + d.flags(reuse=0.4, nonblock=0.3)]
    kept = d.chance(0.4)
    scope.own(name + ".a", name + ".b", *([name] if kept else []))
    scope.polled.append(name + ".a")
    return [f"tcp {name} bytes={d.random.choice([0, 1, 900, 20000])} answer={d.random.choice([0, 0, 300])} {d.seed()}{v6}"
            + (" kept" if kept else "") + d.flags(shutdown=0.15, nodelay=0.3, keepalive=0.2)
            + d.random.choice(["", " priority=3", " timeout=4"])]


def descriptor(d, scope):
    """Changes of a descriptor."""
    if not scope.fds:
        return []
    name = d.random.choice(scope.fds)
    draw = d.random.random()
    if draw < 0.35:
        new = d.name("d")
        if name in scope.pidfds:
            scope.pidfds.append(new)
        scope.own(new)
        return [f"dup {new} {name} least={d.random.choice([3, 3, 50, 300, 900])}" + d.flags(cloexec=0.3)]
    if draw < 0.5:
        if name.startswith("u"):
            return []
        scope.fds.remove(name)
        for names in (scope.lockable, scope.watchable, scope.polled, scope.epolls, scope.watches):
            if name in names:
                names.remove(name)
        return [f"close {name}"]
    if draw < 0.6 and name in scope.polled:
        return [f"owner {name} signal={d.random.choice([0, 10, 40])}" + d.flags(group=0.2)]
    if draw < 0.75 and scope.lockable:
        name = d.random.choice(scope.lockable)
        kind = d.random.choice(["flock", "posix", "ofd"])
        return [f"lock {name} {kind} start={d.random.choice([0, 5])} length={d.random.choice([0, 3])}"]
    if name.startswith("o"):
        return []  # fcntl(2) changes no flags of a descriptor of O_PATH
    return [f"flags {name}" + d.flags(nonblock=0.4, cloexec=0.4)]


def mapping(d, scope):
    """A new mapping."""
    name = d.name("a")
    pages = d.random.choice([1, 2, 5, 16, 64])
    draw = d.random.random()
    if draw < 0.07:
        return [f"many {name} count={d.random.choice([10, 60, 200])} {d.seed()}"]
    if draw < 0.12:
        return [f"heap pages={pages} {d.seed()}"]
    if draw < 0.18 and "ipc" in scope.spaces:
        return [f"system-v {name} pages={pages} {d.seed()}" + d.flags(deleted=0.3)]
    shared = d.chance(0.35)
    kind = d.random.choice(["anonymous", "anonymous", "file", "memfd"])
    scope.regions[name] = (pages, not shared)
    filled = d.random.choice([pages, pages, 0, pages // 2])
    more = d.flags(shared=1 if shared else 0, noreserve=0.1, readonly=0.1 if kind != "anonymous" else 0,
                   deleted=0.3 if kind == "file" else 0, growsdown=0.05 if kind == "anonymous" and not shared else 0)
    return [f"map {name} pages={pages} kind={kind} filled={filled} {d.seed()}{more}"]


def mapping_change(d, scope):
    """Changes of a mapping."""
    if not scope.regions:
        return mapping(d, scope)
    name = d.random.choice(sorted(scope.regions))
    pages, private = scope.regions[name]
    first = d.random.randrange(pages)
    part = f"{name} first={first} count={d.random.randint(1, pages - first)}"
    draw = d.random.random()
    if draw < 0.3:
        # Pages may only be written before another step takes them away.
        return [f"write {part} {d.seed()}"] if private and name not in scope.changes else []
    scope.changes.add(name)
    if draw < 0.5:
        return [f"protect {part} rights={d.random.choice(['r', 'rw', 'none', 'rx', 'rwx'])}"]
    if draw < 0.6:
        del scope.regions[name]
        return [f"unmap {part}"]
    if draw < 0.7:
        return [f"mlock {part}" + d.flags(onfault=0.4)]
    if draw < 0.75 and private:
        del scope.regions[name]
        return [f"move {name}"]
    advices = [1, 2, 10, 11, 14, 15, 16, 17, 4] + ([18, 19, 12] if private else [])
    advice = d.random.choice(advices)
    if advice == 10:
        del scope.regions[name]  # MADV_DONTFORK: children don't have these pages
    return [f"advise {part} advice={advice}"]


def signals(d, scope):
    """Signal state and timers."""
    number = int(d.random.choice(SIGNALS))
    draw = d.random.random()
    if draw < 0.3:
        return [f"action signal={number} how={d.random.choice(['handler', 'ignore', 'default'])} "
                f"flags={d.random.choice([0, 0x10000000, 0x40000000, 0x08000000, 0x14000000])} masked={d.random.choice([0, 10, 45])}"]
    if draw < 0.45:
        return [f"block signal={number}"]
    if draw < 0.65:
        return [f"pending signal={number} value={d.random.randint(0, 9999)} times={d.random.choice([1, 1, 3])}"
                + d.flags(thread=0.4)]
    if draw < 0.7:
        return [f"alternate-stack pages={d.random.choice([2, 8])}"]
    if draw < 0.82:
        return [f"interval-timer which={d.random.randint(0, 2)} value={d.random.choice([3000, 90000])} "
                f"interval={d.random.choice([0, 50])}"]
    return [f"posix-timer clock={d.random.choice([0, 1, 2, 3, 7, 11])} notify={d.random.choice(['signal', 'none', 'thread'])} "
            f"signal={number} data={d.random.randint(0, 999)} value={d.random.choice([0, 3000, 90000])} "
            f"interval={d.random.choice([0, 70])}" + d.flags(absolute=0.2, deleted=0.15)]


def threads(d, scope):
    """A thread."""
    scope.threads = True
    policy = d.random.choice([0, 0, 0, 1, 2, 3, 5])
    return [f"thread waits={d.random.choice(['futex', 'futex', 'poll', 'sleep', 'signal', 'pause', 'select'])} "
            f"value={d.random.randint(1, 9999)} policy={policy} priority={d.random.randint(1, 50) if policy in (1, 2) else 0} "
            f"nice={d.random.choice([0, 0, 5, 19])} blocked={d.random.choice([0, 0, 10, 41])} "
            f"pending={d.random.choice([0, 0, 1, 2])} timer-slack={d.random.choice([0, 0, 70000])} "
            f"death-signal={d.random.choice([0, 0, 28])}" + d.random.choice(["", f" name={d.name('thread')}"])
            + d.flags(**{"alternate-stack": 0.2, "robust": 0.2})]


def attributes(d, scope):
    """Attributes of a process."""
    pick = d.random
    policy = pick.choice([1, 2, 3, 5, 0])
    return [pick.choice([
        f"name {pick.choice(['x', d.name('task'), 'fifteen-letters', 'a)b', '%s%n'])}",
        f"umask value={pick.choice([0, 0o77, 0o777, 0o22])}",
        f"folder {d.name('c')}" + d.flags(deleted=0.3),
        f"limit which={pick.choice([0, 1, 2, 3, 4, 8, 10, 11, 12, 13, 14, 15])} soft={(soft := pick.choice([1 << 30, 1 << 28, -1]))} "
        f"hard={-1 if soft < 0 else pick.choice([soft, 1 << 31, -1])}",
        f"limit which=7 soft={pick.choice([1024, 1500])} hard={pick.choice([1600, 4096])}",
        f"nice nice={pick.choice([1, 10, 19, -3])}",
        f"schedule policy={policy} priority={pick.randint(1, 60) if policy in (1, 2) else 0}" + d.flags(reset=0.3),
        f"processor cpu={pick.randint(0, 1)}",
        f"io-priority class={pick.choice([2, 3, 1])} level={pick.randint(0, 7)}",
        f"oom score={pick.choice([-1000, -5, 7, 1000])}",
        f"personality value={pick.choice([0x40000, 0x8000000, 0x20000, 0x10, 0x40000 | 0x10])}",
        f"control thp-disable value={pick.randint(0, 1)}",
        f"control timer-slack value={pick.choice([1, 777777])}",
        f"control death-signal value={pick.choice([28, 18, 0])}",
        f"control memory-merge value={pick.randint(0, 1)}",
        f"control io-flusher value={pick.randint(0, 1)}",
        f"control tsc value={pick.choice([1, 1, 2])}",
    ])]


def relatives(d, scope):
    """Sessions, groups and zombies."""
    draw = d.random.random()
    if draw < 0.45:
        return [f"zombie {d.name('z')} code={d.random.randint(0, 255)} signal={d.random.choice([0, 0, 9, 15, 10])}"]
    if draw < 0.6:
        if scope.leads:
            return []
        scope.leads = True
        return ["session"]
    if draw < 0.85:
        if scope.leads:
            return []
        scope.leads = True
        return [f"group of={d.random.choice(['self', 'parent'])}"]
    return ["control subreaper value=1"]


def spaces(d, scope):
    """Namespaces, and objects in them."""
    key = d.random.randint(1, 1 << 30)
    if "ipc" in scope.spaces and d.chance(0.6):
        return [d.random.choice([
            f"segment key={key} {d.seed()}", f"semaphores key={key} value={d.random.randint(1, 99)}" + d.flags(undo=0.3),
            f"messages key={key} count={d.random.randint(0, 6)} {d.seed()}",
            *([f"posix-queue {d.name('q')} count={d.random.randint(0, 4)} {d.seed()}"] if d.own_ipc else [])])]
    if "mnt" in scope.spaces and d.chance(0.6):
        name = d.name("w")
        scope.own(name)
        return [f"tmpfs {name} size={d.random.choice([1, 5000])} {d.seed()}"]
    kind = d.random.choice(["mnt", "uts", "ipc"])
    # The root enters namespaces only at its begin: no process may stay in criu's.
    if scope.threads or scope.is_root or (kind == "ipc" and d.own_ipc):
        return []
    scope.spaces.add(kind)
    return [f"unshare {kind}"]


KINDS = [(regular_file, 8), (other_file, 4), (pipe, 6), (memfd, 3), (terminal, 2), (event, 8), (unix_socket, 7),
         (network_socket, 5), (descriptor, 9), (mapping, 9), (mapping_change, 9), (signals, 7), (threads, 5), (attributes, 9),
         (relatives, 4), (spaces, 3)]


def draw(seed, limits=None):
    """Returns the specification of a seed."""
    return Drawer(seed, limits or Limits()).draw()


def text(specification):
    """Returns the text of a specification."""
    return "".join(f"process {number}\n" + "".join(f"{step}\n" for step in steps) for number, steps in specification)


def parse(content):
    """Returns the specification of a text."""
    specification = []
    for line in content.splitlines():
        if line.startswith("process "):
            specification.append((int(line.split()[1]), []))
        elif line.strip():
            specification[-1][1].append(line)
    return specification


CREATES = re.compile(r"(?:child|orphan|child-in-new-pids) (\d+)\b")


def descendants(specification, number):
    """Returns a process and all that it creates."""
    found = {number}
    for step in dict(specification).get(number, []):
        if created := CREATES.match(step):
            found |= descendants(specification, int(created.group(1)))
    return found


def without_step(specification, number, at):
    """Returns the specification without one step, and without the processes that it creates."""
    step = dict(specification)[number][at]
    created = CREATES.match(step)
    removed = descendants(specification, int(created.group(1))) if created else set()
    return [(other, [line for index, line in enumerate(steps) if (other, index) != (number, at)])
            for other, steps in specification if other not in removed]
