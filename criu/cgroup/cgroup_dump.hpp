// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "criu/image/arena.hpp"
#include "images/cgroup.fwd.hpp"

namespace criu {
class ImageDir;
}

namespace criu::kernel {
struct CgroupLine;
class ProcPid;
}  // namespace criu::kernel

namespace criu::model {
struct Options;
}

namespace criu::cgroup {

class Freezer;
class Hierarchies;
struct Property;
class PropertyTable;

/// Returns the properties of groups, changed by --cgroup-props and --cgroup-props-file. Throws Error if an option has a
/// mistake.
PropertyTable readProperties(const model::Options& options);

/// Cgroup namespace from which processes see paths of groups.
enum class CgroupNsView : std::uint32_t { OfCriu = 0 };

/// Dump half of cgroups: the groups of each task, and the properties of these groups. A cgroup set is one combination
/// of groups. The dumping criu's set has number 1 and isn't stored: its tasks are restored into the restoring criu's
/// groups.
class CgroupDump {
public:
    static constexpr std::uint32_t kOwnSet = 1;

    /// `properties` selects the properties that criu dumps, and must outlive this object. `freezer` has the groups that
    /// --freeze-cgroup froze, or null; the images get their earlier state. Throws Error.
    CgroupDump(const model::Options& options, const PropertyTable& properties, const Freezer* freezer);
    ~CgroupDump();
    CgroupDump(const CgroupDump&) = delete;
    CgroupDump& operator=(const CgroupDump&) = delete;

    /// Examines the cgroup namespace of `member`, a process of the tree. Must precede the first setOf(). Throws Error
    /// if groups aren't dumped.
    CgroupNsView addNamespace(const kernel::ProcPid& member);

    /// Returns the number of a thread's cgroup set. `groups` is the text of its /proc/PID/cgroup. Several threads may
    /// call it at once. Throws Error for groups outside of criu's cgroup namespace.
    std::uint32_t setOf(std::string_view groups, CgroupNsView view);

    /// Reads the groups of all sets and writes cgroup.img. Writes no image if all tasks are in criu's set.
    void write(const ImageDir& images);

private:
    using Set = std::map<std::string, std::string>;  ///< controllers to path

    void noteFreezer(bool unified, bool frozen);
    [[nodiscard]] Set setFrom(const std::vector<kernel::CgroupLine>& groups) const;
    [[nodiscard]] bool isWanted(const kernel::CgroupLine& line) const;
    [[nodiscard]] std::string rootOf(const std::string& controllers, const std::string& path) const;
    void storeSets(CgroupEntry& entry);
    void storeControllers(CgroupEntry& entry);
    void storeGroups(const std::string& controllers, CgControllerEntry& entry);
    void fillGroup(int group, const std::string& controllers, CgroupDirEntry& entry, bool& threaded);
    /// `depth`: nesting of `group`; groups with a direct entry in the image have 1.
    void fillChildren(int group, const std::string& controllers, CgroupDirEntry& entry, bool& threaded, unsigned depth);
    void add(const Property& property, CgroupDirEntry& entry);
    CgroupPropEntry* store(const Property& property);

    const model::Options& options_;
    Arena arena_;
    const PropertyTable& table_;
    std::unique_ptr<Hierarchies> hierarchies_;
    std::vector<std::string> controllers_;  ///< hierarchies with controllers, in the kernel's order
    std::unique_ptr<const std::pair<std::string, Property>> freezer_;  ///< hierarchy, and the property of its groups
    std::mutex guard_;
    using Prefixes = std::map<std::string, std::size_t>;  ///< length of the cgroup namespace's root path, by hierarchy
    std::vector<Prefixes> views_{1};
    /// Numbers of sets. A process in another cgroup namespace than criu's never has kOwnSet, since the view is part of
    /// the key.
    std::map<std::pair<CgroupNsView, Set>, std::uint32_t> sets_;
};

}  // namespace criu::cgroup
