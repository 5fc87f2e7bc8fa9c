// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/mount_tree.hpp"

#include <sys/mount.h>

#include <catch2/catch.hpp>

#include "criu/base/error.hpp"

using namespace criu;
using namespace criu::namespaces;

namespace {

MountTree treeOf(std::string_view text, const std::vector<std::string>& enabled = {}) {
    return MountTree::fromKernel(kernel::MountTable(kernel::parseMountInfo(text)), enabled);
}

constexpr std::string_view kContainer =
    "30 5 254:0 /var/lib/box / rw,relatime master:7 - ext4 /dev/vda rw,discard\n"
    "31 30 0:40 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw\n"
    "32 30 0:41 / /dev rw,nosuid - tmpfs tmpfs rw,size=64k,mode=755\n"
    "33 32 0:42 / /dev/pts rw,nosuid,noexec,relatime shared:9 - devpts devpts rw,gid=5,mode=620,ptmxmode=666\n"
    "34 31 0:40 /sys /proc/sys ro,relatime - proc proc rw\n"
    "35 30 254:0 /var/lib/box/etc//deleted /etc rw,relatime - ext4 /dev/vda rw,discard\n";

}  // namespace

TEST_CASE("mounts of a container from mountinfo") {
    const MountTree tree = treeOf(kContainer);
    REQUIRE(tree.all().size() == 6);
    const Mount& root = tree.root();
    CHECK(root.mountPoint == "/");
    CHECK(root.isTop);
    CHECK(root.root == "/var/lib/box");
    CHECK(root.device == 254U << 20);
    CHECK(root.master == 7);
    CHECK(root.options == "discard");
    CHECK(root.kind.content == FsContent::Unknown);
    CHECK_FALSE(root.isWhole());

    const Mount& dev = *tree.find(32);
    CHECK(dev.kind.code == FSTYPE__TMPFS);
    CHECK(dev.kind.content == FsContent::Files);
    CHECK(dev.options == "size=64k,mode=755");
    CHECK((dev.flags & MS_STRICTATIME) != 0);
    CHECK(dev.isWhole());

    const Mount& deleted = *tree.find(35);
    CHECK(deleted.rootDeleted);
    CHECK(deleted.root == "/var/lib/box/etc");
    CHECK(root.covers(deleted));
    CHECK_FALSE(deleted.covers(root));
    CHECK(tree.find(31)->covers(*tree.find(34)));
}

TEST_CASE("flags of file systems are kept apart from options") {
    const MountTree tree = treeOf("1 0 0:5 / / ro,noatime - tmpfs x ro,sync,seclabel,size=4k\n");
    CHECK(tree.root().superFlags == (MS_RDONLY | MS_SYNCHRONOUS));
    CHECK(tree.root().options == "size=4k");
    CHECK(tree.root().flags == (MS_RDONLY | MS_NOATIME));
}

TEST_CASE("file systems by name") {
    const std::vector<std::string> some{"ext4"};
    const std::vector<std::string> all{"all"};
    CHECK(fsKindOf("ext4", {}).content == FsContent::Unknown);
    CHECK(fsKindOf("ext4", some).content == FsContent::Storage);
    CHECK(fsKindOf("xfs", some).content == FsContent::Unknown);
    CHECK(fsKindOf("xfs", all).code == FSTYPE__AUTO);
    CHECK(fsKindOf("tmpfs", all).code == FSTYPE__TMPFS);
    CHECK(fsKindOf("fuse.sshfs", {}).code == FSTYPE__FUSE);
    CHECK(fsKindOf("fuse.sshfs", {}).content == FsContent::Unknown);
}

TEST_CASE("parents come before children, whatever the order") {
    const MountTree tree = treeOf(
        "12 11 0:7 / /a/b rw - tmpfs x rw\n"
        "11 10 0:6 / /a rw - tmpfs x rw\n"
        "10 1 0:5 / / rw - tmpfs x rw\n");
    CHECK(tree.all()[0].id == 10);
    CHECK(tree.all()[1].id == 11);
    CHECK(tree.all()[2].id == 12);
}

