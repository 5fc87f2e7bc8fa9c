// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/log.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/model/process_tree.hpp"
#include "images/fdinfo.hpp"
#include "images/inventory.hpp"

namespace criu::engine {

/// All small images of a checkpoint, read and checked before anything is created.
struct RestoreImages {
    std::optional<Record<InventoryEntry>> inventory;
    model::ProcessTree tree;
    std::map<FileId, Record<FileEntry>> files;
};

/// Throws Error naming the file if anything is missing or inconsistent. Sets the directory's image version.
RestoreImages readImages(ImageDir& images, Log& log);

}  // namespace criu::engine
