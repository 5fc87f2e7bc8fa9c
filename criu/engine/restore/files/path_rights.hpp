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

/// With which rights paths of the images are to be opened: those of the processes that the files are for.
class PathRights {
public:
    PathRights() = default;
    explicit PathRights(const model::ProcessTree& tree);

    /// For what has one of these descriptions: the rights of each kind of user that may not open whatever root may;
    /// empty if all may. Descriptions that only lie in queues of sockets could be received by any process of the tree.
    [[nodiscard]] std::vector<kernel::FileRights> of(std::span<const FileId> files) const;
    /// For what a process has by path: its memory, directories, program.
    [[nodiscard]] std::vector<kernel::FileRights> of(TreePid process) const;

private:
    std::vector<kernel::FileRights> limited_;             ///< all that differ
    std::unordered_map<TreePid, std::size_t> ofProcess_;  ///< indices
    std::unordered_map<FileId, std::set<std::size_t>> ofFile_;
    std::set<FileId> held_;  ///< by any process; only filled if some have limited rights
};

}  // namespace criu::engine
