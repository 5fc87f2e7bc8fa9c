// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <utility>

#include "criu/device/subsystem.hpp"
#include "plugins/amdgpu/driver/driver_identity.hpp"
#include "plugins/amdgpu/dump_objects.hpp"

namespace criu::amdgpu {

/// Writer of a dump's images: one image for each dumped file.
class DumpImages {
public:
    DumpImages(const device::Context& context, const DumpedTree& tree, const DumpObjects& objects,
               const Topology& topology, DriverIdentity driver)
        : context_(context), tree_(tree), objects_(objects), topology_(topology), driver_(std::move(driver)) {}

    /// Writes the images of open DMA-BUFs. Call it before DumpContents::save(), which closes descriptors. Throws Error
    /// for a DMA-BUF of an unknown buffer.
    void writeDmabufs() const;
    /// Writes all other images. Call it after DumpContents::save(), because the images contain the positions of
    /// contents.
    void writeFiles() const;

private:
    void writeKfd(const DumpedProcess& process) const;
    void writeFurther(const SecondaryKfd& further) const;
    void writeRender(const RenderNode& node) const;
    [[nodiscard]] GpuId userId(GpuId local) const;

    const device::Context& context_;
    const DumpedTree& tree_;
    const DumpObjects& objects_;
    const Topology& topology_;
    DriverIdentity driver_;
};

}  // namespace criu::amdgpu
