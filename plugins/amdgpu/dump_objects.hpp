// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <map>
#include <utility>

#include "plugins/amdgpu/dump_state.hpp"

namespace criu::amdgpu {

/// Which buffers of a tree are the same memory, and who makes each of them in a restore. A buffer is known by the inode
/// of its DMA-BUF: it is the same whoever exports it.
class DumpObjects {
public:
    explicit DumpObjects(Kernel& kernel) noexcept : kernel_(kernel) {}

    /// Numbers the buffers of the processes' compute state.
    void identify(std::vector<DumpedProcess>& processes, const Topology& topology);
    /// The number of the buffer that a DMA-BUF is of, a new one if nobody had it so far.
    Object add(int dmabuf);
    /// A number for a buffer that can't be exported, and so is nobody else's.
    Object addPrivate();
    /// The number of the buffer that a DMA-BUF is of; 0 if nobody has it.
    [[nodiscard]] Object find(int dmabuf) const;

    /// Decides which description of each buffer makes it in a restore; the others import it.
    void chooseOwners(DumpedTree& tree);
    /// What CRIU 4.2 knows a buffer by: the GEM handle of whoever owns or has it.
    [[nodiscard]] std::uint32_t handleOf(Object object) const;

private:
    using Key = std::pair<dev_t, ino_t>;
    [[nodiscard]] Key keyOf(int dmabuf) const;
    [[nodiscard]] Object next() const noexcept { return static_cast<Object>(known_.size() + 1); }

    Kernel& kernel_;
    std::map<Key, Object> known_;
    ino_t private_ = 0;                        ///< how many there are that can't be exported
    std::map<Object, std::uint32_t> handles_;  ///< of the render node that owns or has an object
};

}  // namespace criu::amdgpu
