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

/// Groups whose tasks restore has stopped. They run again when this object ends, unless they are to stay so: not even
/// SIGKILL ends the tasks of a stopped group of version 1.
class FrozenGroups {
public:
    explicit FrozenGroups(Log& log) : log_(log) {}
    ~FrozenGroups();
    FrozenGroups(FrozenGroups&& other) noexcept : log_(other.log_), groups_(std::exchange(other.groups_, {})) {}
    FrozenGroups& operator=(FrozenGroups&&) = delete;

    /// `running`: what `property` says of a group that runs. `label`: for messages.
    void add(UniqueFd group, std::string property, std::string_view running, std::string label);
    /// The restore has come through: the groups stay stopped.
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

/// Restore half. The master makes the groups before it creates processes; each of them enters its own first of all, so
/// that what it uses is counted there. Groups that were made are removed again unless the restore comes through; that
/// object must outlive the processes of a failed one.
class CgroupRestore {
public:
    /// Reads cgroup.img. `ownSet`: the number of the set that the dumping criu was in.
    CgroupRestore(const model::Options& options, Log& log, const ImageDir& images, std::uint32_t ownSet);
    ~CgroupRestore();
    CgroupRestore(const CgroupRestore&) = delete;
    CgroupRestore& operator=(const CgroupRestore&) = delete;

    /// Throws Error if the images don't have this set. 0 stands for a process that stays where its creator is.
    void require(std::uint32_t set) const;

    /// Makes what is missing, as --manage-cgroups says. Descriptors are inherited through `store`.
    void create(kernel::FdStore& store);

    /// For processes that may not open files of cgroups: what they need is opened for them, after create(), for them to
    /// inherit.
    void openCgroupProcs(kernel::FdStore& store);

    /// Puts the calling process, which is in the groups of `from`, into a cgroup namespace of its own, whose roots are
    /// those that the tree had, and into the groups of `set`.
    void enterNamespace(std::uint32_t set, std::uint32_t from);

    /// Moves the calling process from the groups of one set to those of another.
    void enter(std::uint32_t set, std::uint32_t from);

    /// Moves a thread of another process, whose process is in the groups of `from`.
    void moveThread(HostPid tid, std::uint32_t set, std::uint32_t from);

    /// Sets properties, when every process exists.
    void setProperties();
    /// Stops groups that were stopped; after everything else. Groups that criu itself is in are left out. Throws Error,
    /// with none of them stopped.
    [[nodiscard]] FrozenGroups freeze();

    /// The restore has come through: groups stay.
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
        std::size_t prefix = 0;  ///< how much of the path is the root of a cgroup namespace; 0: none, or "/"
    };
    struct Made;

    void checkNames(const CgroupEntry& entry) const;
    void collectSets(const CgroupEntry& entry);
    void collectGroups(const CgroupEntry& entry);
    void collectGroups(const CgroupDirEntry& entry, const std::string& controllers, const std::string& path);
    [[nodiscard]] std::optional<std::string> newRoot(const std::string& controllers) const;
    /// Whether criu is in it, or below: such a group can't be one that is to be made.
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
