// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also new-pidns
// zdtm: restore-options --root /
// zdtm: fails-with-4.2 a file on a mount that is covered is open
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>

#include <map>

#include "mounts.hpp"
#include "zdtm.hpp"

namespace {

struct stat look(const std::string& path) {
    struct stat stat {};
    SYS(lstat(path.c_str(), &stat));
    return stat;
}

void give_times(const std::string& path, long seconds) {
    const timespec times[] = {{seconds, 111}, {seconds + 1, 222}};
    SYS(utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW));
}

}  // namespace

ZDTM("all kinds of files in a tmpfs") {
    zdtm::enter_new_mounts();
    zdtm::mount_on("/mnt", "tmpfs", "mode=711,size=2g");
    const std::string long_name(200, 'n');
    SYS(mkdir("/mnt/deep", 0700));
    SYS(mkdir(("/mnt/deep/" + long_name).c_str(), 02755));
    const std::string deep = "/mnt/deep/" + long_name + "/file with blanks\n";
    SYS(close(SYS(open(deep.c_str(), O_CREAT | O_WRONLY, 06754))));
    SYS(chmod(deep.c_str(), 06754));
    SYS(setxattr(deep.c_str(), "trusted.test", "val\0ue", 6, 0));
    SYS(link(deep.c_str(), "/mnt/second"));
    SYS(symlink("../nowhere", "/mnt/link"));
    SYS(lchown("/mnt/link", 11, 12));
    SYS(mkfifo("/mnt/fifo", 0604));
    SYS(mknod("/mnt/device", S_IFBLK | 0640, makedev(7, 300)));
    SYS(chown("/mnt/device", 70000, 80000));
    const int holes = SYS(open("/mnt/holes", O_CREAT | O_RDWR, 0600));
    SYS(pwrite(holes, "A", 1, 0));
    SYS(pwrite(holes, "B", 1, 1L << 30));
    SYS(ftruncate(holes, (1L << 30) + 12345));
    const int empty = SYS(open("/mnt/only-a-hole", O_CREAT | O_RDWR, 0600));
    SYS(ftruncate(empty, 1L << 29));
    const int server = SYS(socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{AF_UNIX, "/mnt/left-behind"};
    SYS(bind(server, reinterpret_cast<sockaddr*>(&address), sizeof(address)));
    SYS(close(server));
    SYS(chmod("/mnt/left-behind", 0642));
    for (const std::string& path : {deep, std::string("/mnt/link"), std::string("/mnt/fifo"), std::string("/mnt/deep"),
                                    std::string("/mnt/holes"), std::string("/mnt")})
        give_times(path, 1'000'000'000);
    std::map<std::string, struct stat> before;
    for (const char* const name :
         {"", "/deep", "/second", "/link", "/fifo", "/device", "/holes", "/only-a-hole", "/left-behind"})
        before[name] = look(std::string("/mnt") + name);
    // The last mount covers all others.
    zdtm::mount_on("/mnt", "tmpfs", "mode=755");

    me.wait_for_check();

    SYS(umount("/mnt"));
    for (const auto& [name, was] : before) {
        const struct stat is = look("/mnt" + name);
        const char* const shown = name.c_str();
        CHECK(is.st_mode == was.st_mode, "%s: mode %o, not %o", shown, is.st_mode, was.st_mode);
        CHECK(is.st_uid == was.st_uid && is.st_gid == was.st_gid, "%s: owner %u:%u", shown, is.st_uid, is.st_gid);
        CHECK(is.st_size == was.st_size, "%s: %ld bytes, not %ld", shown, is.st_size, was.st_size);
        CHECK(is.st_nlink == was.st_nlink, "%s: %lu links, not %lu", shown, static_cast<unsigned long>(is.st_nlink),
              static_cast<unsigned long>(was.st_nlink));
        CHECK(is.st_rdev == was.st_rdev, "%s: device %lx, not %lx", shown, is.st_rdev, was.st_rdev);
        CHECK(is.st_mtim.tv_sec == was.st_mtim.tv_sec && is.st_mtim.tv_nsec == was.st_mtim.tv_nsec,
              "%s: changed at %ld.%09ld, not %ld.%09ld", shown, is.st_mtim.tv_sec, is.st_mtim.tv_nsec,
              was.st_mtim.tv_sec, was.st_mtim.tv_nsec);
        CHECK(is.st_blocks <= was.st_blocks + 16, "%s: %ld blocks, not %ld", shown, is.st_blocks, was.st_blocks);
    }
    CHECK(look(deep).st_ino == look("/mnt/second").st_ino, "it is no link any more");
    char value[8] = {};
    CHECK(getxattr("/mnt/second", "trusted.test", value, sizeof(value)) == 6 && memcmp(value, "val\0ue", 6) == 0, "%s",
          value);
    char target[16] = {};
    SYS(readlink("/mnt/link", target, sizeof(target)));
    CHECK(std::string(target) == "../nowhere", "%s", target);
    char byte = 0;
    SYS(pread(holes, &byte, 1, 1L << 30));
    CHECK(byte == 'B', "%d", byte);
    struct stat opened {};
    SYS(fstat(holes, &opened));
    CHECK(opened.st_ino == look("/mnt/holes").st_ino, "another file is open");
}
