// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/mount_sources.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <deque>

using namespace criu::namespaces;

namespace {

/// Mounts, some of which may be external.
struct Mounts {
    const Mount& add(std::uint32_t device, const std::string& root, int shared = 0, bool deleted = false) {
        Mount& mount = all.emplace_back();
        mount.id = static_cast<int>(all.size());
        mount.device = device;
        mount.root = root;
        mount.shared = shared;
        mount.rootDeleted = deleted;
        list.push_back(&mount);
        return mount;
    }
    [[nodiscard]] MountSources sources(const Mount* given = nullptr) const {
        return {list, [given](const Mount& mount) { return &mount == given; }};
    }

    std::deque<Mount> all;
    std::vector<const Mount*> list;
};

}  // namespace

TEST_CASE("the directories of a path, from the root down") {
    const auto sizesOf = [](std::string_view path) {
        std::vector<std::size_t> sizes;
        for (const PathPrefix& prefix : prefixesOf(path))
            sizes.push_back(prefix.size);
        return sizes;
    };
    CHECK(sizesOf("/") == std::vector<std::size_t>{0});
    CHECK(sizesOf("/a") == std::vector<std::size_t>{0, 2});
    CHECK(sizesOf("/a/bc") == std::vector<std::size_t>{0, 2, 5});
    CHECK(sizesOf("net:[1]") == std::vector<std::size_t>{7});
    CHECK(prefixesOf("/a/b")[1].hash == prefixesOf("/a")[1].hash);
    CHECK(prefixesOf("/a/b")[2].hash != prefixesOf("/b/a")[2].hash);
}

TEST_CASE("values of paths belong to their owner") {
    PathMap<int> map;
    map.make(1, "/a/b") = 7;
    const std::string_view path = "/a/b/c";
    const auto prefixes = prefixesOf(path);
    REQUIRE(map.find(1, path, prefixes[2]) != nullptr);
    CHECK(*map.find(1, path, prefixes[2]) == 7);
    CHECK(map.find(1, path, prefixes[1]) == nullptr);
    CHECK(map.find(1, path, prefixes[3]) == nullptr);
    CHECK(map.find(2, path, prefixes[2]) == nullptr);
    map.make(1, "/a/b") = 8;
    CHECK(*map.find(1, path, prefixes[2]) == 8);
}

TEST_CASE("the directory above two paths") {
    CHECK(commonDirectory("/a/b", "/a/c") == "/a");
    CHECK(commonDirectory("/a/b", "/a/bc") == "/a");
    CHECK(commonDirectory("/a/b", "/a/b/c") == "/a/b");
    CHECK(commonDirectory("/a/b/c", "/a/b") == "/a/b");
    CHECK(commonDirectory("/a", "/b").empty());
    CHECK(commonDirectory("/", "/b").empty());
}

TEST_CASE("a mount is made from the first that shows what it does") {
    Mounts mounts;
    const Mount& part = mounts.add(5, "/a/b");
    const Mount& other = mounts.add(6, "/");
    const Mount& whole = mounts.add(5, "/");
    const Mount& nearer = mounts.add(5, "/a");
    MountSources sources = mounts.sources();
    CHECK(sources.isAwaited(part));
    CHECK_FALSE(sources.isAwaited(whole));
    sources.noteMade(other);
    CHECK(sources.find(5, "/a/b") == nullptr);
    sources.noteMade(nearer);
    CHECK(sources.find(5, "/a/b") == &nearer);
    CHECK(sources.find(5, "/ab") == nullptr);
    sources.noteMade(whole);
    CHECK(sources.find(5, "/a/b") == &whole);
    CHECK(sources.find(5, "/ab") == &whole);
    CHECK_FALSE(sources.isAwaited(part));
    CHECK(sources.find(6, "/x") == &other);
}

TEST_CASE("of two that show the same, the one that is given is waited for") {
    Mounts mounts;
    const Mount& one = mounts.add(5, "/a");
    const Mount& two = mounts.add(5, "/a");
    CHECK_FALSE(mounts.sources().isAwaited(one));
    MountSources sources = mounts.sources(&two);
    CHECK(sources.isAwaited(one));
    CHECK_FALSE(sources.isAwaited(two));
    sources.noteMade(two);
    CHECK_FALSE(sources.isAwaited(one));
    CHECK(sources.find(5, "/a") == &two);
}

TEST_CASE("nothing is made from a deleted directory, which itself needs one that isn't") {
    Mounts mounts;
    const Mount& deleted = mounts.add(5, "/a", 0, true);
    const Mount& there = mounts.add(5, "/a");
    MountSources sources = mounts.sources();
    CHECK(sources.isAwaited(deleted));
    sources.noteMade(there);
    CHECK(sources.find(5, "/a") == &there);
    MountSources others = mounts.sources();
    others.noteMade(deleted);
    CHECK(others.find(5, "/a") == nullptr);
}

TEST_CASE("what all of a peer group show") {
    Mounts mounts;
    const Mount& one = mounts.add(5, "/a/b/c", 1);
    mounts.add(5, "/a/b/d", 1);
    mounts.add(5, "/a/x", 2);
    mounts.add(6, "/", 1);
    CHECK(mounts.sources().commonOf(one) == "/a/b");
    CHECK(mounts.sources().commonOf(*mounts.list[2]) == "/a/x");
    CHECK(mounts.sources().commonOf(*mounts.list[3]) == "/");
}

TEST_CASE("a hundred thousand mounts of parts of one file system find what they are made from") {
    constexpr int kCount = 100'000;
    Mounts mounts;
    for (int number = 1; number < kCount; ++number)
        mounts.add(5, fmt::format("/of/{}", number), number % 1000);
    const Mount& whole = mounts.add(5, "/");
    MountSources sources = mounts.sources();
    int awaited = 0;
    for (const Mount* const mount : mounts.list)
        awaited += sources.isAwaited(*mount) ? 1 : 0;
    CHECK(awaited == kCount - 1);
    sources.noteMade(whole);
    int found = 0;
    for (const Mount* const mount : mounts.list) {
        found += sources.find(mount->device, mount->root) != nullptr ? 1 : 0;
        if (mount != &whole)
            sources.noteMade(*mount);
    }
    CHECK(found == kCount);
    CHECK(sources.commonOf(*mounts.list.front()) == "/of");
}
