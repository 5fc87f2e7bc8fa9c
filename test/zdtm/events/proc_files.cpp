// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/stat.h>

#include <string>

#include "zdtm.hpp"

namespace {

int open_of(pid_t pid, const char* name) {
    return SYS(open(("/proc/" + std::to_string(pid) + name).c_str(), O_RDONLY));
}

}  // namespace

ZDTM("open files in /proc of the process, of a grandchild, and of a process that has ended") {
    const int own = open_of(getpid(), "/comm");
    char text[64] = {};
    const std::span<std::byte> memory =
        zdtm::map(zdtm::page_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    auto* const grandchild = reinterpret_cast<volatile pid_t*>(memory.data());
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        const pid_t below = task.start_child([&](zdtm::Task& last) { last.wait_for_check(); });
        *grandchild = below;
        task.wait_for_check();
        task.finish(below);
    });
    const int of_grandchild = open_of(*grandchild, "/status");
    const pid_t gone = SYS(fork());
    if (gone == 0) {
        me.wait_trigger();
        _exit(0);
    }
    const int directory_of_gone = open_of(gone, "");
    const int file_of_gone = open_of(gone, "/stat");
    zdtm::kill_and_reap(gone);
    me.wait_for_check();

    CHECK(pread(own, text, sizeof text - 1, 0) > 0 && strcmp(text, "proc_files\n") == 0, "comm is %s", text);
    std::string status(4096, '\0');
    CHECK(pread(of_grandchild, status.data(), status.size(), 0) > 0, "%s", strerror(errno));
    CHECK(status.find("\nPid:\t" + std::to_string(*grandchild) + "\n") != std::string::npos, "%s", status.c_str());
    CHECK(openat(directory_of_gone, "stat", O_RDONLY) == -1 && (errno == ENOENT || errno == ESRCH), "%s",
          strerror(errno));
    CHECK(read(file_of_gone, text, sizeof text) == -1 && errno == ESRCH, "%s", strerror(errno));
    me.finish(child);
}
