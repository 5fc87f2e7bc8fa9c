// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes held-later
// zdtm: strangers yes
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <atomic>
#include <filesystem>

#include "fuse.hpp"
#include "zdtm.hpp"

ZDTM(
    "a FUSE server outside of the tree that takes a request of a pre-dump or restore and never answers doesn't block "
    "criu forever") {
    auto& ending = *reinterpret_cast<std::atomic<bool>*>(
        zdtm::map(4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS).data());
    const int server = zdtm::mount_fuse("/mnt");
    // This process is a sibling of the tree: a child of the root's parent. It ends with the file system.
    if (SYS(syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)) == 0) {
        SYS(setsid());  // leaves the session, whose id the restore needs
        zdtm::serve_as_told(server, ending, std::filesystem::current_path());
        _exit(0);
    }
    SYS(close(server));
    const int file = SYS(open("/mnt/file", O_RDONLY));
    const int directory = SYS(open("/mnt", O_RDONLY | O_DIRECTORY));
    // A restore binds the socket to its old name, which leads through a symbolic link of the FUSE file system.
    const int socket = SYS(::socket(AF_UNIX, SOCK_DGRAM, 0));
    const sockaddr_un address{AF_UNIX, "/mnt/away/socket"};
    SYS(bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
    me.wait_for_check();

    char text[16] = {};
    CHECK(SYS(pread(file, text, sizeof(text), 0)) == 6 && strcmp(text, zdtm::kFuseContent) == 0, "got %s", text);
    SYS(close(file));
    SYS(close(directory));
    SYS(close(socket));
    SYS(unlink("socket"));
    SYS(umount2("/mnt", MNT_DETACH));
}
