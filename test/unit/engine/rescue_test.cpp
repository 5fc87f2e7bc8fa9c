// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/rescue.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "criu/base/error.hpp"
#include "criu/base/journal.hpp"
#include "criu/base/log.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/net/nftables.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/stat.hpp"

using namespace criu;
namespace fs = std::filesystem;

namespace {

std::uint32_t ownPidNamespace() {
    return kernel::namespaceInode(kernel::openOwnNamespace(kernel::NamespaceKind::Pid).get());
}

/// Returns where cgroups with a freezer are mounted: cgroup v2, or the freezer of v1. Returns "" if there is none.
std::string freezerHierarchy() {
    std::ifstream mounts("/proc/self/mounts");
    std::string device, path, type, options, rest, found;
    while (mounts >> device >> path >> type >> options && std::getline(mounts, rest))
        if (type == "cgroup2" || (type == "cgroup" && options.find("freezer") != std::string::npos && found.empty()))
            found = path;
    return found;
}

/// Directory for journals, and a file with a temporary link.
class JournalFolder {
public:
    JournalFolder() {
        char made[] = "/tmp/rescue-XXXXXX";
        REQUIRE(::mkdtemp(made) != nullptr);
        path_ = made;
        fs::create_directories(journal());
        for (const char* const each : {"/criu", "/criu/journals", "/criu/journals/1-1"})
            REQUIRE(::chmod((path_ + each).c_str(), 0700) == 0);
        std::ofstream(path_ + "/link_remap.1") << "x";
        std::ofstream(path_ + "/other") << "x";
    }
    ~JournalFolder() { fs::remove_all(path_); }
    JournalFolder(const JournalFolder&) = delete;
    JournalFolder& operator=(const JournalFolder&) = delete;

    /// Begins a journal of this process' tree, and records the temporary link.
    void begin() { begin(ownPidNamespace(), ::getpid(), startTime()); }
    void begin(std::uint32_t pidNamespace, pid_t root, std::uint64_t start) {
        const std::string file = journal() + "/journal";
        journal_.open(UniqueFd(::open(file.c_str(), O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600)), UniqueFd());
        journal_.record({"tree", std::to_string(pidNamespace), std::to_string(root), std::to_string(start)});
        recordLink("link_remap.1", "/link_remap.1");
    }
    /// Records a link `name` with the inode of `file`.
    void recordLink(const char* name, const char* file) {
        struct stat status {};
        REQUIRE(::stat((path_ + file).c_str(), &status) == 0);
        journal_.record({"link", std::to_string(status.st_dev), std::to_string(status.st_ino), path_, name});
    }
    Journal& lines() { return journal_; }
    [[nodiscard]] std::string journal() const { return path_ + "/criu/journals/1-1"; }
    [[nodiscard]] bool has(const char* name) const { return fs::exists(path_ + name); }
    [[nodiscard]] bool hasLink() const { return has("/link_remap.1"); }
    /// Calls rescue(), and returns its answer.
    std::string rescue(int expected = 0) {
        std::string answer;
        CHECK(engine::rescue(answer, {path_}) == expected);
        return answer;
    }
    static std::uint64_t startTime() {
        kernel::ProcBuffer buffer;
        return kernel::readStat(kernel::ProcDir().self(), buffer).startTime;
    }

private:
    std::string path_;
    Journal journal_;
};

}  // namespace

TEST_CASE("rescue removes the temporary links of a killed dump", "[rescue]") {
    JournalFolder folder;
    folder.begin();
    CHECK_THAT(folder.rescue(), Catch::Contains("removed the temporary link") && Catch::Contains("link_remap.1"));
    CHECK_FALSE(folder.hasLink());
    CHECK_FALSE(fs::exists(folder.journal()));
    CHECK(folder.rescue() == "Nothing to do\n");
}

