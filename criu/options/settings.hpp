// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "criu/model/client.hpp"
#include "criu/options/option_table.hpp"

namespace criu::options {

/// Where an option was given: a line of a file, a field of a request ("criu_opts.FIELD", line 0), or the command line
/// ("", line 0).
struct Origin {
    std::string file;
    unsigned line = 0;
    /// "" for the command line, "FILE:LINE", or the field.
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

/// The names of options, with their no-forms and without dashes, that begin with `prefix`.
std::vector<std::string> namesBeginningWith(std::string_view prefix);

/// The setting written `name` or `name=value` without dashes, as in a file. Names may be cut short while they stay
/// unambiguous. Throws Error for unknown or ambiguous names and for arguments missing or too many.
Setting readSetting(std::string_view name, std::optional<std::string> value, Origin origin);

/// Applies settings in order; an Error names option and place.
void applySettings(std::span<const Setting> settings, model::Options& options);

/// Throws Error if an option in effect isn't built yet and would matter to the command.
void refuseMissing(std::span<const Setting> settings, Command command);

/// Throws Error (EPERM) that names an option which `client` may not give (see RequestPart::forClients()), in whatever
/// form. The owner of criu may give all; so may whoever writes criu's configuration files, so settings from lines of
/// files don't count.
void requireAllowed(std::span<const Setting> settings, const model::Client& client);

/// Settings of the command line or a request in effect that the command has no use for.
std::vector<const Setting*> withoutEffect(std::span<const Setting> settings, Command command);

}  // namespace criu::options
