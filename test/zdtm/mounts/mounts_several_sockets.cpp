// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2(from-other) the program itself is on a mount outside of the namespace
// zdtm: restore-options --root /
// zdtm: may-differ socket \./\S+: mtime:, tmpfs-dev: \./\S*: mode 04
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <string>

#include "mounts.hpp"
#include "zdtm.hpp"

namespace {

/// A socket at a path, and a socket that is connected to it.
struct Pair {
    sockaddr_un address{AF_UNIX, "/mnt/place/socket"};
    int receiver = SYS(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0));
    int sender = SYS(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0));

    explicit Pair(mode_t mode) {
        SYS(bind(receiver, reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
        SYS(chmod(address.sun_path, mode));
        SYS(connect(sender, reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
    }

    void check_from(int from, const std::string& text) const {
        char got[32] = {};
        SYS(send(from, text.data(), text.size(), 0));
        const ssize_t length = recv(receiver, got, sizeof(got) - 1, 0);
        CHECK(length == static_cast<ssize_t>(text.size()) && text == got, "%s: received %s (%zd)", text.c_str(), got,
              length);
    }

    /// Checks the old connection, and a new one by the path.
    void check(const std::string& who, mode_t mode) const {
        check_from(sender, who + " by the old one");
        const int other = SYS(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0));
        SYS(connect(other, reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
        check_from(other, who + " by the path");
        struct stat file {};
        SYS(stat(address.sun_path, &file));
        CHECK((file.st_mode & 0777) == mode, "%s: mode %o", who.c_str(), file.st_mode);
    }
};

}  // namespace

ZDTM("sockets at the same path in two mount namespaces; a process of one namespace inherited the other's socket") {
    zdtm::enter_new_mounts();
    zdtm::mount_on("/mnt", "tmpfs");
    SYS(mkdir("/mnt/place", 0700));
    const Pair mine(0640);
    const pid_t child = me.start_child([&mine](zdtm::Task& task) {
        SYS(unshare(CLONE_NEWNS));
        zdtm::mount_on("/mnt/place", "tmpfs");
        const Pair own(0604);
        const pid_t inner = task.start_child([&own](zdtm::Task& grandchild) {
            grandchild.wait_for_check();
            own.check("grandchild", 0604);
        });
        task.wait_for_check();
        own.check("child", 0604);
        mine.check_from(mine.sender, "child by the parent's");
        task.finish(inner);
    });

    me.wait_for_check();

    mine.check("parent", 0640);
    me.finish(child);
}
