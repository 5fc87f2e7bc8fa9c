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

/// Path rights: credentials with which criu opens paths of the images, namely the credentials of the processes that use
/// the files.
class PathRights {
public:
    PathRights() = default;
    explicit PathRights(const model::ProcessTree& tree);

    /// Returns the credentials of all processes that have one of these open file descriptions. Lists each distinct set
    /// of credentials once. Omits credentials that are equivalent to root. For descriptions in flight, returns the
    /// credentials of all processes, because any process may receive them.
    [[nodiscard]] std::vector<kernel::FileRights> of(std::span<const FileId> files) const;
    /// Returns the credentials for paths of one process: its mappings, directories and program.
    [[nodiscard]] std::vector<kernel::FileRights> of(TreePid process) const;

private:
    std::vector<kernel::FileRights> limited_;             ///< distinct credentials that aren't equivalent to root
    std::unordered_map<TreePid, std::size_t> ofProcess_;  ///< index in `limited_` of the credentials of each process
    std::unordered_map<FileId, std::set<std::size_t>> ofFile_;
    /// Open file descriptions for which a process has a descriptor; empty if `limited_` is empty.
    std::set<FileId> held_;
};

}  // namespace criu::engine
