// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/device/subsystem.hpp"
#include "plugins/amdgpu/dump_objects.hpp"

namespace criu::amdgpu {

/// Writes what a dump has found: contents of buffers, and an image for each file.
class DumpImages {
public:
    DumpImages(Kernel& kernel, const device::Context& context, DumpedTree& tree, const DumpObjects& objects,
               const Topology& topology)
        : kernel_(kernel), context_(context), tree_(tree), objects_(objects), topology_(topology) {}

    /// Before contents are saved: a DMA-BUF of a buffer that nobody has is an Error.
    void writeDmabufs() const;
    /// `bufferLimit`: bytes of memory for each GPU that contents may be copied through. The DMA-BUFs of all buffers are
    /// closed afterwards.
    void saveContents(std::uint64_t bufferLimit);
    void writeFiles() const;

private:
    void writeKfd(const DumpedProcess& process) const;
    void writeFurther(const FurtherKfd& further) const;
    void writeRender(const RenderNode& node) const;
    [[nodiscard]] GpuId userId(GpuId local) const;

    Kernel& kernel_;
    const device::Context& context_;
    DumpedTree& tree_;
    const DumpObjects& objects_;
    const Topology& topology_;
};

}  // namespace criu::amdgpu
