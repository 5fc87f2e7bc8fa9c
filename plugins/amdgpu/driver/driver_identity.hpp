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

/// The compute driver of a machine. Its private data has a layout of its own: AMD's driver (DKMS) has longer records of
/// buffers than that of Linux, with the same version number (kfd_criu_bo_priv_data of kfd_priv.h).
struct DriverIdentity {
    std::string driver;  ///< module version of AMD's driver (DKMS); empty for the driver of Linux, which has none
    std::uint32_t interface = 0;  ///< N of the interface version 1.N
    std::string kernel;
    std::string rocm;  ///< ROCm's version; empty if unknown

    /// Returns a text such as "the driver of Linux 6.18.3, interface 1.18".
    [[nodiscard]] std::string describe() const;
};

/// Reads the identity of the running driver. `topology` names a GPU's render node.
[[nodiscard]] DriverIdentity runningDriver(Kernel& kernel, const Topology& topology);
/// Returns the driver that an image names; nothing for images of CRIU 4.2, which name none.
[[nodiscard]] std::optional<DriverIdentity> driverOf(const CriuKfd& image);
void writeDriver(const DriverIdentity& driver, CriuKfd& image, Arena& arena);

/// Returns a sentence with each property that differs, such as "the images' interface is 1.18, here it is 1.14"; empty
/// if none does.
[[nodiscard]] std::string differences(const DriverIdentity& images, const DriverIdentity& here);

/// Throws Error unless the running driver has the layout of the images' private data.
void requireSameLayout(const DriverIdentity& images, const DriverIdentity& here);

}  // namespace criu::amdgpu
