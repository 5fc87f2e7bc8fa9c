// SPDX-License-Identifier: GPL-2.0-only
// Program with a private mount namespace. It contains a mount that criu offers to plugins first: a part of a file
// system whose other parts aren't mounted any more. Prints READY; on SIGTERM prints PASS if the plugin's mount exists,
// or FAIL and the reason.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

void require(int result, const char* what) {
    if (result >= 0)
        return;
    std::printf("FAIL %s: %s\n", what, std::strerror(errno));
    std::exit(1);
}

}  // namespace

int main() {
    std::setvbuf(stdout, nullptr, _IONBF, 0);
    sigset_t signals;
    ::sigemptyset(&signals);
    ::sigaddset(&signals, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &signals, nullptr);
    require(::unshare(CLONE_NEWNS), "unshare");
    require(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "make mounts private");
    require(::mount("none", "/mnt", "tmpfs", 0, nullptr), "mount a tmpfs");
    require(::mkdir("/mnt/whole", 0700), "mkdir");
    require(::mkdir("/mnt/example", 0700), "mkdir");
    require(::mount("none", "/mnt/whole", "tmpfs", 0, nullptr), "mount another");
    require(::mkdir("/mnt/whole/part", 0700), "mkdir");
    require(::mount("/mnt/whole/part", "/mnt/example", nullptr, MS_BIND, nullptr), "bind a part of it");
    require(::umount("/mnt/whole"), "umount");
    require(::close(::open("/mnt/example/original", O_CREAT | O_WRONLY, 0600)), "create a file");
    std::printf("READY\n");
    int signal = 0;
    ::sigwait(&signals, &signal);
    const bool original = ::access("/mnt/example/original", F_OK) == 0;
    const bool made = ::access("/mnt/example/made-by-plugin", F_OK) == 0;
    std::printf("%s\n", made ? "PASS made by the plugin" : original ? "PASS original" : "FAIL neither is there");
    return 0;
}
