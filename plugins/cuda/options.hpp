// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>

#include "criu/device/subsystem_options.hpp"

namespace criu::cuda {

inline constexpr device::SubsystemOption kOptions[] = {
    {.name = "cuda-timeout",
     .kind = device::SubsystemOption::Kind::Number,
     .placeholder = "SECONDS",
     .dumps = true,
     .restores = false,
     .help = "time limit for submitted work of CUDA programs, and then for each answer of the driver (default: 60)",
     .least = 1,
     .most = 1 << 30},
};

/// Returns the value of --cuda-timeout.
[[nodiscard]] inline std::chrono::seconds timeoutOf(const model::Options& options) {
    constexpr std::uint64_t kDefault = 60;
    return std::chrono::seconds(kOptions[0].in(options).value_or(kDefault));
}

}  // namespace criu::cuda
