// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also user-given
// zdtm: own-users yes
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "zdtm.hpp"

namespace {

void require_owner(int fd, uid_t user, gid_t group, mode_t mode) {
    struct stat now {};
    SYS(fstat(fd, &now));
    CHECK(now.st_uid == user && now.st_gid == group && (now.st_mode & 07777) == mode,
          "fd %d is of %u:%u, mode %o, instead of %u:%u, %o", fd, now.st_uid, now.st_gid, now.st_mode & 07777, user,
          group, mode);
}

}  // namespace

ZDTM("files of several users of a user namespace: on disk, deleted, in memory, terminals") {
    umask(0);
    const int plain = SYS(open("plain", O_RDWR | O_CREAT, 0600));
    SYS(fchown(plain, 1000, 1001));
    const int kept = SYS(open("deleted", O_RDWR | O_CREAT, 0640));
    SYS(write(kept, "content", 7));
    SYS(fchown(kept, 2000, 2001));
    SYS(unlink("deleted"));
    const int memory = SYS(memfd_create("memory", 0));
    SYS(ftruncate(memory, 8192));
    SYS(fchown(memory, 3000, 3001));
    auto* const shared = zdtm::map(8192, PROT_READ | PROT_WRITE, MAP_SHARED, memory).data();
    shared[5000] = std::byte{7};
    auto* const anonymous = zdtm::map(4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS).data();
    anonymous[1] = std::byte{3};
    SYS(mkfifo("fifo", 0600));
    SYS(chown("fifo", 4000, 4001));
    const int fifo = SYS(open("fifo", O_RDWR));
    SYS(write(fifo, "f", 1));
    const int master = SYS(posix_openpt(O_RDWR | O_NOCTTY));
    SYS(grantpt(master));
    SYS(unlockpt(master));
    const int slave = SYS(open(ptsname(master), O_RDWR | O_NOCTTY));
    SYS(fchown(slave, 5000, 5001));
    // One user opened this file. The user that has it now could not open it.
    const pid_t user = me.start_child([&](zdtm::Task& task) {
        SYS(setresgid(9, 9, 9));
        SYS(setresuid(9, 9, 9));
        task.wait_for_check();
        require_owner(plain, 1000, 1001, 0600);
        SYS(write(plain, "x", 1));
        CHECK(open("plain", O_RDONLY) == -1 && errno == EACCES, "it can open a file of another user");
    });

    me.wait_for_check();
    require_owner(plain, 1000, 1001, 0600);
    require_owner(kept, 2000, 2001, 0640);
    require_owner(memory, 3000, 3001, 0777);
    require_owner(fifo, 4000, 4001, 0600);
    require_owner(slave, 5000, 5001, 0620);
    char text[8] = {};
    CHECK(pread(kept, text, sizeof(text), 0) == 7 && std::memcmp(text, "content", 7) == 0, "it has \"%s\"", text);
    CHECK(shared[5000] == std::byte{7} && anonymous[1] == std::byte{3}, "shared memory has changed");
    CHECK(read(fifo, text, 1) == 1 && text[0] == 'f', "got %d", text[0]);
    me.finish(user);
    struct stat after {};
    SYS(fstat(plain, &after));
    CHECK(after.st_size == 1, "size %ld", static_cast<long>(after.st_size));
    SYS(chown("plain", 7, 7));
}
