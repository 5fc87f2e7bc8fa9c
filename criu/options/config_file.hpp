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

/// Reads one line (without its newline): NAME [VALUE] [# comment]. A value is one word, or text in double quotes in
/// which \" stands for a quote. Nothing for blank lines and comments. Throws Error for anything else.
std::optional<Statement> parseConfigLine(std::string_view line);

/// Reads a whole file's text. Errors start with "FILE:LINE: ".
std::vector<Setting> parseConfigText(std::string_view text, const std::string& file);

/// Reads a file; nothing when it doesn't exist. Throws Error when it can't be read or understood.
std::optional<std::vector<Setting>> readConfigFile(const std::string& file);

/// Surroundings that say which configuration files there are.
struct ConfigSources {
    std::string system = "/etc/criu/default.conf";
    std::optional<std::string> home;   ///< $HOME
    std::optional<std::string> named;  ///< $CRIU_CONFIG_FILE

    static ConfigSources fromEnvironment();
};

/// Everything that was set, weakest first: system file, home file, named file, --config file, `arguments`. Without the
/// first two if arguments hold --config or --no-default-config. A file that the user named but doesn't exist is
/// reported to the log and passed over.
std::vector<Setting> gatherSettings(std::vector<Setting> arguments, const ConfigSources& sources, Log& log);

}  // namespace criu::options
