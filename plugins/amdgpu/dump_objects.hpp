// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <map>
#include <set>
#include <utility>

#include "plugins/amdgpu/dump_state.hpp"

namespace criu::amdgpu {

/// Numbers of all buffers in a tree, and the owner of each buffer: the entry that creates it in a restore. criu
/// recognizes a buffer by the inode of its DMA-BUF, which doesn't depend on the exporting process.
class DumpObjects {
public:
    explicit DumpObjects(Kernel& kernel) noexcept : kernel_(kernel) {}

    /// Gives numbers to the buffers in the compute state of the processes.
    void identify(std::vector<DumpedProcess>& processes, const Topology& topology);
    /// Returns the number of a DMA-BUF's buffer. Gives a new number to an unknown buffer.
    Object add(int dmabuf);
    /// Returns a new number for a buffer that can't be exported. Processes can't share such a buffer.
    Object addPrivate();
    /// Returns the number of a DMA-BUF's buffer; 0 if the buffer is unknown.
    [[nodiscard]] Object find(int dmabuf) const;

    /// Returns true if the driver creates a new DMA-BUF for each export of the buffer.
    [[nodiscard]] bool changes(Object object) const { return changing_.contains(object); }

    /// Chooses the entry of each buffer that creates it in a restore; all other entries import the buffer. `compat`:
    /// the images are for CRIU 4.2.
    void chooseOwners(DumpedTree& tree, bool compat);
    /// Returns the number by which images for CRIU 4.2 refer to a buffer: the GEM handle in a render node that has the
    /// buffer.
    [[nodiscard]] std::uint32_t handleOf(Object object) const;

private:
    [[nodiscard]] static bool looksImported(const uapi::KfdBuffer& buffer) noexcept;
    using Key = std::pair<dev_t, ino_t>;
    [[nodiscard]] Key keyOf(int dmabuf) const;
    [[nodiscard]] Object next() const noexcept { return static_cast<Object>(known_.size() + 1); }

    Kernel& kernel_;
    std::map<Key, Object> known_;
    std::set<Object> changing_;
    ino_t private_ = 0;                        ///< number of buffers that can't be exported
    std::map<Object, std::uint32_t> handles_;  ///< GEM handles; each is valid in a render node that has the object
};

}  // namespace criu::amdgpu
