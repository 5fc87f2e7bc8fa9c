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

/// Groups that the restore froze. The destructor thaws them unless leaveStopped() was called: SIGKILL doesn't end the
/// tasks of a frozen group of version 1.
class FrozenGroups {
public:
    explicit FrozenGroups(Log& log) : log_(log) {}
    ~FrozenGroups();
    FrozenGroups(FrozenGroups&& other) noexcept : log_(other.log_), groups_(std::exchange(other.groups_, {})) {}
    FrozenGroups& operator=(FrozenGroups&&) = delete;

    /// `running`: value of `property` that thaws the group. `label` names the group in messages.
    void add(UniqueFd group, std::string property, std::string_view running, std::string label);
    /// Keeps the groups frozen, because the restore has succeeded.
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

/// Restore half of cgroups. The coordinator creates groups before it creates processes. Each process enters its groups
/// first, so that the kernel charges them for all of its resources. The destructor removes created groups unless
/// commit() was called. The object must outlive the processes of a failed restore.
class CgroupRestore {
public:
    /// Reads cgroup.img. `ownSet`: number of the dumping criu's set.
    CgroupRestore(const model::Options& options, Log& log, const ImageDir& images, std::uint32_t ownSet);
    ~CgroupRestore();
    CgroupRestore(const CgroupRestore&) = delete;
    CgroupRestore& operator=(const CgroupRestore&) = delete;

    /// Throws Error if the images lack this set. 0 means that a process stays in the groups of its creator.
    void require(std::uint32_t set) const;

    /// Throws Error if a group that exists has no room for the tasks of the tree (pids.max). `counts`: by set.
    void requireRoomForTasks(const std::map<std::uint32_t, std::size_t>& counts);

    /// Creates missing groups as --manage-cgroups allows. Processes inherit descriptors through `store`.
    void create(kernel::FdStore& store);

    /// Opens cgroup.procs of all groups, after create(). Restored processes without permission to open these files
    /// inherit the descriptors.
    void openCgroupProcs(kernel::FdStore& store);

    /// Moves the calling process into a new cgroup namespace with the tree's roots, then into the groups of `set`. The
    /// process is in the groups of `from`.
    void enterNamespace(std::uint32_t set, std::uint32_t from);

    /// Moves the calling process from the groups of a set to the groups of its image. Returns the set it is in then.
    [[nodiscard]] std::uint32_t enterOwn(const CoreEntry& core, std::uint32_t from);

    /// Moves the calling process from the groups of one set to the groups of another.
    void enter(std::uint32_t set, std::uint32_t from);

    /// Moves a thread of another process, which is in the groups of `from`.
    void moveThread(HostPid tid, std::uint32_t set, std::uint32_t from);

    /// Sets properties; all processes must exist.
    void setProperties();
    /// Freezes groups that were frozen at the dump, as the last step. Skips groups with criu in them. Throws Error
    /// after thawing all groups.
    [[nodiscard]] FrozenGroups freeze();

    /// Keeps the created groups, because the restore has succeeded.
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
        std::size_t prefix = 0;  ///< length of the cgroup namespace's root in `path`; 0: no namespace, or "/"
    };
    struct Made;

    void checkNames(const CgroupEntry& entry) const;
    void collectSets(const CgroupEntry& entry);
    void collectGroups(const CgroupEntry& entry);
    void collectGroups(const CgroupDirEntry& entry, const std::string& controllers, const std::string& path);
    [[nodiscard]] std::optional<std::string> newRoot(const std::string& controllers) const;
    /// True if criu is in the group or below it, so that the group can't be missing.
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
    std::map<std::pair<std::string, std::string>, UniqueFd> cgroupProcs_;  ///< cgroup.procs by controllers and path
};

}  // namespace criu::cgroup
