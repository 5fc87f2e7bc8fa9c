// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <string>

#include "criu/files/path_open.hpp"
#include "images/regfile.hpp"

using criu::UniqueFd;
using criu::files::OpenedPaths;
using criu::files::PathCheck;

namespace {

/// Paths whose descriptors move to numbers from 500 on.
class Paths {
public:
    Paths()
        : opened_([this](const UniqueFd& file) {
              ++kept_;
              return UniqueFd(::fcntl(file.get(), F_DUPFD_CLOEXEC, 500));
          }) {}

    void add(const std::string& path) { add(entry_, path, O_RDONLY, PathCheck::Same); }
    void add(const RegFileEntry& entry, const std::string& path, int flags, PathCheck check) {
        opened_.add(entry, path, flags, check, UniqueFd(::open("/", O_PATH | O_CLOEXEC)));
    }
    [[nodiscard]] int find(const std::string& path) const { return find(entry_, path, O_RDONLY, PathCheck::Same); }
    [[nodiscard]] int find(const RegFileEntry& entry, const std::string& path, int flags, PathCheck check) const {
        return opened_.find(entry, path, flags, check);
    }
    void clear() { opened_.clear(); }
    [[nodiscard]] int kept() const { return kept_; }

private:
    RegFileEntry entry_ = REG_FILE_ENTRY__INIT;
    int kept_ = 0;
    OpenedPaths opened_;
};

}  // namespace

TEST_CASE("the descriptor of a path is kept when the path is opened for the second time") {
    Paths paths;
    CHECK(paths.find("/a") == -1);
    paths.add("/a");
    CHECK(paths.find("/a") == -1);
    CHECK(paths.kept() == 0);
    paths.add("/a");
    const int file = paths.find("/a");
    CHECK(file >= 500);
    CHECK(paths.find("/b") == -1);
    paths.add("/a");
    CHECK(paths.find("/a") == file);
    CHECK(paths.kept() == 1);
}

TEST_CASE("a kept descriptor serves only for the same flags, check, mode and size") {
    RegFileEntry entry = REG_FILE_ENTRY__INIT;
    entry.has_mode = entry.has_size = 1;
    entry.mode = 0644;
    entry.size = 10;
    Paths paths;
    paths.add(entry, "/a", O_RDONLY, PathCheck::Same);
    paths.add(entry, "/a", O_RDONLY, PathCheck::Same);
    CHECK(paths.find(entry, "/a", O_RDONLY, PathCheck::Same) >= 0);
    CHECK(paths.find(entry, "/a", O_NOFOLLOW, PathCheck::Same) == -1);
    CHECK(paths.find(entry, "/a", O_RDONLY, PathCheck::Nothing) == -1);
    const auto isFound = [&](auto change) {
        RegFileEntry other = entry;
        change(other);
        return paths.find(other, "/a", O_RDONLY, PathCheck::Same) != -1;
    };
    CHECK(isFound([](RegFileEntry& /*same*/) {}));
    CHECK_FALSE(isFound([](RegFileEntry& other) { other.mode = 0600; }));
    CHECK_FALSE(isFound([](RegFileEntry& other) { other.has_mode = 0; }));
    CHECK_FALSE(isFound([](RegFileEntry& other) { other.size = 11; }));
    CHECK_FALSE(isFound([](RegFileEntry& other) { other.has_size = 0; }));
}

TEST_CASE("eight descriptors of paths are kept until they are cleared") {
    Paths paths;
    const auto add = [&](char name) {
        const std::string path{'/', name};
        paths.add(path);
        paths.add(path);
        return paths.find(path) != -1;
    };
    for (const char name : std::string("abcdefgh"))
        CHECK(add(name));
    CHECK_FALSE(add('i'));
    CHECK(paths.find("/a") != -1);
    const int file = paths.find("/a");
    paths.clear();
    CHECK(paths.find("/a") == -1);
    CHECK(::fcntl(file, F_GETFD) == -1);
    CHECK(add('i'));
}
