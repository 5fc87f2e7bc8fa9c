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

/// All images of a checkpoint with state of AMD's GPUs, by the id of the open file that each describes.
struct RestoreImages {
    std::map<FileId, Record<CriuKfd>> kfds;
    std::map<FileId, Record<CriuRenderNode>> nodes;
    std::map<FileId, Record<CriuDmabufNode>> dmabufs;

    [[nodiscard]] bool empty() const noexcept { return kfds.empty() && nodes.empty() && dmabufs.empty(); }
};

/// True if a buffer of the compute driver has content.
[[nodiscard]] bool hasContent(const KfdBoEntry& buffer) noexcept;

/// True if a restore creates the buffer for another entry, and this entry imports it.
[[nodiscard]] bool isImported(const DrmBoEntry& buffer) noexcept;

/// Gives a number to each buffer of images by CRIU 4.2, which lack the numbers of DumpObjects. Throws Error for an
/// import whose owner can't be found.
void numberObjects(RestoreImages& images, Log& log);

/// Returns the numbers of imported buffers. Throws Error if one has no owner.
[[nodiscard]] std::set<std::uint64_t> importedObjects(const RestoreImages& images);

}  // namespace criu::amdgpu
