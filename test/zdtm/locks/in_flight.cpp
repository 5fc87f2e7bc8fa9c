// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --file-locks
// zdtm: restore-options --file-locks
// zdtm: fails-with-4.2 it has no place for the lock
#include <fcntl.h>
#include <sys/file.h>

#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("a locked file keeps its lock while it is in flight between sockets") {
    const zdtm::Pair sockets = zdtm::make_pair_of(SOCK_STREAM);
    const int file = SYS(open("file", O_RDWR | O_CREAT, 0644));
    SYS(flock(file, LOCK_EX));
    zdtm::send_message(sockets.one, "x", {file});
    SYS(close(file));
    me.wait_for_check();
    const int other = SYS(open("file", O_RDWR));
    CHECK(flock(other, LOCK_SH | LOCK_NB) == -1 && errno == EWOULDBLOCK, "%s", strerror(errno));
    const zdtm::Message got = zdtm::receive(sockets.other);
    CHECK(got.descriptors.size() == 1, "%zu descriptors", got.descriptors.size());
    SYS(close(got.descriptors[0]));
    SYS(flock(other, LOCK_EX | LOCK_NB));
}
