// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <list>
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

/// Content of all small images of a checkpoint. criu reads and checks them before it creates anything.
struct RestoreImages {
    RestoreImages();
    ~RestoreImages();
    RestoreImages(RestoreImages&&) noexcept;
    RestoreImages& operator=(RestoreImages&&) = delete;

    /// Returns the field `lsmtype` of the inventory: the security module of the threads' labels.
    [[nodiscard]] std::uint32_t lsmType() const;

    std::list<RecordPool> records;  ///< memory of the records below; at least one
    std::optional<Record<InventoryEntry>> inventory;
    model::ProcessTree tree;
    std::unordered_map<TreePid, std::unique_ptr<const memory::PageSource>>
        pages;  ///< pages of the private memory of each process except zombies
    std::unordered_map<FileId, Record<FileEntry>> files;
    std::optional<Record<SeccompEntry>> seccompFilters;
    /// Seccomp filters of each process; processes without filters have no entry.
    std::unordered_map<TreePid, std::vector<task::SeccompPlan>> seccomp;
};

/// Returns the id of the file's network namespace; nothing for a file that has none.
[[nodiscard]] std::optional<std::uint32_t> networkOf(const FileEntry& file);

/// Returns true if the restore creates an IPC namespace. Names of POSIX message queues in the images then refer to this
/// namespace.
[[nodiscard]] bool makesIpcNamespace(const RestoreImages& content, const model::Options& options);

/// Reads and checks all small images. Throws Error with the image's name if an image is missing or inconsistent. Sets
/// the image version in `images`, and opens the parent images. `pages`: page sources of the same images. `unpack`: is
/// called when the version is known, before the first use of `pages`; may be empty.
RestoreImages readImages(ImageDir& images, const memory::PageSources& pages, Log& log,
                         const std::function<void()>& unpack = {});

}  // namespace criu::engine
