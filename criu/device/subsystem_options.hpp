// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace criu::model {
struct Options;
}

namespace criu::device {

/// Option that only one device subsystem uses. The option table has a row for it.
struct SubsystemOption {
    enum class Kind : std::uint8_t {
        Flag,    ///< option --NAME or --no-NAME; its value is 1 or 0
        Number,  ///< option with a number from `least` to `most`
        Size,    ///< option with a number of bytes, with or without a unit
    };

    std::string_view name;  ///< long name of the option without dashes
    Kind kind;
    std::string_view placeholder;  ///< name of the argument in help texts; empty for a flag
    bool dumps;                    ///< true if a dump uses the option
    bool restores;                 ///< true if a restore uses the option
    std::string_view help;
    std::int64_t least = 0;
    std::int64_t most = 0;

    /// Returns the value from the command line or a configuration file; nullopt if the option isn't given.
    [[nodiscard]] std::optional<std::uint64_t> in(const model::Options& options) const;
    /// Stores a value that the option table has checked.
    void set(model::Options& options, std::uint64_t value) const;
};

/// Returns the options of all device subsystems, in the order of the help text. Defined in the program that links the
/// subsystems (criu/cli/built_in_devices.cpp). The options have static storage.
[[nodiscard]] std::vector<const SubsystemOption*> subsystemOptions();

}  // namespace criu::device
