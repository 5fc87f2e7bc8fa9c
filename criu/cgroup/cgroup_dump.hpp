// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
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

/// Dump half: which groups tasks are in, and what these groups are like. Each combination of groups is a set; the one
/// criu is in itself has number 1 and isn't stored: whoever is in it will be where the restoring criu is.
class CgroupDump {
public:
    static constexpr std::uint32_t kOwnSet = 1;

    /// `properties`: those that groups are dumped with; they outlive this object. `root`: the root of the tree if that
    /// is in a cgroup namespace of its own, else null. `freezer`: the groups that were frozen for the dump
    /// (--freeze-cgroup), whose images are to have the state that they were in before; null if there are none. Throws
    /// Error.
    CgroupDump(const model::Options& options, const PropertyTable& properties, const kernel::ProcPid* root,
               const Freezer* freezer);
    ~CgroupDump();
    CgroupDump(const CgroupDump&) = delete;
    CgroupDump& operator=(const CgroupDump&) = delete;

    /// The number of the set a thread is in. May be called by several threads at once. Throws Error for groups outside
    /// of criu's cgroup namespace.
    std::uint32_t setOf(const std::vector<kernel::CgroupLine>& groups);

    /// Reads the groups of all sets, and writes cgroup.img if there is any.
    void write(const ImageDir& images);

private:
    using Set = std::map<std::string, std::string>;  ///< controllers to path

    void lookAtNamespace(const kernel::ProcPid& root);
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
    bool ownNamespace_ = false;
    std::map<std::string, std::size_t> prefixes_;  ///< length of the namespace's root in paths of a hierarchy
    /// The set of criu, which is in another namespace, is never one of the tree's then.
    std::map<std::pair<bool, Set>, std::uint32_t> sets_;
};

}  // namespace criu::cgroup
