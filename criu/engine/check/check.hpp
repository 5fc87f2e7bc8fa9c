// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "criu/base/log.hpp"
#include "criu/engine/check/check_basics.hpp"
#include "criu/kernel/probe/features.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {

/// When a feature is looked at by `criu check`.
enum class FeatureCategory {
    Extra,         ///< --extra: some programs can't be dumped or restored without
    Experimental,  ///< --experimental
    OnRequest,     ///< --feature only
    Device,        ///< --extra if the device is there
};

/// A kernel feature as --feature knows it.
struct FeatureProbe {
    std::string name;
    FeatureCategory category{};
    std::function<bool()> supported;     ///< may throw Error to say why not
    std::function<bool()> matters = {};  ///< of a device: whether it is there; may throw Error if it isn't
    std::function<std::vector<std::string>()> details = {};  ///< of a device: lines about it
};

/// Everything --feature knows, asked of `features`, which must outlive the result.
std::vector<FeatureProbe> featureProbes(kernel::Features& features);

/// Runs `criu check`: one feature if options.feature names one, else all basics, and what --extra and --experimental
/// add. The answer for standard output is put into `output`, what is missing is logged. Returns the exit status: 0 if
/// everything looked at is there, else 1.
int check(const model::Options& options, std::span<const BasicCheck> basics, std::span<const FeatureProbe> features,
          Log& log, std::string& output);

}  // namespace criu::engine
