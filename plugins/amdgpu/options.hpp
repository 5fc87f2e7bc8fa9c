// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <iterator>

#include "criu/device/subsystem_options.hpp"

namespace criu::amdgpu {

/// Options of this subsystem, as indices into kOptions. Options with "check" in their names concern a GPU that replaces
/// a GPU of the images.
enum class Option : std::size_t {
    Parallel,
    Buffer,
    FirmwareCheck,
    SdmaFirmwareCheck,
    CachesCheck,
    GwsCheck,
    VramCheck,
    NumaCheck,
    CapabilityCheck,
};

inline constexpr auto kFlag = device::SubsystemOption::Kind::Flag;
inline constexpr auto kSize = device::SubsystemOption::Kind::Size;

inline constexpr device::SubsystemOption kOptions[] = {
    {"parallel", kFlag, "", false, true, "fill GPU memory from criu while processes are restored (default: on)"},
    {"gpu-buffer", kSize, "SIZE", true, true,
     "maximal size of the copy buffers of one GPU (default: $KFD_MAX_BUFFER_SIZE, or 8M for each thread)"},
    {"gpu-fw-check", kFlag, "", false, true,
     "refuse GPUs with older firmware than at the dump (default: $KFD_FW_VER_CHECK, or on)"},
    {"gpu-sdma-fw-check", kFlag, "", false, true,
     "refuse GPUs with older firmware of copy engines (default: $KFD_SDMA_FW_VER_CHECK, or on)"},
    {"gpu-caches-check", kFlag, "", false, true,
     "refuse GPUs with fewer caches (default: $KFD_CACHES_COUNT_CHECK, or on)"},
    {"gpu-gws-check", kFlag, "", false, true,
     "refuse GPUs with fewer entries for global wave synchronisation (default: $KFD_NUM_GWS_CHECK, or on)"},
    {"gpu-vram-check", kFlag, "", false, true, "refuse GPUs with less memory (default: $KFD_VRAM_SIZE_CHECK, or on)"},
    {"gpu-numa-check", kFlag, "", false, true,
     "require that GPUs of one CPU node stay on one node (default: $KFD_NUMA_CHECK, or on)"},
    {"gpu-capability-check", kFlag, "", false, true,
     "refuse GPUs with other capabilities (default: $KFD_CAPABILITY_CHECK, or on)"},
};

static_assert(std::size(kOptions) == static_cast<std::size_t>(Option::CapabilityCheck) + 1);

/// Returns the value of an option; nullopt if the user didn't give it.
[[nodiscard]] inline std::optional<std::uint64_t> valueOf(Option option, const model::Options& options) {
    return kOptions[static_cast<std::size_t>(option)].in(options);
}

}  // namespace criu::amdgpu
