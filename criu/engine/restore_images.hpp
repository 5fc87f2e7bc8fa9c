// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/log.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/memory/page_source.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/task/seccomp.hpp"
#include "images/fdinfo.hpp"
#include "images/inventory.hpp"
#include "images/seccomp.hpp"

namespace criu::engine {

/// All small images of a checkpoint, read and checked before anything is created.
struct RestoreImages {
    std::optional<Record<InventoryEntry>> inventory;
    model::ProcessTree tree;
    std::unordered_map<TreePid, memory::PageSource> pages;  ///< private memory of all processes that are alive
    std::map<FileId, Record<FileEntry>> files;
    std::optional<Record<SeccompEntry>> seccompFilters;
    std::unordered_map<TreePid, std::vector<task::SeccompPlan>> seccomp;  ///< of processes that have some
};

/// The network namespace that a file was in; nothing for those that are in none.
[[nodiscard]] std::optional<std::uint32_t> networkOf(const FileEntry& file);

/// Throws Error naming the file if anything is missing or inconsistent. Sets the directory's image version and opens
/// its parents before it asks `pages`, which reads the same checkpoint.
RestoreImages readImages(ImageDir& images, const memory::PageSources& pages, Log& log);

}  // namespace criu::engine