TEST_CASE("what isn't a tree") {
    CHECK_THROWS_AS(treeOf("1 2 0:5 / / rw - tmpfs x rw\n2 1 0:5 / /a rw - tmpfs x rw\n"), Error);
    CHECK_THROWS_AS(treeOf("1 9 0:5 / / rw - tmpfs x rw\n2 8 0:5 / /a rw - tmpfs x rw\n"), Error);
    CHECK_THROWS_AS(treeOf("1 9 0:5 / / rw - tmpfs x rw\n1 9 0:5 / / rw - tmpfs x rw\n"), Error);
}

TEST_CASE("paths lead to the mount that was mounted last") {
    const MountTree tree = treeOf(
        "10 1 0:5 / / rw - tmpfs root rw\n"
        "11 10 0:6 / /a/b rw - tmpfs hidden rw\n"
        "12 10 0:7 / /a rw - tmpfs cover rw\n"
        "13 12 0:8 / /a rw - tmpfs twice rw\n"
        "14 13 0:9 / /a/b rw - tmpfs inner rw\n");
    const MountPaths paths(tree);
    CHECK(paths.lookUp("/").id == 10);
    CHECK(paths.lookUp("/a").id == 13);
    CHECK(paths.lookUp("/a/b/c").id == 14);
    CHECK(paths.lookUp("/ab").id == 10);
    CHECK_FALSE(paths.isReachable(*tree.find(11)));
    CHECK_FALSE(paths.isReachable(*tree.find(12)));
    CHECK(paths.isReachable(*tree.find(14)));
    // In this order, no mount covers the place of another.
    const auto children = tree.children().at(tree.root().id);
    REQUIRE(children.size() == 2);
    CHECK(children[0]->id == 11);
}

TEST_CASE("paths lead to the nearest mounts, which are crossed one after the other") {
    const MountTree tree = treeOf(
        "1 0 0:1 / / rw - tmpfs a rw\n"
        "2 1 0:2 / /a rw - tmpfs a rw\n"
        "3 2 0:3 / /a/b rw - tmpfs a rw\n"
        "4 2 0:4 / /a rw - tmpfs a rw\n"
        "5 4 0:5 / /a rw - tmpfs a rw\n"
        "6 1 0:6 / /ab rw - tmpfs a rw\n"
        "7 5 0:7 / /a/b/c rw - tmpfs a rw\n");
    const MountPaths paths(tree);
    const std::pair<const char*, int> expected[] = {{"/", 1},      {"/a", 5},       {"/a/b", 5},
                                                    {"/a/b/c", 7}, {"/a/b/c/d", 7}, {"/ab", 6},
                                                    {"/ab/c", 6},  {"/b", 1},       {"/abc", 1}};
    for (const auto& [path, id] : expected)
        CHECK(paths.lookUp(path).id == id);
    CHECK_FALSE(paths.isReachable(*tree.find(3)));
    CHECK(paths.isReachable(*tree.find(7)));
}

TEST_CASE("a mount on the root covers all others") {
    const MountTree tree = treeOf(
        "1 0 0:1 / / rw - tmpfs a rw\n"
        "2 1 0:2 / /a rw - tmpfs a rw\n"
        "3 1 0:3 / / rw - tmpfs a rw\n"
        "4 3 0:4 / /a/b rw - tmpfs a rw\n");
    const MountPaths paths(tree);
    CHECK(paths.lookUp("/").id == 3);
    CHECK(paths.lookUp("/a").id == 3);
    CHECK(paths.lookUp("/a/b").id == 4);
    CHECK_FALSE(paths.isReachable(*tree.find(2)));
}

