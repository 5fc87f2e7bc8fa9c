// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "criu/cli/option_table.hpp"

namespace criu::cli {

/// Where an option was given: a line of a file, or (line 0) the command line or a request.
struct Origin {
    std::string file;
    unsigned line = 0;
    /// "" for the command line, else "FILE:LINE".
    [[nodiscard]] std::string describe() const;
};

/// One option as found in some source, not yet applied.
struct Setting {
    const OptionRow* row = nullptr;
    bool negated = false;
    std::optional<std::string> value;
    Origin origin;

    /// "--no-tcp-close", with the place in front if it isn't the command line.
    [[nodiscard]] std::string describe() const;
};

/// Applies settings in order; an Error names option and place.
void applySettings(std::span<const Setting> settings, model::Options& options);

/// Throws Error if an option in effect isn't built yet and would matter to the command.
void refuseMissing(std::span<const Setting> settings, Command command);

/// Settings of the command line in effect that the command has no use for.
std::vector<const Setting*> withoutEffect(std::span<const Setting> settings, Command command);

}  // namespace criu::cli
