// SPDX-License-Identifier: GPL-2.0-only
#include "criu/model/pid_map.hpp"

#include <stdlib.h>

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <type_traits>

#include "criu/base/error.hpp"

using namespace criu;
using engine::PidMap;

namespace {

/// Folder like /proc of the outer of two pid namespaces.
class FakeProc {
public:
    FakeProc() { REQUIRE(::mkdtemp(path_) != nullptr); }
    ~FakeProc() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    FakeProc(const FakeProc&) = delete;
    FakeProc& operator=(const FakeProc&) = delete;

    [[nodiscard]] kernel::ProcDir dir() const { return kernel::ProcDir(path_); }

    void add(int outside, int inside, const std::string& children) const {
        const std::filesystem::path process = std::filesystem::path(path_) / std::to_string(outside);
        std::filesystem::create_directories(process / "task" / std::to_string(outside));
        std::ofstream(process / "task" / std::to_string(outside) / "children") << children;
        std::ofstream(process / "status") << "Name:\tx\nState:\tS (sleeping)\nTgid:\t" << outside << "\nPid:\t"
                                          << outside << "\nPPid:\t1\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nGroups:\t\n"
                                          << "NSpid:\t" << outside << '\t' << inside << "\nThreads:\t1\nSigQ:\t0/1\n"
                                          << "SigPnd:\t0\nShdPnd:\t0\nSigBlk:\t0\nSigIgn:\t0\nSigCgt:\t0\nCapInh:\t0\n"
                                          << "CapPrm:\t0\nCapEff:\t0\nCapBnd:\t0\n";
    }

private:
    char path_[32] = "/tmp/criu-pid-map-XXXXXX";
};

}  // namespace

static_assert(!std::is_convertible_v<pid_t, TreePid> && !std::is_convertible_v<TreePid, pid_t>);
static_assert(!std::is_convertible_v<TreePid, HostPid> && !std::is_constructible_v<HostPid, TreePid>);
static_assert(!std::is_convertible_v<HostPid, TreePid> && !std::is_constructible_v<TreePid, HostPid>);

TEST_CASE("without a pid namespace of its own a tree calls its processes what criu calls them") {
    PidMap pids;
    CHECK_FALSE(pids.isOwnNamespace());
    pids.refresh();
    CHECK(pids.outside(TreePid(7)) == HostPid(7));
    CHECK(pids.tryOutside(TreePid(8)) == HostPid(8));
}

TEST_CASE("in a pid namespace of its own a tree has other numbers, which may be those of others outside") {
    const FakeProc proc;
    proc.add(700, 1, "701 702");
    proc.add(701, 702, "");
    proc.add(702, 5, "703");
    proc.add(703, 700, "");
    PidMap pids(HostPid(700));
    pids.refresh(proc.dir());
    CHECK(pids.isOwnNamespace());
    CHECK(pids.outside(TreePid(1)) == HostPid(700));
    CHECK(pids.outside(TreePid(702)) == HostPid(701));
    CHECK(pids.outside(TreePid(5)) == HostPid(702));
    CHECK(pids.outside(TreePid(700)) == HostPid(703));
    CHECK_FALSE(pids.tryOutside(TreePid(703)));
    CHECK_THROWS_AS(pids.outside(TreePid(703)), Error);
}

TEST_CASE("a process that has ended is removed, and one that ends during the refresh is skipped") {
    const FakeProc proc;
    proc.add(700, 1, "701 702");
    proc.add(701, 2, "");
    PidMap pids(HostPid(700));
    pids.refresh(proc.dir());  // process 702 doesn't exist
    CHECK(pids.outside(TreePid(2)) == HostPid(701));
    proc.add(700, 1, "");
    pids.refresh(proc.dir());
    CHECK_FALSE(pids.tryOutside(TreePid(2)));
}
