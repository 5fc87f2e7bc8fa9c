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

/// Returns the table of cgroup properties, with the changes of --cgroup-props and --cgroup-props-file. Throws Error if
/// the argument of an option is malformed.
PropertyTable readProperties(const model::Options& options);

/// Cgroup namespace view: the cgroup namespace from which criu reads the cgroup paths of a process.
enum class CgroupNsView : std::uint32_t { OfCriu = 0 };

/// Dump half of cgroups: the cgroups of each task, and the properties of these cgroups. A cgroup set contains the
/// cgroups of one task in all hierarchies.
/// The set of the dumping criu has number 1, and the images don't contain it. A restore puts its tasks into the cgroups
/// of the restoring criu.
class CgroupDump {
public:
    static constexpr std::uint32_t kOwnSet = 1;

    /// `properties` selects the properties to dump, and must outlive this object. `freezer` is that of --freeze-cgroup,
    /// or nullptr; the images get the state that its cgroups had before. Throws Error.
    CgroupDump(const model::Options& options, const PropertyTable& properties, const Freezer* freezer);
    ~CgroupDump();
    CgroupDump(const CgroupDump&) = delete;
    CgroupDump& operator=(const CgroupDump&) = delete;

    /// Examines the cgroup namespace of `member`, a process of the tree. Must be called before the first setOf().
    /// Throws Error if an option excludes the dump of cgroups.
    CgroupNsView addNamespace(const kernel::ProcPid& member);

    /// Returns the number of a thread's cgroup set. `groups` is the text of its /proc/PID/cgroup. Several threads may
    /// call it at once. Throws Error for cgroups outside of criu's cgroup namespace.
    std::uint32_t setOf(std::string_view groups, CgroupNsView view);

    /// Reads the cgroups of all sets, and writes cgroup.img. Writes no image if all tasks are in criu's set.
    void write(const ImageDir& images);

private:
    using Set = std::map<std::string, std::string>;  ///< path of the cgroup, by the controllers of the hierarchy

    void noteFreezer(bool unified, bool frozen);
    [[nodiscard]] Set setFrom(const std::vector<kernel::CgroupLine>& groups) const;
    [[nodiscard]] bool isWanted(const kernel::CgroupLine& line) const;
    [[nodiscard]] std::string rootOf(const std::string& controllers, const std::string& path) const;
    void storeSets(CgroupEntry& entry);
    void storeControllers(CgroupEntry& entry);
    void storeGroups(const std::string& controllers, CgControllerEntry& entry);
    void fillGroup(int group, const std::string& controllers, CgroupDirEntry& entry, bool& threaded);
    /// `depth` is the nesting of `group`; it is 1 for a cgroup whose entry isn't nested in another one.
    void fillChildren(int group, const std::string& controllers, CgroupDirEntry& entry, bool& threaded, unsigned depth);
    void add(const Property& property, CgroupDirEntry& entry);
    CgroupPropEntry* store(const Property& property);

    const model::Options& options_;
    Arena arena_;
    const PropertyTable& table_;
    std::unique_ptr<Hierarchies> hierarchies_;
    std::vector<std::string> controllers_;  ///< controllers of each hierarchy that has some, in the kernel's order
    /// Frozen hierarchy, and the freezer property of its cgroups; nullptr if no cgroup was frozen.
    std::unique_ptr<const std::pair<std::string, Property>> freezer_;
    std::mutex guard_;
    /// Length of the path to the root of a cgroup namespace, by hierarchy.
    using Prefixes = std::map<std::string, std::size_t>;
    std::vector<Prefixes> views_{1};
    /// Numbers of the cgroup sets. The key contains the view, so a process in another cgroup namespace than criu's
    /// never has kOwnSet.
    std::map<std::pair<CgroupNsView, Set>, std::uint32_t> sets_;
};

}  // namespace criu::cgroup
