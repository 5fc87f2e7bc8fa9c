// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "plugins/amdgpu/driver/kernel.hpp"
#include "plugins/amdgpu/image_file.hpp"
#include "plugins/amdgpu/topology.hpp"

namespace criu {
class Arena;
}

namespace criu::amdgpu {

/// Versions of a machine's compute driver. AMD's driver (DKMS) and the driver of Linux have different layouts of
/// private data: AMD's records of buffers are longer. Both layouts have the same version number (kfd_criu_bo_priv_data
/// of kfd_priv.h).
struct DriverIdentity {
    /// Module version of AMD's driver (DKMS); empty for the driver of Linux, which has no module version.
    std::string driver;
    std::uint32_t interface = 0;  ///< N of the interface version 1.N
    std::string kernel;
    std::string rocm;  ///< ROCm's version; empty if unknown

    /// Returns a text such as "the driver of Linux 6.18.3, interface 1.18".
    [[nodiscard]] std::string describe() const;
};

/// Reads the versions of the running driver. `topology` names a render node for the query.
[[nodiscard]] DriverIdentity runningDriver(Kernel& kernel, const Topology& topology);
/// Returns the driver that an image names; nullopt for images of CRIU 4.2, which name no driver.
[[nodiscard]] std::optional<DriverIdentity> driverOf(const CriuKfd& image);
void writeDriver(const DriverIdentity& driver, CriuKfd& image, Arena& arena);

/// Returns a sentence with each property that differs, such as "the images' interface is 1.18, here it is 1.14".
/// Returns an empty text if no property differs.
[[nodiscard]] std::string differences(const DriverIdentity& images, const DriverIdentity& here);

/// Throws Error unless the running driver has the layout of the images' private data.
void requireSameLayout(const DriverIdentity& images, const DriverIdentity& here);

}  // namespace criu::amdgpu
