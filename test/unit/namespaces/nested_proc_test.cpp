// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/pid/nested_proc.hpp"

#include <catch2/catch.hpp>

#include "criu/base/error.hpp"

using namespace criu;
using namespace criu::namespaces;

namespace {

/// Returns mounts of a namespace. Device 0:40 is the proc file system of a nested pid namespace.
MountTree treeOf(const std::string& text) {
    MountTree tree = MountTree::fromKernel(
        kernel::MountTable(kernel::parseMountInfo("1 1 254:0 / / rw - ext4 /dev/vda rw\n" + text)), {});
    for (Mount& mount : tree.all())
        if (mount.device == 40)
            mount.pidsOf = TreePid(7);
    return tree;
}

void require(const std::string& text, const std::string& other = "") {
    const MountTree one = treeOf(text);
    const MountTree another = treeOf(other);
    const MountTree* const trees[] = {&one, &another};
    requireExchangeable(trees);
}

const std::string kProc = "31 1 0:40 / /proc rw - proc proc rw\n";

}  // namespace

TEST_CASE("a proc file system with what containers mount on it can be exchanged") {
    CHECK_NOTHROW(require(""));
    CHECK_NOTHROW(require(kProc));
    CHECK_NOTHROW(require(kProc + "32 31 0:40 /sys /proc/sys ro - proc proc rw\n"
                                  "33 31 0:5 /null /proc/kcore rw - devtmpfs dev rw\n"
                                  "34 31 0:41 / /proc/acpi ro - tmpfs tmpfs ro\n"));
    // The mount covers a proc file system of the parent namespace.
    CHECK_NOTHROW(require("30 1 0:39 / /proc rw - proc proc rw\n31 30 0:40 / /proc rw - proc proc rw\n"));
}

TEST_CASE("a covered proc file system can't be exchanged, nor a covered mount on one") {
    CHECK_THROWS_AS(require(kProc + "32 31 0:41 / /proc rw - tmpfs tmpfs rw\n"), Error);
    CHECK_THROWS_AS(require(kProc + "32 31 0:41 / /proc/acpi rw - tmpfs tmpfs rw\n"
                                    "33 32 0:42 / /proc/acpi rw - tmpfs tmpfs rw\n"),
                    Error);
}

TEST_CASE("what belongs to a process in a proc file system can't be exchanged") {
    CHECK_THROWS_AS(require(kProc + "32 1 0:40 /1/ns /mnt rw - proc proc rw\n"), Error);
    CHECK_THROWS_AS(require(kProc + "32 31 0:41 / /proc/1/task rw - tmpfs tmpfs rw\n"), Error);
}

TEST_CASE("events come from another mount of a proc file system that is exchanged, and go no further") {
    CHECK_NOTHROW(
        require("31 1 0:40 / /proc rw shared:3 - proc proc rw\n", "41 1 0:40 / /proc rw master:3 - proc proc rw\n"));
    CHECK_THROWS_AS(require("31 1 0:40 / /proc rw master:3 - proc proc rw\n"), Error);
    CHECK_THROWS_AS(require("30 1 0:39 / /proc rw shared:4 - proc proc rw\n31 30 0:40 / /proc rw - proc proc rw\n"),
                    Error);
}
