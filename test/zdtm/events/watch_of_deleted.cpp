// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 the watch is gone as soon as the file is back
#include <fcntl.h>
#include <sys/inotify.h>

#include "zdtm.hpp"

ZDTM("an inotify watch on a deleted file that is still open") {
    const int file = SYS(inotify_init1(IN_NONBLOCK));
    zdtm::write_file("gone", "text");
    const int kept = SYS(open("gone", O_RDWR));
    const int watch = SYS(inotify_add_watch(file, "gone", IN_MODIFY));
    SYS(unlink("gone"));
    me.wait_for_check();

    inotify_event event{};
    CHECK(read(file, &event, sizeof event) == -1 && errno == EAGAIN, "an event %#x", event.mask);
    CHECK(write(kept, "T", 1) == 1, "%s", strerror(errno));
    CHECK(read(file, &event, sizeof event) == sizeof event, "%s", strerror(errno));
    CHECK(event.wd == watch && event.mask == IN_MODIFY, "watch %d, event %#x", event.wd, event.mask);
}
