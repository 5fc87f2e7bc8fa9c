// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it restores no watch of a symbolic link
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include <string>

#include "zdtm.hpp"

namespace {

class Events {
public:
    explicit Events(int file) : file_(file) {}

    // Returns mask, watch and name of the next event; mask 0 if there is none.
    std::uint32_t next() {
        if (at_ == size_ && !refill()) {
            return 0;
        }
        inotify_event event{};
        memcpy(&event, buffer_ + at_, sizeof event);
        watch = event.wd;
        name = event.len != 0 ? buffer_ + at_ + sizeof event : "";
        at_ += sizeof event + event.len;
        return event.mask;
    }

    int watch = 0;
    std::string name;

private:
    bool refill() {
        const ssize_t size = read(file_, buffer_, sizeof buffer_);
        CHECK(size > 0 || errno == EAGAIN, "%s", strerror(errno));
        at_ = 0;
        size_ = size > 0 ? static_cast<std::size_t>(size) : 0;
        return size_ != 0;
    }

    int file_;
    std::size_t at_ = 0;
    std::size_t size_ = 0;
    alignas(inotify_event) char buffer_[4096];
};

}  // namespace

ZDTM("inotify watches keep numbers and masks, and report no events of dump and restore") {
    const int file = SYS(inotify_init1(IN_NONBLOCK));
    SYS(mkdir("folder", 0755));
    zdtm::write_file("seen", "x");
    zdtm::write_file("gone", "x");
    for (int i = 0; i < 5; ++i) {
        SYS(inotify_rm_watch(file, SYS(inotify_add_watch(file, "seen", IN_OPEN))));
    }
    const int folder = SYS(inotify_add_watch(file, "folder", IN_CREATE | IN_DELETE | IN_EXCL_UNLINK));
    const int dropped = SYS(inotify_add_watch(file, "gone", IN_OPEN));
    const int seen = SYS(inotify_add_watch(file, "seen", IN_ALL_EVENTS));
    SYS(symlink("seen", "link"));
    const int link = SYS(inotify_add_watch(file, "link", IN_ATTRIB | IN_DELETE_SELF | IN_DONT_FOLLOW));
    SYS(inotify_rm_watch(file, dropped));
    Events events(file);
    while (events.next() != 0) {
    }
    me.wait_for_check();

    CHECK(events.next() == 0, "an event %s of watch %d", events.name.c_str(), events.watch);
    zdtm::write_file("folder/new", "");
    CHECK(events.next() == IN_CREATE && events.watch == folder && events.name == "new", "watch %d, %s", events.watch,
          events.name.c_str());
    const int opened = SYS(open("seen", O_RDONLY));
    CHECK(events.next() == IN_OPEN && events.watch == seen, "watch %d", events.watch);
    SYS(close(opened));
    CHECK(events.next() == IN_CLOSE_NOWRITE && events.watch == seen, "watch %d", events.watch);
    SYS(unlink("link"));
    CHECK(events.next() == IN_ATTRIB && events.watch == link, "watch %d", events.watch);
    CHECK(events.next() == IN_DELETE_SELF && events.watch == link, "watch %d", events.watch);
    SYS(inotify_rm_watch(file, folder));
}
