// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2(from-other) the program itself is on a mount outside of the namespace
// zdtm: restore-options --root /
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <vector>

#include "zdtm.hpp"

// The tmpfs has enough content that criu stores file bytes apart from the archive.
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kLarge = (std::size_t{20} << 20) + 1234;
constexpr std::size_t kSmallFiles = 300;
constexpr off_t kFar = off_t{1} << 40;

/// Returns pseudo-random content, which differs between files and offsets.
std::vector<char> noise(std::uint64_t seed, std::size_t bytes) {
    std::vector<char> content(bytes);
    std::uint64_t state = seed * 0x9e3779b97f4a7c15 + 1;
    for (char& byte : content) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        byte = static_cast<char>(state >> 32);
    }
    return content;
}

std::string smallName(std::size_t number) {
    return "/mnt/many/of them/" + std::to_string(number);
}

/// Returns sizes from zero to a little more than four pages.
std::size_t smallSize(std::size_t number) {
    return number * 61;
}

int make(const std::string& name, const std::vector<char>& content, mode_t mode = 0600) {
    const int file = SYS(open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    CHECK(write(file, content.data(), content.size()) == static_cast<ssize_t>(content.size()), "%s", strerror(errno));
    return file;
}

void check(const std::string& name, const std::vector<char>& content) {
    const int file = SYS(open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOATIME));
    struct stat stat {};
    SYS(fstat(file, &stat));
    CHECK(stat.st_size == static_cast<off_t>(content.size()), "%s has %jd bytes", name.c_str(), intmax_t{stat.st_size});
    std::vector<char> found(content.size());
    CHECK(read(file, found.data(), found.size()) == static_cast<ssize_t>(found.size()), "%s is too short",
          name.c_str());
    CHECK(found == content, "%s has another content", name.c_str());
    SYS(close(file));
}

struct stat statOf(const std::string& name) {
    struct stat stat {};
    SYS(lstat(name.c_str(), &stat));
    return stat;
}

void checkSame(const std::string& name, const struct stat& before) {
    const struct stat now = statOf(name);
    CHECK(now.st_mode == before.st_mode && now.st_uid == before.st_uid && now.st_gid == before.st_gid &&
              now.st_nlink == before.st_nlink && now.st_size == before.st_size,
          "%s is another kind of file", name.c_str());
    CHECK(now.st_mtim.tv_sec == before.st_mtim.tv_sec && now.st_mtim.tv_nsec == before.st_mtim.tv_nsec,
          "%s has another time", name.c_str());
    CHECK(now.st_blocks <= before.st_blocks, "%s has lost its holes: %jd blocks instead of %jd", name.c_str(),
          intmax_t{now.st_blocks}, intmax_t{before.st_blocks});
}

}  // namespace

ZDTM("a tmpfs with much content: large, small, sparse, linked and privileged files") {
    SYS(unshare(CLONE_NEWNS));
    SYS(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    SYS(mount("data", "/mnt", "tmpfs", 0, "size=128m"));
    SYS(mkdir("/mnt/many", 0700));
    SYS(mkdir("/mnt/many/of them", 0701));
    for (std::size_t number = 0; number < kSmallFiles; ++number)
        SYS(close(make(smallName(number), noise(number, smallSize(number)))));
    const int large = make("/mnt/large", noise(1000, kLarge), 0640);
    SYS(fchown(large, 7, 8));
    SYS(lseek(large, 5000, SEEK_SET));
    SYS(link("/mnt/large", "/mnt/many/the same"));
    SYS(setxattr("/mnt/large", "trusted.mark", "value", 5, 0));
    const int sparse = make("/mnt/sparse", {});
    SYS(ftruncate(sparse, kFar + 100));
    const std::vector<char> piece = noise(1001, 3 * kPage);
    SYS(pwrite(sparse, piece.data(), piece.size(), 10 * kPage));
    SYS(pwrite(sparse, piece.data(), 100, kFar));
    const int zeros = make("/mnt/zeros", std::vector<char>(2 * kLarge));
    const int privileged = make("/mnt/privileged", noise(1002, 3 * kPage), 0755);
    SYS(fchmod(privileged, 04755));
    const int capable = make("/mnt/capable", noise(1003, kPage), 0755);
    vfs_cap_data capability{};
    capability.magic_etc = VFS_CAP_REVISION_2;
    capability.data[0].permitted = 1U << CAP_NET_RAW;
    SYS(fsetxattr(capable, "security.capability", &capability, XATTR_CAPS_SZ_2, 0));
    const int readOnly = make("/mnt/read only", noise(1004, kPage + 1), 0400);
    const std::array<std::string, 7> all{"/mnt/large",   "/mnt/sparse",    "/mnt/zeros",       "/mnt/privileged",
                                         "/mnt/capable", "/mnt/read only", "/mnt/many/of them"};
    std::vector<struct stat> before;
    std::transform(all.begin(), all.end(), std::back_inserter(before), statOf);

    me.wait_for_check();

    for (std::size_t at = 0; at < all.size(); ++at)
        checkSame(all[at], before[at]);
    for (std::size_t number = 0; number < kSmallFiles; ++number)
        check(smallName(number), noise(number, smallSize(number)));
    check("/mnt/large", noise(1000, kLarge));
    check("/mnt/many/the same", noise(1000, kLarge));
    CHECK(lseek(large, 0, SEEK_CUR) == 5000, "another position");
    char value[64] = {};
    CHECK(getxattr("/mnt/large", "trusted.mark", value, sizeof(value)) == 5 && std::string(value) == "value", "%s",
          value);
    std::vector<char> found(piece.size());
    SYS(pread(sparse, found.data(), found.size(), 10 * kPage));
    CHECK(found == piece, "another content between holes");
    found.resize(100);
    CHECK(pread(sparse, found.data(), kPage, kFar) == 100, "another end");
    CHECK(std::equal(found.begin(), found.end(), piece.begin()), "another content at the end");
    check("/mnt/zeros", std::vector<char>(2 * kLarge));
    check("/mnt/privileged", noise(1002, 3 * kPage));
    check("/mnt/capable", noise(1003, kPage));
    CHECK(getxattr("/mnt/capable", "security.capability", value, sizeof(value)) == XATTR_CAPS_SZ_2,
          "it has lost its capability");
    check("/mnt/read only", noise(1004, kPage + 1));
    for (const int file : {large, sparse, zeros, privileged, capable, readOnly})
        SYS(close(file));
}
