// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <map>
#include <set>
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

    /// Whether the driver makes a new DMA-BUF of the buffer each time that it is asked for one.
    [[nodiscard]] bool changes(Object object) const { return changing_.contains(object); }

    /// Decides which description of each buffer makes it in a restore; the others import it. `compat`: the images are
    /// for CRIU 4.2.
    void chooseOwners(DumpedTree& tree, bool compat);
    /// What CRIU 4.2 knows a buffer by: the GEM handle of whoever owns or has it.
    [[nodiscard]] std::uint32_t handleOf(Object object) const;

private:
    [[nodiscard]] static bool looksImported(const uapi::KfdBuffer& buffer) noexcept;
    using Key = std::pair<dev_t, ino_t>;
    [[nodiscard]] Key keyOf(int dmabuf) const;
    [[nodiscard]] Object next() const noexcept { return static_cast<Object>(known_.size() + 1); }

    Kernel& kernel_;
    std::map<Key, Object> known_;
    std::set<Object> changing_;
    ino_t private_ = 0;                        ///< how many there are that can't be exported
    std::map<Object, std::uint32_t> handles_;  ///< of the render node that owns or has an object
};

}  // namespace criu::amdgpu
