// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/engine/fwd.hpp"
#include "criu/image/record.hpp"
#include "criu/model/process_tree.hpp"
#include "images/fdinfo.fwd.hpp"
#include "images/inventory.fwd.hpp"
#include "images/seccomp.fwd.hpp"

namespace criu::engine {

/// All small images of a checkpoint. They are read and checked before anything is created.
struct RestoreImages {
    RestoreImages();
    ~RestoreImages();
    RestoreImages(RestoreImages&&) noexcept;
    RestoreImages& operator=(RestoreImages&&) = delete;

    /// Returns the inventory's `lsmtype`: the security module that the threads' labels are of.
    [[nodiscard]] std::uint32_t lsmType() const;

    std::optional<Record<InventoryEntry>> inventory;
    model::ProcessTree tree;
    std::unordered_map<TreePid, std::unique_ptr<const memory::PageSource>>
        pages;  ///< private memory of all processes that are alive
    std::unordered_map<FileId, Record<FileEntry>> files;
    std::optional<Record<SeccompEntry>> seccompFilters;
    std::unordered_map<TreePid, std::vector<task::SeccompPlan>> seccomp;  ///< only processes that have filters
};

/// Returns the id of the file's network namespace; nothing for a file that has none.
[[nodiscard]] std::optional<std::uint32_t> networkOf(const FileEntry& file);

/// True if the images describe an IPC namespace that the restore creates. Queue names then refer to that namespace.
[[nodiscard]] bool makesIpcNamespace(const RestoreImages& content, const model::Options& options);

/// Throws Error with the image's name if something is missing or inconsistent. Sets the image version of the directory.
/// Opens its parents before it uses `pages`, which reads the same checkpoint.
RestoreImages readImages(ImageDir& images, const memory::PageSources& pages, Log& log);

}  // namespace criu::engine