TEST_CASE("10,000 mounts in each other are a tree like any other") {
    constexpr int kDepth = 10'000;
    std::string text = "1 0 0:5 / / rw - tmpfs x rw\n";
    for (int id = 2; id <= kDepth; ++id)
        text += fmt::format("{} {} 0:{} / /a rw - tmpfs x rw\n", id, id - 1, id + 4);
    const MountTree tree = treeOf(text);
    CHECK(tree.all().back().id == kDepth);
    CHECK(MountPaths(tree).lookUp("/a/file").id == kDepth);
    CHECK(tree.children().at(kDepth - 1).size() == 1);
}

TEST_CASE("a hundred thousand mounts beside each other are found, and paths lead to them") {
    constexpr int kCount = 100'000;
    std::string text = "1 0 0:5 / / rw - tmpfs x rw\n";
    for (int id = 2; id <= kCount; ++id)
        text += fmt::format("{} 1 0:5 /of/{} /on/{} rw - tmpfs x rw\n", id, id, id);
    MountTree tree = treeOf(text);
    const MountPaths paths(tree);
    int reachable = 0;
    for (int id = 1; id <= kCount; ++id)
        reachable += paths.isReachable(*tree.find(id)) ? 1 : 0;
    CHECK(reachable == kCount);
    CHECK(tree.children().at(1).size() == kCount - 1);
    tree.remove([](const Mount& mount) { return mount.id % 2 == 0; });
    CHECK(tree.find(2) == nullptr);
    CHECK(tree.find(kCount - 1)->mountPoint == fmt::format("/on/{}", kCount - 1));
}

TEST_CASE("mounts that are left out take those below them with them") {
    MountTree tree = treeOf(kContainer);
    tree.remove([](const Mount& mount) { return mount.mountPoint == "/proc"; });
    CHECK(tree.all().size() == 4);
    CHECK(tree.find(34) == nullptr);
}

TEST_CASE("mounts survive their image") {
    const std::vector<std::string> enabled;
    const MountTree tree = treeOf(kContainer);
    Arena arena;
    std::vector<const MntEntry*> entries;
    for (const Mount& mount : tree.all())
        entries.push_back(entryOf(mount, arena));
    CHECK(entries[0]->flags == (MS_RELATIME | MS_SLAVE));
    const MountTree again = MountTree::fromImage(entries, enabled);
    REQUIRE(again.all().size() == tree.all().size());
    for (const Mount& mount : tree.all()) {
        const Mount& other = *again.find(mount.id);
        CHECK(other.parentId == mount.parentId);
        CHECK(other.mountPoint == mount.mountPoint);
        CHECK(other.root == mount.root);
        CHECK(other.rootDeleted == mount.rootDeleted);
        CHECK(other.flags == mount.flags);
        CHECK(other.shared == mount.shared);
        CHECK(other.master == mount.master);
        CHECK(other.options == mount.options);
        CHECK(other.kind.code == mount.kind.code);
    }
}

TEST_CASE("paths below others") {
    CHECK(pathBelow("/", "/a/b") == "a/b");
    CHECK(pathBelow("/a", "/a/b") == "b");
    CHECK(pathBelow("/a", "/a") == "");
    CHECK_FALSE(pathBelow("/a", "/ab"));
    CHECK_FALSE(pathBelow("/a/b", "/a"));
}

TEST_CASE("--lsm-mount-context replaces the context of mounts that have one") {
    const std::string context = "system_u:object_r:container_file_t:s0:c3,c4";
    CHECK(withMountContext("", context).empty());
    CHECK(withMountContext("size=64k,mode=755", context) == "size=64k,mode=755");
    CHECK(withMountContext("context=\"u:r:t:s0:c1,c2\",size=64k", context) == "context=\"" + context + "\",size=64k");
    CHECK(withMountContext("size=64k,context=u:r:t:s0", context) == "size=64k,context=\"" + context + "\"");
    CHECK(withMountContext("rootcontext=u:r:t:s0", context) == "rootcontext=u:r:t:s0");
}
