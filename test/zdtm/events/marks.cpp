// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/fanotify.h>

#include <string>

#include "zdtm.hpp"

ZDTM("fanotify marks on inodes and mounts, with ignore masks") {
    const int file = fanotify_init(FAN_CLASS_NOTIF | FAN_NONBLOCK | FAN_UNLIMITED_QUEUE, O_RDONLY | O_LARGEFILE);
    if (file == -1) {
        zdtm::skip("no fanotify here: %s", strerror(errno));
    }
    zdtm::write_file("marked", "text");
    SYS(fanotify_mark(file, FAN_MARK_ADD, FAN_MODIFY | FAN_CLOSE_WRITE, AT_FDCWD, "marked"));
    SYS(fanotify_mark(file, FAN_MARK_ADD | FAN_MARK_IGNORED_MASK | FAN_MARK_IGNORED_SURV_MODIFY, FAN_ACCESS, AT_FDCWD,
                      "marked"));
    SYS(fanotify_mark(file, FAN_MARK_ADD | FAN_MARK_MOUNT, FAN_MODIFY | FAN_ONDIR, AT_FDCWD, "/dev"));
    const std::string info = "/proc/self/fdinfo/" + std::to_string(file);
    const std::string before = zdtm::read_file(info);
    me.wait_for_check();

    const std::string after = zdtm::read_file(info);
    CHECK(after.substr(after.find("fanotify")) == before.substr(before.find("fanotify")), "before: %s\nafter: %s",
          before.c_str(), after.c_str());
    fanotify_event_metadata event{};
    CHECK(read(file, &event, sizeof event) == -1 && errno == EAGAIN, "an event %#llx", event.mask);
    zdtm::write_file("marked", "other");
    CHECK(read(file, &event, sizeof event) == sizeof event, "%s", strerror(errno));
    CHECK((event.mask & FAN_MODIFY) != 0, "event %#llx", event.mask);
}
