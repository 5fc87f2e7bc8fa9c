// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "criu/model/client.hpp"
#include "criu/options/option_table.hpp"

namespace criu::options {

/// Source of an option: a line of a file, a field of a request ("criu_opts.FIELD", line 0), or the command line ("",
/// line 0).
struct Origin {
    std::string file;
    unsigned line = 0;
    /// Returns "" for the command line, "FILE:LINE", or the field.
    [[nodiscard]] std::string describe() const;
};

/// An option from one source, not yet applied.
struct Setting {
    const OptionRow* row = nullptr;
    bool negated = false;
    std::optional<std::string> value;
    Origin origin;

    /// Returns for instance "--no-tcp-close", after the source unless it is the command line.
    [[nodiscard]] std::string describe() const;
};

/// Returns names of options and their no-forms, without dashes, that begin with `prefix`.
std::vector<std::string> namesBeginningWith(std::string_view prefix);

/// Parses the setting `name` or `name=value` without dashes, as in a file. Accepts unambiguous prefixes of names.
/// Throws Error for unknown or ambiguous names, and for missing or extra arguments.
Setting readSetting(std::string_view name, std::optional<std::string> value, Origin origin);

/// Applies settings in order. Throws Error that names option and source.
void applySettings(std::span<const Setting> settings, model::Options& options);

/// Throws Error for an option of the command line that the command doesn't use, and that asks for something. Options
/// that only allow or tune something are ignored then, because many programs give the same ones to dump and restore.
void refuseMisplaced(std::span<const Setting> settings, Command command);

/// Throws Error if an option in effect isn't built and matters for the command.
void refuseMissing(std::span<const Setting> settings, Command command);

/// Throws Error (EPERM) that names an option that `client` may not use (RequestPart::forClients()). The owner of
/// criu may use all. Ignores settings of criu's configuration files, because their author may use all too.
void requireAllowed(std::span<const Setting> settings, const model::Client& client);

/// Returns settings of the command line or a request that are in effect but that the command doesn't use.
std::vector<const Setting*> withoutEffect(std::span<const Setting> settings, Command command);

}  // namespace criu::options
