// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes packing-stopped
// zdtm: restore-options --root /
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include <vector>

#include "zdtm.hpp"

namespace {

constexpr std::size_t kFiles = 4;
constexpr std::size_t kFileSize = std::size_t{24} << 20;

/// Returns content that compression can't shrink.
std::vector<std::uint64_t> noise(std::uint64_t seed) {
    std::vector<std::uint64_t> words(kFileSize / sizeof(std::uint64_t));
    std::uint64_t state = seed * 0x9e3779b97f4a7c15 + 1;
    for (std::uint64_t& word : words) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        word = state;
    }
    return words;
}

std::string name(std::size_t file) {
    return "/mnt/file" + std::to_string(file);
}

}  // namespace

ZDTM("a dump that gets SIGTERM or SIGKILL while it packs a large tmpfs does not pack the rest") {
    SYS(unshare(CLONE_NEWNS));
    SYS(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    SYS(mount("data", "/mnt", "tmpfs", 0, "size=128m"));
    for (std::size_t i = 0; i < kFiles; ++i) {
        const std::vector<std::uint64_t> content = noise(i);
        const int file = SYS(open(name(i).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
        CHECK(write(file, content.data(), kFileSize) == static_cast<ssize_t>(kFileSize), "%s", strerror(errno));
        SYS(close(file));
    }

    me.wait_for_check();

    std::vector<std::uint64_t> found(kFileSize / sizeof(std::uint64_t));
    for (std::size_t i = 0; i < kFiles; ++i) {
        const int file = SYS(open(name(i).c_str(), O_RDONLY | O_CLOEXEC));
        CHECK(read(file, found.data(), kFileSize) == static_cast<ssize_t>(kFileSize), "file %zu is too short", i);
        CHECK(found == noise(i), "file %zu has another content", i);
        SYS(close(file));
    }
}
