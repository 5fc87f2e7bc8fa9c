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

/// All images with state of AMD's GPUs, by the id of the open file that each image describes.
struct RestoreImages {
    std::map<FileId, Record<CriuKfd>> kfds;
    std::map<FileId, Record<CriuRenderNode>> nodes;
    std::map<FileId, Record<CriuDmabufNode>> dmabufs;

    [[nodiscard]] bool empty() const noexcept { return kfds.empty() && nodes.empty() && dmabufs.empty(); }
};

/// Returns true if a buffer of the compute driver has content.
[[nodiscard]] bool hasContent(const KfdBoEntry& buffer) noexcept;

/// Returns true if a restore creates the buffer for another entry, and imports it for this entry.
[[nodiscard]] bool isImported(const DrmBoEntry& buffer) noexcept;

/// Gives numbers to all buffers in images of CRIU 4.2, which lack the numbers of DumpObjects. Throws Error if an open
/// DMA-BUF belongs to no buffer.
void numberObjects(RestoreImages& images, Log& log);

/// Returns the numbers of buffers that an entry or an open DMA-BUF imports. Throws Error if one of them has no owner.
[[nodiscard]] std::set<std::uint64_t> importedObjects(const RestoreImages& images);

}  // namespace criu::amdgpu
