// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "criu/base/ids.hpp"
#include "criu/base/log.hpp"
#include "criu/image/record.hpp"
#include "images/criu-amdgpu.hpp"

namespace criu::amdgpu {

/// The images of a checkpoint that are this driver's, by the numbers of the files.
struct RestoreImages {
    std::map<FileId, Record<CriuKfd>> kfds;
    std::map<FileId, Record<CriuRenderNode>> nodes;
    std::map<FileId, Record<CriuDmabufNode>> dmabufs;

    [[nodiscard]] bool empty() const noexcept { return kfds.empty() && nodes.empty() && dmabufs.empty(); }
};

/// Whether a buffer of the compute driver has content of its own.
[[nodiscard]] bool hasContent(const KfdBoEntry& buffer) noexcept;

/// Whether a buffer of a render node is made by somebody else.
[[nodiscard]] bool isImported(const DrmBoEntry& buffer) noexcept;

/// Gives all buffers the numbers (DumpObjects) that images of CRIU 4.2 don't have. Throws Error if that isn't possible.
void numberObjects(RestoreImages& images, Log& log);

/// The numbers of buffers that somebody imports. Throws Error if nobody makes one of them.
[[nodiscard]] std::set<std::uint64_t> importedObjects(const RestoreImages& images);

}  // namespace criu::amdgpu