TEST_CASE("rescue doesn't touch what a running dump has changed", "[rescue]") {
    JournalFolder folder;
    folder.begin();
    const UniqueFd lock(::open(folder.journal().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(::flock(lock.get(), LOCK_EX) == 0);
    CHECK(folder.rescue() == "Nothing to do\n");
    CHECK(folder.hasLink());
    CHECK(fs::exists(folder.journal()));
}

TEST_CASE("rescue keeps the links of a dump that has ended its tree", "[rescue]") {
    JournalFolder folder;
    folder.begin(ownPidNamespace(), ::getpid(), JournalFolder::startTime() + 1);
    folder.lines().record({"ends"});
    CHECK(folder.rescue() == "Nothing to do\n");
    CHECK(folder.hasLink());
    CHECK_FALSE(fs::exists(folder.journal()));
}

TEST_CASE("rescue reverts a dump that was killed before it ended its tree", "[rescue]") {
    JournalFolder folder;
    folder.begin();
    folder.lines().record({"ends"});
    (void)folder.rescue();
    CHECK_FALSE(folder.hasLink());
}

TEST_CASE("rescue leaves journals of other pid namespaces", "[rescue]") {
    JournalFolder folder;
    folder.begin(ownPidNamespace() + 1, ::getpid(), JournalFolder::startTime());
    CHECK(folder.rescue() == "Nothing to do\n");
    CHECK(folder.hasLink());
    CHECK(fs::exists(folder.journal()));
}

TEST_CASE("rescue removes no file that another process has created", "[rescue]") {
    JournalFolder folder;
    folder.begin();
    SECTION("with the name of a temporary link") {
        folder.recordLink("link_remap.1", "/other");
        (void)folder.rescue();
        CHECK(folder.has("/other"));
    }
    SECTION("with another name") {
        folder.recordLink("other", "/other");
        CHECK_THAT(folder.rescue(1), Catch::Contains("the journal is damaged"));
        CHECK(folder.has("/other"));
        CHECK_FALSE(folder.hasLink());
    }
}

TEST_CASE("rescue thaws the cgroup that a killed dump has frozen", "[rescue]") {
    const std::string hierarchy = freezerHierarchy();
    const std::string group = hierarchy + "/criu-rescue-test-" + std::to_string(::getpid());
    if (hierarchy.empty() || ::mkdir(group.c_str(), 0755) != 0) {
        WARN("skipped: no writable hierarchy of cgroups with a freezer");
        return;
    }
    const bool unified = fs::exists(group + "/cgroup.freeze");
    const std::string control = group + (unified ? "/cgroup.freeze" : "/freezer.state");
    const std::string frozen = unified ? "1" : "FROZEN";
    const std::string thawed = unified ? "0" : "THAWED";
    struct stat status {};
    REQUIRE(::stat(group.c_str(), &status) == 0);
    const auto state = [&] {
        std::string text;
        std::ifstream(control) >> text;
        return text;
    };
    std::ofstream(control) << frozen;
    REQUIRE(state() == frozen);
    JournalFolder folder;
    folder.begin();
    folder.lines().record({"freeze", std::to_string(status.st_dev), std::to_string(status.st_ino), group});
    SECTION("if the dump was killed while it was frozen") {
        CHECK_THAT(folder.rescue(), Catch::Contains("thawed the cgroup " + group));
        CHECK(state() == thawed);
    }
    SECTION("unless the dump has thawed it") {
        folder.lines().record({"thawed"});
        (void)folder.rescue();
        CHECK(state() == frozen);
    }
    std::ofstream(control) << thawed;
    ::rmdir(group.c_str());
}

TEST_CASE("rescue removes the network lock of a killed dump", "[rescue]") {
    if (!kernel::Nftables::available()) {
        WARN("skipped: libnftables isn't installed");
        return;
    }
    // A thread of its own, because it enters a new network namespace.
    kernel::runInThread([] {
        if (::unshare(CLONE_NEWNET) != 0) {
            WARN("skipped: this user can't create network namespaces");
            return;
        }
        const auto tables = [] { return kernel::Nftables().run("list tables inet\n"); };
        kernel::Nftables().run("add table inet CRIU-0123-ab\nadd table inet kept\n");
        JournalFolder folder;
        folder.begin();
        const auto network = kernel::namespaceInode(kernel::openOwnNamespace(kernel::NamespaceKind::Net).get());
        folder.lines().record({"table", "inet CRIU-0123-ab", std::to_string(network)});
        CHECK_THAT(folder.rescue(), Catch::Contains("removed the network lock \"inet CRIU-0123-ab\""));
        CHECK_THAT(tables(), !Catch::Contains("CRIU-") && Catch::Contains("kept"));
    });
}
