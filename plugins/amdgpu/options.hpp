// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>

#include "criu/device/subsystem_options.hpp"

namespace criu::amdgpu {

/// Options that only this subsystem has, as indices into kOptions. The checks concern a GPU that replaces one of the
/// images.
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

using enum device::SubsystemOption::Kind;

inline constexpr device::SubsystemOption kOptions[] = {
    {"parallel", Flag, "", false, true, "fill GPU memory from criu while processes are restored (default: on)"},
    {"gpu-buffer", Size, "SIZE", true, true,
     "maximal size of the copy buffers of one GPU (default: $KFD_MAX_BUFFER_SIZE, or 8M for each thread)"},
    {"gpu-fw-check", Flag, "", false, true,
     "refuse GPUs with older firmware than at the dump (default: $KFD_FW_VER_CHECK, or on)"},
    {"gpu-sdma-fw-check", Flag, "", false, true,
     "refuse GPUs with older firmware of copy engines (default: $KFD_SDMA_FW_VER_CHECK, or on)"},
    {"gpu-caches-check", Flag, "", false, true,
     "refuse GPUs with fewer caches (default: $KFD_CACHES_COUNT_CHECK, or on)"},
    {"gpu-gws-check", Flag, "", false, true,
     "refuse GPUs with fewer entries for global wave synchronisation (default: $KFD_NUM_GWS_CHECK, or on)"},
    {"gpu-vram-check", Flag, "", false, true, "refuse GPUs with less memory (default: $KFD_VRAM_SIZE_CHECK, or on)"},
    {"gpu-numa-check", Flag, "", false, true,
     "require that GPUs of one CPU node stay on one node (default: $KFD_NUMA_CHECK, or on)"},
    {"gpu-capability-check", Flag, "", false, true,
     "refuse GPUs with other capabilities (default: $KFD_CAPABILITY_CHECK, or on)"},
};

/// Returns the value of an option; nothing if it isn't given.
[[nodiscard]] inline std::optional<std::uint64_t> valueOf(Option option, const model::Options& options) {
    return kOptions[static_cast<std::size_t>(option)].in(options);
}

}  // namespace criu::amdgpu
