# SPDX-License-Identifier: GPL-2.0-only
"""Kills all processes of criu at once during dumps to a stream, and during restores from a stream or of clones."""

import os

from harness import procstate
from subject import Skipped
import killing
import modes


def _path(subject):
    """Returns the stream's path, which is outside of all images directories."""
    return os.path.join(os.path.dirname(subject.images("images")), "checkpoint.stream")


def stream_dump_killed(subject, task):
    """Kills dumps to a stream at system calls. The tree must continue unchanged."""
    killing.kill_dumps(subject, task, ["--stream-to", _path(subject)])


class KilledFromStream(killing.KilledRestores):
    """Restores from a stream that are killed."""

    def dump_options(self):
        """Has the images written to a stream."""
        return ["--stream-to", _path(self.subject)]

    def restore_options(self):
        """Has the images read from that stream."""
        return ["--stream-from", _path(self.subject)]


class KilledClones(killing.KilledRestores):
    """Restores of clones that share memory. Only the first process is killed, because the shared-pages daemon must outlive
    a restore."""

    def restore_options(self):
        """Has memory shared."""
        return ["--map-pages"]

    def require_restored(self):
        """Takes the first clone as the state that later ones must have, because its mappings differ from the program's."""
        subject = self.subject
        subject.require_running("after a restore")
        subject.state = procstate.picture(subject.root)

    def living(self):
        """Returns the orphans that aren't shared-pages daemons."""
        daemons = killing.processes_of(self.subject.ours.binary)
        return [pid for pid in super().living() if pid not in daemons]

    def find_root(self):
        """Finds the root, and the daemons that a living clone may have."""
        super().find_root()
        self.find_daemons()

    def find_daemons(self):
        """Lets the tests expect shared-pages daemons."""
        self.subject.servers = set(killing.processes_of(self.subject.ours.binary))


def stream_restore_killed(subject, task):
    """Kills restores from a stream at system calls. The tree must run as dumped, or nothing of it may be left."""
    killing.judge(subject, task, KilledFromStream(subject, task, everyone=True))


def clones_killed(subject, task):
    """Kills restores of clones at system calls. The tree must run as dumped, or nothing of it may be left."""
    if subject.own_users:
        raise Skipped("criu refuses --map-pages in a private user namespace")
    killing.judge(subject, task, KilledClones(subject, task))


MODES = [
    modes.Mode("stream-dump-killed", stream_dump_killed, scenario=True, beyond_42=True, like="dump-killed"),
    modes.Mode("stream-restore-killed", stream_restore_killed, scenario=True, beyond_42=True, like="restore-all-killed"),
    modes.Mode("clones-killed", clones_killed, scenario=True, beyond_42=True, like="restore-killed"),
]
