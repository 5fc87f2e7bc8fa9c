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

/// Which properties groups have, with what --cgroup-props and --cgroup-props-file change. Throws Error for mistakes in
/// them.
PropertyTable readProperties(const model::Options& options);

/// A cgroup namespace from which processes see their groups.
enum class CgroupNsView : std::uint32_t { OfCriu = 0 };

/// Dump half: which groups tasks are in, and what these groups are like. Each combination of groups is a set; the one
/// criu is in itself has number 1 and isn't stored: whoever is in it will be where the restoring criu is.
class CgroupDump {
public:
    static constexpr std::uint32_t kOwnSet = 1;

    /// `properties`: those that groups are dumped with; they outlive this object. `freezer`: the groups that were
    /// frozen for the dump (--freeze-cgroup), whose images are to have the state that they were in before; null if
    /// there are none. Throws Error.
    CgroupDump(const model::Options& options, const PropertyTable& properties, const Freezer* freezer);
    ~CgroupDump();
    CgroupDump(const CgroupDump&) = delete;
    CgroupDump& operator=(const CgroupDump&) = delete;

    /// Looks at a cgroup namespace of the tree, in which `member` is. Not after the first setOf(). Throws Error if
    /// groups aren't dumped.
    CgroupNsView addNamespace(const kernel::ProcPid& member);

    /// The number of the set a thread is in. `groups`: text of its /proc/PID/cgroup. May be called by several threads
    /// at once. Throws Error for groups outside of criu's cgroup namespace.
    std::uint32_t setOf(std::string_view groups, CgroupNsView view);

    /// Reads the groups of all sets, and writes cgroup.img if there is any.
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
    /// `depth`: of the group, below the one that the images begin with, which is 1.
    void fillChildren(int group, const std::string& controllers, CgroupDirEntry& entry, bool& threaded, unsigned depth);
    void add(const Property& property, CgroupDirEntry& entry);
    CgroupPropEntry* store(const Property& property);

    const model::Options& options_;
    Arena arena_;
    const PropertyTable& table_;
    std::unique_ptr<Hierarchies> hierarchies_;
    std::vector<std::string> controllers_;  ///< hierarchies with controllers, in the kernel's order
    std::unique_ptr<const std::pair<std::string, Property>> freezer_;  ///< hierarchy, and what its groups get
    std::mutex guard_;
    using Prefixes = std::map<std::string, std::size_t>;  ///< length of a namespace's root in paths of a hierarchy
    std::vector<Prefixes> views_{1};
    /// The same groups are another set in another namespace; so that of criu is never one of a process in such a one.
    std::map<std::pair<CgroupNsView, Set>, std::uint32_t> sets_;
};

}  // namespace criu::cgroup
