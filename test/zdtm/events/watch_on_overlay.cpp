// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it looks for such files in a few places only
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "zdtm.hpp"

ZDTM("an inotify watch on overlayfs, where open_by_handle_at(2) fails") {
    for (const char* const folder : {"lower", "lower/deep", "upper", "work", "merged"}) {
        SYS(mkdir(folder, 0755));
    }
    zdtm::write_file("lower/deep/watched", "text");
    if (mount("overlay", "merged", "overlay", 0, "lowerdir=lower,upperdir=upper,workdir=work") != 0) {
        zdtm::skip("no overlayfs here: %s", strerror(errno));
    }
    const int file = SYS(inotify_init1(IN_NONBLOCK));
    const int watch = SYS(inotify_add_watch(file, "merged/deep/watched", IN_MODIFY));
    const int folder = SYS(inotify_add_watch(file, "merged/deep", IN_CREATE));
    me.wait_for_check();

    inotify_event event{};
    CHECK(read(file, &event, sizeof event) == -1 && errno == EAGAIN, "an event %#x", event.mask);
    zdtm::write_file("merged/deep/new", "");
    alignas(inotify_event) char buffer[512];
    CHECK(read(file, buffer, sizeof buffer) > 0, "%s", strerror(errno));
    memcpy(&event, buffer, sizeof event);
    CHECK(event.wd == folder && event.mask == IN_CREATE, "watch %d, event %#x", event.wd, event.mask);
    CHECK(watch != folder, "one number for both");
    SYS(umount2("merged", MNT_DETACH));
}
