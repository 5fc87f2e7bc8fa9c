// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "criu/base/log.hpp"
#include "criu/options/settings.hpp"

namespace criu::options {

/// Statement of a configuration file: the name of an option, and its value if it has one.
struct Statement {
    std::string name;
    std::optional<std::string> value;
    friend bool operator==(const Statement&, const Statement&) = default;
};

/// Parses a line without its newline: NAME [VALUE] [# comment]. A value is one word, or text in double quotes, in which
/// \" stands for a quote. Returns nullopt for blank lines and comments. Throws Error for other text.
std::optional<Statement> parseConfigLine(std::string_view line);

/// Parses the text of a configuration file. Errors begin with "FILE:LINE: ".
std::vector<Setting> parseConfigText(std::string_view text, const std::string& file);

/// Reads a configuration file; nullopt if it doesn't exist. Throws Error if criu can't read or parse it.
std::optional<std::vector<Setting>> readConfigFile(const std::string& file);

/// Paths from which criu reads configuration files.
struct ConfigSources {
    std::string system = "/etc/criu/default.conf";
    std::optional<std::string> home;   ///< value of $HOME
    std::optional<std::string> named;  ///< value of $CRIU_CONFIG_FILE

    static ConfigSources fromEnvironment();
};

/// Returns all settings. Later settings override earlier ones: system file, file in $HOME, file of $CRIU_CONFIG_FILE,
/// file of --config, `arguments`. Omits the first two files if `arguments` contain --config or --no-default-config.
/// Logs a warning if a file that the user named doesn't exist.
std::vector<Setting> gatherSettings(std::vector<Setting> arguments, const ConfigSources& sources, Log& log);

}  // namespace criu::options
