// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "criu/model/options.hpp"
#include "criu/options/command.hpp"

namespace criu::device {
struct SubsystemOption;
}

namespace criu::options {

struct OptionRow;

enum class Argument : std::uint8_t {
    None,
    Required,
    Optional,  ///< the argument must be attached, as in -v4 or --cpu-cap=fpu
};

/// States if the option has the form --no-NAME.
enum class NoForm : bool { Absent, Present };

/// Support for an option in this build of criu.
enum class Support : std::uint8_t {
    Built,
    Moot,     ///< accepted without effect, because criu refuses or can't get into the situation that the option is for
    Missing,  ///< refused with the commands that it applies to
    Removed,  ///< always refused, because CRIU has removed the option
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

/// Option with its value, as the user gave it.
struct Given {
    const OptionRow& row;
    bool negated = false;
    std::optional<std::string_view> value;
};

struct Request;

/// Fields of criu_opts (images/rpc.proto) for one option.
class RequestPart {
public:
    /// Function that stores the fields of a request if they are present. It throws Error if a field is malformed, or if
    /// the client may not use it.
    using Read = void (*)(model::Options&, const Request&);

    /// For an option without a field.
    constexpr RequestPart() noexcept = default;
    /// For a field that has the same meaning as the argument of the option. A bool means NAME or no-NAME. A number or a
    /// text means NAME with this argument. Repeated texts mean NAME once for each text.
    constexpr RequestPart(const char* field) noexcept : fields_{field, {}} {}
    /// For fields that need a function.
    constexpr RequestPart(const char* field, Read function) noexcept : fields_{field, {}}, read_(function) {}
    constexpr RequestPart(const char* field, const char* other, Read function) noexcept
        : fields_{field, other}, read_(function) {}

    /// Returns the names of the fields; "" stands for no field.
    [[nodiscard]] constexpr const std::array<std::string_view, 2>& fields() const noexcept { return fields_; }
    /// Returns the function of the fields; nullptr if the field has the same meaning as the argument of the option.
    [[nodiscard]] constexpr Read read() const noexcept { return read_; }

    /// Returns true if a client with fewer privileges than criu may use the option. Such an option concerns only the
    /// client's own processes, lets criu do nothing that the client couldn't do itself, and contains no path or
    /// program.
    [[nodiscard]] constexpr bool forClients() const noexcept { return forClients_; }
    /// Returns a copy of this object that all clients may use.
    [[nodiscard]] constexpr RequestPart allowedToClients() const noexcept {
        RequestPart part = *this;
        part.forClients_ = true;
        return part;
    }

private:
    std::array<std::string_view, 2> fields_{};
    Read read_ = nullptr;
    bool forClients_ = false;
};

/// Row of the option table, which describes one option for the command line, configuration files, requests and the help
/// text.
struct OptionRow {
    Section section;
    std::string_view name;  ///< long name without dashes
    char letter;            ///< short name; 0 if the option has none
    Argument argument;
    std::string_view placeholder;  ///< name of the argument in help texts
    NoForm noForm;
    CommandSet commands;  ///< commands that use the option; other commands accept and ignore it
    Support support;
    std::string_view help;
    /// Stores the value. Throws Error if it is malformed.
    void (*apply)(model::Options&, const Given&);
    RequestPart request = {};
    const device::SubsystemOption* subsystem = nullptr;  ///< option of a device subsystem; nullptr for other options
};

/// Returns all options, including those of device subsystems, in the order of sections.
std::span<const OptionRow> optionTable() noexcept;

std::string_view sectionTitle(Section section) noexcept;

}  // namespace criu::options
