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

/// Options with which `criu check` tests a feature.
enum class FeatureCategory {
    Extra,         ///< --extra: some programs can't be dumped or restored without the feature
    Experimental,  ///< --experimental
    OnRequest,     ///< --feature only
    Device,        ///< --extra, if the device exists
};

/// A kernel feature that --feature can name.
struct FeatureProbe {
    std::string name;
    FeatureCategory category{};
    std::function<bool()> supported;     ///< test of the feature; may throw Error with the reason
    std::function<bool()> matters = {};  ///< test whether the device exists; may throw Error if it doesn't
    std::function<std::vector<std::string>()> details = {};  ///< lines of text about the device
};

/// Makes probes for all features that --feature can name. The probes use `features`, which must outlive them.
std::vector<FeatureProbe> featureProbes(kernel::Features& features);

/// Runs `criu check`: one feature if options.feature names one. Otherwise all basic checks, and the features of --extra
/// and --experimental. Puts the text for standard output into `output` and logs what is missing. Returns the exit
/// status: 0 if nothing is missing, else 1.
int check(const model::Options& options, std::span<const BasicCheck> basics, std::span<const FeatureProbe> features,
          Log& log, std::string& output);

}  // namespace criu::engine
