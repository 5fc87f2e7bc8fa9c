// SPDX-License-Identifier: GPL-2.0-only
// zdtm: own-users yes
#include <fcntl.h>
#include <sched.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "zdtm.hpp"

namespace {

void require_owner(const char* path, uid_t user, gid_t group, mode_t mode) {
    struct stat now {};
    SYS(lstat(path, &now));
    CHECK(now.st_uid == user && now.st_gid == group && (now.st_mode & 07777) == mode,
          "%s is of %u:%u, mode %o, instead of %u:%u, %o", path, now.st_uid, now.st_gid, now.st_mode & 07777, user,
          group, mode);
}

void make_file(const char* path, uid_t user, gid_t group, mode_t mode) {
    zdtm::write_file(path, "content");
    SYS(chmod(path, mode));
    SYS(chown(path, user, group));
}

}  // namespace

ZDTM("all that a container has for itself, under a user namespace: files in memory, System V objects, names") {
    SYS(unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS));
    SYS(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    SYS(sethostname("inside", 6));
    SYS(mount("tmpfs", "/mnt", "tmpfs", 0, "mode=750,uid=70,gid=71"));
    make_file("/mnt/plain", 1000, 1001, 0640);
    make_file("/mnt/run", 0, 0, 04755);
    SYS(mkdir("/mnt/folder", 0700));
    make_file("/mnt/folder/below", 2000, 2001, 0600);
    SYS(chown("/mnt/folder", 2000, 2001));
    SYS(symlink("plain", "/mnt/link"));
    SYS(lchown("/mnt/link", 3000, 3001));
    SYS(mkfifo("/mnt/fifo", 0600));
    const int open_file = SYS(open("/mnt/plain", O_RDWR));
    const int deleted = SYS(open("/mnt/deleted", O_RDWR | O_CREAT, 0600));
    SYS(fchown(deleted, 4000, 4001));
    SYS(write(deleted, "gone", 4));
    SYS(unlink("/mnt/deleted"));

    const int queue = SYS(msgget(0x1234, IPC_CREAT | 0600));
    msqid_ds status{};
    SYS(msgctl(queue, IPC_STAT, &status));
    status.msg_perm.uid = 1000;
    status.msg_perm.gid = 1001;
    SYS(msgctl(queue, IPC_SET, &status));
    int segment = -1;
    const pid_t user = me.start_child([&](zdtm::Task& task) {
        SYS(setresgid(501, 501, 501));
        SYS(setresuid(500, 500, 500));
        segment = SYS(shmget(0x77, 4096, IPC_CREAT | 0640));
        auto* const at = static_cast<char*>(shmat(segment, nullptr, 0));
        at[10] = 'x';
        task.wait_for_check();
        CHECK(at[10] == 'x', "shared memory has %d", at[10]);
        shmid_ds now{};
        SYS(shmctl(segment, IPC_STAT, &now));
        CHECK(
            now.shm_perm.uid == 500 && now.shm_perm.cuid == 500 && now.shm_perm.gid == 501 && now.shm_perm.cgid == 501,
            "it is of %u:%u, made by %u:%u", now.shm_perm.uid, now.shm_perm.gid, now.shm_perm.cuid, now.shm_perm.cgid);
        CHECK(open("/mnt/plain", O_RDONLY) == -1 && errno == EACCES, "others may look into the file system");
    });

    me.wait_for_check();
    require_owner("/mnt", 70, 71, 0750);
    require_owner("/mnt/plain", 1000, 1001, 0640);
    require_owner("/mnt/run", 0, 0, 0755);  // chown(2) took the bit away
    require_owner("/mnt/folder", 2000, 2001, 0700);
    require_owner("/mnt/folder/below", 2000, 2001, 0600);
    require_owner("/mnt/link", 3000, 3001, 0777);
    require_owner("/mnt/fifo", 0, 0, 0600);
    struct stat now {};
    SYS(fstat(deleted, &now));
    CHECK(now.st_uid == 4000 && now.st_gid == 4001 && now.st_size == 4 && now.st_nlink == 0,
          "the deleted file is of %u:%u, %ld bytes", now.st_uid, now.st_gid, static_cast<long>(now.st_size));
    SYS(write(open_file, "x", 1));
    SYS(msgctl(queue, IPC_STAT, &status));
    CHECK(status.msg_perm.uid == 1000 && status.msg_perm.gid == 1001 && status.msg_perm.cuid == 0,
          "the queue is of %u:%u, made by %u", status.msg_perm.uid, status.msg_perm.gid, status.msg_perm.cuid);
    utsname names{};
    SYS(uname(&names));
    CHECK(std::strcmp(names.nodename, "inside") == 0, "the host is called %s", names.nodename);
    me.finish(user);
    // It is still the namespace's own to change.
    SYS(sethostname("other", 5));
    SYS(mount("tmpfs", "/mnt", "tmpfs", 0, nullptr));
    SYS(umount("/mnt"));
}
