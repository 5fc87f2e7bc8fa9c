// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/cgroup/thawed_groups.hpp"
#include "criu/image/record.hpp"
#include "images/cgroup.fwd.hpp"
#include "images/core.fwd.hpp"

namespace criu {
class ImageDir;
class Log;
}  // namespace criu

namespace criu::kernel {
class FdStore;
}

namespace criu::model {
struct Options;
}

namespace criu::cgroup {

class Hierarchies;

/// Cgroups that the restore has frozen. The destructor thaws them unless leaveStopped() was called, because SIGKILL
/// can't end tasks in a frozen cgroup of version 1.
class FrozenGroups {
public:
    explicit FrozenGroups(Log& log) : log_(log) {}
    ~FrozenGroups();
    FrozenGroups(FrozenGroups&& other) noexcept : log_(other.log_), groups_(std::exchange(other.groups_, {})) {}
    FrozenGroups& operator=(FrozenGroups&&) = delete;

    /// Adds a frozen cgroup. `running` is the value of `property` that thaws it. `label` names the cgroup in messages.
    void add(UniqueFd group, std::string property, std::string_view running, std::string label);
    /// Leaves the cgroups frozen, because the restore has succeeded.
    void leaveStopped() noexcept { groups_.clear(); }

private:
    struct Group {
        UniqueFd fd;
        std::string property;
        std::string_view running;
        std::string label;
    };
    Log& log_;
    std::vector<Group> groups_;
};

/// Restore half of cgroups. The coordinator creates the cgroups before it creates processes. Each process enters its
/// cgroups first, so that the kernel charges all its resources to them.
/// The destructor removes the created cgroups unless commit() was called. The object must outlive the processes of a
/// failed restore.
class CgroupRestore {
public:
    /// Reads cgroup.img. `ownSet` is the number of the dumping criu's set.
    CgroupRestore(const model::Options& options, Log& log, const ImageDir& images, std::uint32_t ownSet);
    ~CgroupRestore();
    CgroupRestore(const CgroupRestore&) = delete;
    CgroupRestore& operator=(const CgroupRestore&) = delete;

    /// Throws Error if the images lack this set. The number 0 means that a process stays in the cgroups of its creator.
    void require(std::uint32_t set) const;

    /// Throws Error if an existing cgroup can't hold the tasks of the tree (pids.max). `counts` is the number of tasks
    /// by cgroup set.
    void requireRoomForTasks(const std::map<std::uint32_t, std::size_t>& counts);

    /// Creates missing cgroups as --manage-cgroups allows, and thaws empty cgroups of version 2 that processes will
    /// enter. Restored processes inherit the descriptors in `store`. Throws Error if other processes are in a frozen
    /// cgroup.
    void create(kernel::FdStore& store);

    /// Opens cgroup.procs of all cgroups; create() must have been called. A restored process that may not open such a
    /// file uses the inherited descriptor.
    void openCgroupProcs(kernel::FdStore& store);

    /// Moves the calling process into a new cgroup namespace that has the roots of the tree's namespace, and then into
    /// the cgroups of `set`. Before the call, the process is in the cgroups of `from`.
    void enterNamespace(std::uint32_t set, std::uint32_t from);

    /// Moves the calling process from the cgroups of `from` to the cgroups of its image. Returns the set in which it is
    /// afterwards.
    [[nodiscard]] std::uint32_t enterOwn(const CoreEntry& core, std::uint32_t from);

    /// Moves the calling process from the cgroups of `from` to the cgroups of `set`.
    void enter(std::uint32_t set, std::uint32_t from);

    /// Moves a thread of another process from the cgroups of `from` to the cgroups of `set`.
    void moveThread(HostPid tid, std::uint32_t set, std::uint32_t from);

    /// Sets the properties of the cgroups. All processes must exist.
    void setProperties();
    /// Returns true if freeze() will freeze a cgroup.
    [[nodiscard]] bool freezes() const;
    /// Freezes the cgroups that were frozen when the tree was dumped or before create(). Skips cgroups that contain
    /// criu. Afterwards, criu can't execute system calls in the processes. If it throws Error, it has thawed the
    /// cgroups that create() hasn't.
    [[nodiscard]] FrozenGroups freeze();

    /// Keeps the created cgroups, because the restore has succeeded.
    void commit() noexcept;

private:
    struct Group {
        std::string controllers;
        std::string path;
        const CgroupDirEntry* entry = nullptr;
        bool fresh = false;
    };
    struct Member {
        std::string controllers;
        std::string path;
        bool threaded = false;
        /// Length of the path to the root of the cgroup namespace; 0 if the task has no namespace, or if the root is
        /// "/".
        std::size_t prefix = 0;
    };
    struct Made;

    void checkNames(const CgroupEntry& entry) const;
    void collectSets(const CgroupEntry& entry);
    void collectGroups(const CgroupEntry& entry);
    void collectGroups(const CgroupDirEntry& entry, const std::string& controllers, const std::string& path);
    [[nodiscard]] std::optional<std::string> newRoot(const std::string& controllers) const;
    /// Returns true if criu is in the cgroup or below it, so that the cgroup exists.
    [[nodiscard]] bool containsCriu(const Group& group) const;
    [[nodiscard]] bool mayMake() const noexcept;
    [[nodiscard]] bool setsProperties(const Group& group) const noexcept;
    void make(Group& group);
    void makeDirectory(const Group& group, const std::string& path);
    void freeze(const Group& group, const CgroupPropEntry& property, FrozenGroups& frozen);
    [[nodiscard]] const std::vector<Member>& membersOf(std::uint32_t set) const;
    void move(const std::string& text, const std::vector<Member>& from, const std::vector<Member>& to, bool threads);

    const model::Options& options_;
    Log& log_;
    std::optional<Record<CgroupEntry>> image_;
    std::uint32_t ownSet_;
    std::unique_ptr<Hierarchies> hierarchies_;
    std::map<std::uint32_t, std::vector<Member>> sets_;
    std::vector<Group> groups_;  ///< parents before children
    std::vector<Made> made_;
    ThawedGroups thawed_;
    /// Descriptors of cgroup.procs, by controllers and path.
    std::map<std::pair<std::string, std::string>, UniqueFd> cgroupProcs_;
};

}  // namespace criu::cgroup
