# SPDX-License-Identifier: GPL-2.0-only
"""Restores of trees with a private user and pid namespace into a given user namespace (--join-ns user)."""

import os
import signal

from harness import criu as criu_runs
from harness import processes
from subject import Failed
import modes


class Holder:
    """A process in new user, pid, UTS and network namespaces, which stays there."""

    def __init__(self, subject, words=("/usr/bin/unshare", "--uts", "--net"), own_users=None):
        self.subject = subject
        init = subject.init
        self.pid = init.start([*words, "/bin/sleep", "1000"], "/", "/dev/null",
                              own_users=own_users)
        init.until(lambda: (processes.text(f"/proc/{self.pid}/cmdline") or "").startswith("/bin/sleep"),
                   processes.PATIENCE, "the holder of the namespaces")
        subject.servers.add(self.pid)

    def namespace(self, kind):
        """Returns the namespace of a kind, as /proc shows it."""
        return os.readlink(f"/proc/{self.pid}/ns/{kind}")

    def end(self):
        """Ends the process."""
        os.kill(self.pid, signal.SIGKILL)
        self.subject.init.wait(self.pid, processes.PATIENCE, "the end of the holder")
        self.subject.servers.discard(self.pid)


def restore(subject, *options):
    """Restores with further options. Returns the run."""
    before = subject.restore_options
    subject.restore_options = [*before, *options]
    run = subject.try_restore(subject.ours, subject.images("images"))
    subject.restore_options = before
    return run


def require_in(subject, holder, kinds):
    """Requires the tree's root to be in namespaces of the holder, and its pid namespace to belong to that user
    namespace."""
    for kind in kinds:
        found = os.readlink(f"/proc/{subject.root}/ns/{kind}")
        if found != holder.namespace(kind):
            raise Failed(f"the tree is in {found} instead of {holder.namespace(kind)}")
    if os.readlink(f"/proc/{subject.root}/ns/pid") == holder.namespace("pid"):
        raise Failed("the tree is in the pid namespace of the holder")


def require_refused(subject, words, *options):
    """Requires a failed restore that gives a reason and leaves nothing."""
    before = set(processes.pids())
    run = restore(subject, *options)
    if run.code in (0, None) or not any(words in line for line in criu_runs.error_lines(run.log)):
        raise Failed(f"restore {options} should fail with '{words}': {run.describe()}")
    subject.init.until(lambda: set(processes.pids()) <= before, processes.PATIENCE, "the end of all processes")


def user_given(subject, _task):
    """Restores into a given user namespace, and again after a dump of the restored tree as --restore-sibling."""
    subject.dump(subject.ours, "images")
    holder = Holder(subject, own_users=subject.own_users)
    subject.require_success(restore(subject, "--join-ns", f"user:{holder.pid}"))
    require_in(subject, holder, ("user",))
    subject.require_unchanged("after the restore into a given user namespace")
    subject.require_success(subject.ours.dump(subject.root, subject.images("images"), subject.dump_options))
    subject.init.until(lambda: subject.root not in processes.pids(), processes.PATIENCE, "the end of the dumped tree")
    subject.require_success(restore(subject, "--join-ns", f"user:/proc/{holder.pid}/ns/user", "--restore-sibling"))
    require_in(subject, holder, ("user",))
    subject.require_unchanged("after the second restore into a given user namespace")
    holder.end()
    subject.check()


def user_given_more(subject, _task):
    """Restores into given user, UTS and network namespaces. Requires refusals for namespaces that can't be given."""
    subject.dump(subject.ours, "images")
    holder = Holder(subject, own_users=subject.own_users)
    given = ("--join-ns", f"user:{holder.pid}")
    require_refused(subject, "that is the user namespace of criu", "--join-ns", "user:/proc/self/ns/user")
    require_refused(subject, "without --join-ns user", "--join-ns", f"uts:{holder.pid}")
    require_refused(subject, "can't be put into a mnt namespace", *given, "--join-ns", f"mnt:{holder.pid}")
    small = Holder(subject, ("/usr/bin/unshare", "--user", "--map-root-user"))
    require_refused(subject, "which isn't in the map of that user namespace", "--join-ns", f"user:{small.pid}")
    unmapped = Holder(subject, ("/usr/bin/unshare", "--user"))
    require_refused(subject, "isn't in the map of that user namespace", "--join-ns", f"user:{unmapped.pid}")
    require_refused(subject, "No such file or directory", "--join-ns", "user:/missing")
    small.end()
    unmapped.end()
    subject.require_success(restore(subject, *given, "--join-ns", f"uts:{holder.pid}", "--join-ns", f"net:{holder.pid}"))
    require_in(subject, holder, ("user", "uts", "net"))
    holder.end()
    subject.init.until(lambda: processes.tree(subject.root), processes.PATIENCE, "the tree")
    subject.check()


MODES = [
    modes.Mode("user-given", user_given, scenario=True, beyond_42=True),
    modes.Mode("user-given-more", user_given_more, scenario=True, beyond_42=True),
]
