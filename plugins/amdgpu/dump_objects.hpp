// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <map>
#include <set>
#include <utility>

#include "plugins/amdgpu/dump_state.hpp"

namespace criu::amdgpu {

/// Identity of buffers in a tree, and the owner that creates each in a restore. The inode of a DMA-BUF identifies a
/// buffer, regardless of the exporting process.
class DumpObjects {
public:
    explicit DumpObjects(Kernel& kernel) noexcept : kernel_(kernel) {}

    /// Numbers the buffers of the processes' compute state.
    void identify(std::vector<DumpedProcess>& processes, const Topology& topology);
    /// Returns the number of a DMA-BUF's buffer, a new one for an unknown buffer.
    Object add(int dmabuf);
    /// Returns a number for a buffer that can't be exported, and so can't be shared.
    Object addPrivate();
    /// Returns the number of a DMA-BUF's buffer; 0 if the buffer is unknown.
    [[nodiscard]] Object find(int dmabuf) const;

    /// True if the driver creates a new DMA-BUF for each export of the buffer.
    [[nodiscard]] bool changes(Object object) const { return changing_.contains(object); }

    /// Selects the entry of each buffer that creates it in a restore; other entries import it. `compat`: the images are
    /// for CRIU 4.2.
    void chooseOwners(DumpedTree& tree, bool compat);
    /// Returns the key of a buffer in CRIU 4.2: the GEM handle of a render node with the buffer.
    [[nodiscard]] std::uint32_t handleOf(Object object) const;

private:
    [[nodiscard]] static bool looksImported(const uapi::KfdBuffer& buffer) noexcept;
    using Key = std::pair<dev_t, ino_t>;
    [[nodiscard]] Key keyOf(int dmabuf) const;
    [[nodiscard]] Object next() const noexcept { return static_cast<Object>(known_.size() + 1); }

    Kernel& kernel_;
    std::map<Key, Object> known_;
    std::set<Object> changing_;
    ino_t private_ = 0;                        ///< count of buffers that can't be exported
    std::map<Object, std::uint32_t> handles_;  ///< GEM handles, each valid in the open render node of its object
};

}  // namespace criu::amdgpu
