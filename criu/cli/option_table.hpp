// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "criu/cli/command.hpp"
#include "criu/model/options.hpp"

namespace criu::cli {

enum class Argument : std::uint8_t {
    None,
    Required,
    Optional,  ///< attached only: -v4, --cpu-cap=fpu
};

/// Whether --no-NAME exists.
enum class NoForm : bool { Absent, Present };

/// How far this build is with an option.
enum class Support : std::uint8_t {
    Built,
    Moot,     ///< accepted: it tunes something that is refused, or can't occur yet, by itself
    Missing,  ///< refused with the commands it applies to
    Removed,  ///< refused always: gone from criu long ago
};

enum class Section : std::uint8_t {
    General,
    Run,
    Files,
    Mounts,
    Network,
    Cgroups,
    Security,
    Memory,
    Transfer,
    Devices,
    Probing
};

/// An option as it was given.
struct Given {
    bool negated = false;
    std::optional<std::string_view> value;
};

/// One option. The same row serves the command line, configuration files and help.
struct OptionRow {
    Section section;
    std::string_view name;  ///< long name without dashes
    char letter;            ///< short name, 0 if none
    Argument argument;
    std::string_view placeholder;  ///< the argument in help texts
    NoForm noForm;
    CommandSet commands;  ///< where it has an effect; elsewhere it is accepted without one
    Support support;
    std::string_view help;
    /// Stores the value; throws Error when it is malformed.
    void (*apply)(model::Options&, const Given&);
};

/// All options, ordered by section.
std::span<const OptionRow> optionTable() noexcept;

std::string_view sectionTitle(Section section) noexcept;

}  // namespace criu::cli
