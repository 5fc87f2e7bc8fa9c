// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "criu/base/log.hpp"
#include "criu/options/settings.hpp"

namespace criu::options {

/// A statement of a configuration file: the option's name and its value, if any.
struct Statement {
    std::string name;
    std::optional<std::string> value;
    friend bool operator==(const Statement&, const Statement&) = default;
};

/// Parses a line without its newline: NAME [VALUE] [# comment]. A value is one word, or text in double quotes, where
/// \" stands for a quote. Returns nothing for blank lines and comments. Throws Error for other text.
std::optional<Statement> parseConfigLine(std::string_view line);

/// Parses the text of a file. Errors begin with "FILE:LINE: ".
std::vector<Setting> parseConfigText(std::string_view text, const std::string& file);

/// Reads a file; returns nothing if it doesn't exist. Throws Error if criu can't read or parse it.
std::optional<std::vector<Setting>> readConfigFile(const std::string& file);

/// Paths of configuration files.
struct ConfigSources {
    std::string system = "/etc/criu/default.conf";
    std::optional<std::string> home;   ///< $HOME
    std::optional<std::string> named;  ///< $CRIU_CONFIG_FILE

    static ConfigSources fromEnvironment();
};

/// Returns all settings, the weakest first: system file, home file, named file, --config file, `arguments`. Omits
/// the first two if arguments contain --config or --no-default-config. Warns in the log if a file that the user
/// named doesn't exist.
std::vector<Setting> gatherSettings(std::vector<Setting> arguments, const ConfigSources& sources, Log& log);

}  // namespace criu::options
