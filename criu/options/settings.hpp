// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "criu/model/client.hpp"
#include "criu/options/option_table.hpp"

namespace criu::options {

/// Source of an option. It is a line of a file, a field of a request ("criu_opts.FIELD", line 0), or the command line
/// ("", line 0).
struct Origin {
    std::string file;
    unsigned line = 0;
    /// Returns "FILE:LINE", the field of a request, or "" for the command line.
    [[nodiscard]] std::string describe() const;
};

/// Option from one source that isn't applied yet.
struct Setting {
    const OptionRow* row = nullptr;
    bool negated = false;
    std::optional<std::string> value;
    Origin origin;
    std::string abbreviated =
        {};  ///< the name without dashes as the user wrote it, if it is only the beginning of the name

    /// Returns a description for messages, for instance "--no-tcp-close". It begins with the source, unless the source
    /// is the command line.
    [[nodiscard]] std::string describe() const;
};

/// Returns all names of options and of their no-forms that begin with `prefix`, without dashes.
std::vector<std::string> namesBeginningWith(std::string_view prefix);

/// Parses a setting. `name` has no dashes; it may be "name=value", as in a file, or an unambiguous prefix of a name.
/// Throws Error for unknown or ambiguous names, and for missing or extra arguments.
Setting readSetting(std::string_view name, std::optional<std::string> value, Origin origin);

/// Applies settings in order. Throws Error that names the option and its source.
void applySettings(std::span<const Setting> settings, model::Options& options);

/// Throws Error for a command-line option that the command doesn't use. Dump, pre-dump and restore ignore most options
/// of each other, because many programs pass the same options to all of them. Options that change the result, such as
/// --sign, are never ignored.
void refuseMisplaced(std::span<const Setting> settings, Command command);

/// Throws Error if this build lacks an option that is in effect and that the command uses.
void refuseMissing(std::span<const Setting> settings, Command command);

/// Throws Error (EPERM) that names an option which `client` may not use (RequestPart::forClients()). The owner of criu
/// may use all options. Ignores settings of criu's configuration files, because their author may also use all options.
void requireAllowed(std::span<const Setting> settings, const model::Client& client);

/// Returns the settings of the command line or a request that are in effect, and that the command doesn't use.
std::vector<const Setting*> withoutEffect(std::span<const Setting> settings, Command command);

}  // namespace criu::options
