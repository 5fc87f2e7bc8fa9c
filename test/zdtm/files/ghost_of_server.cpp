// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, five
// zdtm: dump-options --link-remap
// zdtm: not-in lazy-killed
// zdtm: strangers yes
#include <fcntl.h>
#include <linux/sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <atomic>

#include "fuse.hpp"
#include "fuse_files.hpp"
#include "zdtm.hpp"

namespace {

constexpr char kText[] = "precious";

int created(const char* path, int access, mode_t mode) {
    const int file = SYS(open(path, access | O_CREAT, mode));
    CHECK(write(file, kText, sizeof(kText)) == sizeof(kText), "%s", strerror(errno));
    return file;
}

std::string content(int file) {
    char text[sizeof(kText) + 1] = {};
    SYS(pread(file, text, sizeof(text), 0));
    return text;
}

}  // namespace

ZDTM("deleted files on FUSE, whose server drops a deleted file when its last descriptor is closed") {
    auto& ending = *reinterpret_cast<std::atomic<bool>*>(
        zdtm::map(4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS).data());
    const int server = zdtm::mount_fuse("/mnt");
    if (SYS(syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)) == 0) {
        SYS(setsid());  // leaves the session, whose id the restore needs
        zdtm::serve_files(server, ending);
        _exit(0);
    }
    SYS(close(server));
    const int ghost = created("/mnt/ghost", O_RDWR, 0644);
    SYS(unlink("/mnt/ghost"));
    const int append_only = created("/mnt/log", O_WRONLY | O_APPEND, 0200);
    SYS(unlink("/mnt/log"));
    const int mapped = created("/mnt/mapped", O_RDWR, 0600);
    const auto* const memory = reinterpret_cast<const char*>(zdtm::map(4096, PROT_READ, MAP_PRIVATE, mapped).data());
    SYS(close(mapped));
    SYS(unlink("/mnt/mapped"));
    const int named = created("/mnt/name", O_RDWR, 0644);
    SYS(link("/mnt/name", "/mnt/other"));
    SYS(unlink("/mnt/name"));
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        const int own = created("/mnt/of_child", O_RDWR, 0644);
        SYS(unlink("/mnt/of_child"));
        task.wait_for_check();
        CHECK(content(own) == kText, "the child's file: %s", content(own).c_str());
        CHECK(content(ghost) == kText, "the shared file: %s", content(ghost).c_str());
    });
    me.wait_for_check();

    me.finish(child);
    CHECK(content(ghost) == kText, "got %s", content(ghost).c_str());
    CHECK(SYS(lseek(ghost, 0, SEEK_CUR)) == sizeof(kText), "another position");
    CHECK(pwrite(ghost, "P", 1, 0) == 1 && content(ghost) == "Precious", "got %s", content(ghost).c_str());
    CHECK(write(append_only, "!", 1) == 1, "%s", strerror(errno));
    struct stat status {};
    SYS(fstat(append_only, &status));
    CHECK(status.st_size == sizeof(kText) + 1, "%ld bytes", static_cast<long>(status.st_size));
    CHECK(strcmp(memory, kText) == 0, "mapped: %s", memory);
    CHECK(pwrite(named, "P", 1, 0) == 1, "%s", strerror(errno));
    CHECK(zdtm::read_file("/mnt/other") == std::string("Precious") + '\0', "the other name: %s",
          zdtm::read_file("/mnt/other").c_str());
    for (const char* const path : {"/mnt/ghost", "/mnt/log", "/mnt/mapped", "/mnt/name", "/mnt/of_child"})
        CHECK(access(path, F_OK) == -1 && errno == ENOENT, "%s is there", path);
    ending = true;
    SYS(umount2("/mnt", MNT_DETACH));
}
