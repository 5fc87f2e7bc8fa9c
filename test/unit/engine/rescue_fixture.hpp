// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "criu/base/journal.hpp"
#include "criu/base/log.hpp"
#include "criu/engine/rescue.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/stat.hpp"

namespace criu::test {

inline std::uint32_t ownPidNamespace() {
    return kernel::namespaceInode(kernel::openOwnNamespace(kernel::NamespaceKind::Pid).get());
}

/// Returns where cgroups with a freezer are mounted: cgroup v2, or the freezer of v1. Returns "" if there is none.
inline std::string freezerHierarchy() {
    std::ifstream mounts("/proc/self/mounts");
    std::string device, path, type, options, rest, found;
    while (mounts >> device >> path >> type >> options && std::getline(mounts, rest))
        if (type == "cgroup2" || (type == "cgroup" && options.find("freezer") != std::string::npos && found.empty()))
            found = path;
    return found;
}

/// Calls `work` in a thread with a new network namespace, if this user can create one.
template <typename Work>
void inNewNetwork(const Work& work) {
    kernel::runInThread([&work] {
        if (::unshare(CLONE_NEWNET) == 0)
            work();
        else
            WARN("skipped: this user can't create network namespaces");
    });
}

/// Directory for journals, and a file with a temporary link.
class JournalFolder {
public:
    JournalFolder() {
        char made[] = "/tmp/rescue-XXXXXX";
        REQUIRE(::mkdtemp(made) != nullptr);
        path_ = made;
        std::filesystem::create_directories(journal());
        for (const char* const each : {"/criu", "/criu/journals", "/criu/journals/1-1"})
            REQUIRE(::chmod((path_ + each).c_str(), 0700) == 0);
        std::ofstream(path_ + "/link_remap.1") << "x";
        std::ofstream(path_ + "/other") << "x";
    }
    ~JournalFolder() { std::filesystem::remove_all(path_); }
    JournalFolder(const JournalFolder&) = delete;
    JournalFolder& operator=(const JournalFolder&) = delete;

    /// Begins a journal of this process' tree, and records the temporary link.
    void begin() { begin(ownPidNamespace(), ::getpid(), startTime()); }
    void openJournal() {
        const std::string file = journal() + "/journal";
        journal_.open(UniqueFd(::open(file.c_str(), O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600)), UniqueFd());
    }
    void begin(std::uint32_t pidNamespace, pid_t root, std::uint64_t start) {
        openJournal();
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
    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::string journal() const { return path_ + "/criu/journals/1-1"; }
    [[nodiscard]] bool has(const char* name) const { return std::filesystem::exists(path_ + name); }
    [[nodiscard]] bool hasLink() const { return has("/link_remap.1"); }
    /// Calls rescue(), and returns its answer.
    std::string rescue(int expected = 0) {
        std::string answer;
        CHECK(engine::rescue(answer, log_, {path_}) == expected);
        return answer;
    }
    static std::uint64_t startTime() {
        kernel::ProcBuffer buffer;
        return kernel::readStat(kernel::ProcDir().self(), buffer).startTime;
    }

private:
    std::string path_;
    Journal journal_;
    Log log_;
};

}  // namespace criu::test
