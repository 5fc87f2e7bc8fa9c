// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/kernel/file_rights.hpp"
#include "criu/model/process_tree.hpp"

namespace criu::engine {

/// Credentials to open paths of the images with: those of the processes that the files are for.
class PathRights {
public:
    PathRights() = default;
    explicit PathRights(const model::ProcessTree& tree);

    /// Returns the credentials of all processes that have one of these descriptions. Contains one entry for each set of
    /// credentials that isn't root-equivalent; empty if all are. For descriptions in flight it returns all such sets,
    /// because any process may receive them.
    [[nodiscard]] std::vector<kernel::FileRights> of(std::span<const FileId> files) const;
    /// Returns the credentials for paths of one process: its mappings, directories and program.
    [[nodiscard]] std::vector<kernel::FileRights> of(TreePid process) const;

private:
    std::vector<kernel::FileRights> limited_;             ///< different credentials that aren't root-equivalent
    std::unordered_map<TreePid, std::size_t> ofProcess_;  ///< indices into limited_
    std::unordered_map<FileId, std::set<std::size_t>> ofFile_;
    std::set<FileId> held_;  ///< descriptions that a process has as a descriptor; empty if limited_ is empty
};

}  // namespace criu::engine
