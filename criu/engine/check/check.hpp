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

/// Category of a feature; determines the option of `criu check` that tests the feature.
enum class FeatureCategory {
    Extra,         ///< --extra: some programs can't be dumped or restored without the feature
    Experimental,  ///< --experimental
    OnRequest,     ///< --feature only
    Device,        ///< --extra, if the machine has the device
};

/// Test of a kernel feature that --feature can name.
struct FeatureProbe {
    std::string name;
    std::string purpose;  ///< use of the feature in a few words, for `--feature list`
    FeatureCategory category{};
    /// Returns true if the system has the feature; may throw Error with the reason why it is missing.
    std::function<bool()> supported;
    /// Only for category Device: returns true if the device exists. Without the device, returns false or throws Error.
    std::function<bool()> matters = {};
    /// Returns lines of text about the device for --feature; may be empty.
    std::function<std::vector<std::string>()> details = {};
};

/// Makes probes for all features that --feature can name. `features` makes the tests; it must outlive the probes.
std::vector<FeatureProbe> featureProbes(kernel::Features& features);

/// Runs `criu check`. If options.feature names a feature, tests only this feature. Without --feature, makes all basic
/// checks and tests the features of --extra and --experimental. Puts the text for standard output into `output` and
/// logs the missing features. Returns the exit status: 0 if no feature is missing, else 1.
int check(const model::Options& options, std::span<const BasicCheck> basics, std::span<const FeatureProbe> features,
          Log& log, std::string& output);

}  // namespace criu::engine
